package web

import (
	"testing"
	"time"

	"pichat/llm"
	"pichat/sysmon"
)

// fullVitals is a board of which everything is known, ten minutes long.
func fullVitals() *sysmon.FixedSampler {
	snap := sysmon.Snapshot{At: time.Now().Add(-10 * time.Minute)}
	snap.CPU.TempCelsius = sysmon.Measured(61.5, "hwmon cpu_thermal")
	snap.CPU.BusyPercent = sysmon.Measured(93.0, "/proc/stat")
	snap.CPU.ClockHz = sysmon.Measured(2.4e9, "cpufreq")
	snap.Memory.RAM = sysmon.Measured(sysmon.RAM{TotalBytes: 8 << 30, AvailableBytes: 5 << 30, UsedBytes: 3 << 30}, "meminfo")
	snap.Process.Memory = sysmon.Measured(sysmon.ProcessMemory{ResidentBytes: 2 << 30, FileBytes: 1 << 30, AnonBytes: 1 << 30}, "statm")
	snap.Throttle = sysmon.DecodeThrottled(0x50005, "vcio")
	s := sysmon.Fixed(snap)
	for i := range 600 {
		next := snap
		next.At = snap.At.Add(time.Duration(i) * time.Second)
		next.CPU.TempCelsius.Value += float64(i % 17)
		s.Set(next)
	}
	return s
}

// BenchmarkVitals is what one second of an open page costs, whatever the
// number of pages. The bar is 0.3 % of a core, 3 ms, sampling included.
func BenchmarkVitals(b *testing.B) {
	s, err := New(Config{Service: &llm.Service{}, Vitals: fullVitals()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(s.hub.vitalsFrame())
	}
	b.ReportMetric(float64(size), "bytes/frame")
}

// BenchmarkPage is one GET of the document.
func BenchmarkPage(b *testing.B) {
	s, err := New(Config{Service: &llm.Service{}, Vitals: fullVitals()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.pageHTML(); err != nil {
			b.Fatal(err)
		}
	}
}
