package host

import (
	"encoding/json"
	"testing"

	"pichat/sysmon"
)

// Whatever stands in the board's files, a snapshot comes of it, and it has
// JSON.
func FuzzFiles(f *testing.F) {
	for _, text := range []string{"", "0", "50005", "46300", "1 2 3", "0.1 0.2 0.3 1/2 3", "cpu 1 2 3 4 5 6 7", "MemTotal: 1 kB", "NaN", "\x00", "<html>"} {
		f.Add([]byte(text))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{
			"proc/stat", "proc/meminfo", "proc/loadavg", "proc/self/statm", "proc/cpuinfo", "proc/device-tree/model",
			"proc/sys/kernel/hostname", "etc/os-release", hwmon0 + "temp1_input", hwmon0 + "fan1_input", zone0 + "temp",
			"sys/devices/platform/soc/soc:firmware/get_throttled", "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
		} {
			put(t, root, name, string(data))
		}
		put(t, root, hwmon0+"name", "cpu_thermal")
		put(t, root, zone0+"type", "cpu-thermal")
		s, err := sysmon.New(Readers(Config{Root: root}), sysmon.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s.Sample(t.Context())
		if _, err := json.Marshal(s.Sample(t.Context())); err != nil {
			t.Errorf("no JSON: %v", err)
		}
	})
}
