package host

import (
	"testing"

	"pichat/sysmon"
)

// What one tick costs. At one a second, 1 ms per operation is 0.1 % of a core.
func BenchmarkSample(b *testing.B) {
	roots := map[string]string{"this machine": "/", "pi5": board(b, "pi5-bookworm"), "pc": board(b, "pc")}
	for name, root := range roots {
		b.Run(name, func(b *testing.B) {
			s, err := sysmon.New(Readers(Config{Root: root}), sysmon.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Sample(b.Context())
			}
		})
	}
}
