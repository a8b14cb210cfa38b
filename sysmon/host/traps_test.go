package host

import (
	"bytes"
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pichat/sysmon"
)

// A move to gopsutil v4 must touch one file.
func TestOneFileImportsGopsutil(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			if strings.Contains(imported.Path.Value, "gopsutil") && name != "gopsutil.go" {
				t.Errorf("%s imports %s; only gopsutil.go may", name, imported.Path.Value)
			}
		}
	}
}

// gopsutil answers an unreadable meminfo with zeros, NaN and no error.
func TestMemory(t *testing.T) {
	const total = "MemTotal: 1000 kB\n"
	tests := map[string]struct {
		meminfo string // "" is no file at all
		ram     sysmon.Reading[sysmon.RAM]
		swap    sysmon.Reading[sysmon.Swap]
	}{
		"no file": {"", sysmon.Unknown[sysmon.RAM]("no such file or directory: /proc/meminfo"),
			sysmon.Unknown[sysmon.Swap]("no such file or directory: /proc/meminfo")},
		"no total": {"MemFree: 10 kB\n", sysmon.Unknown[sysmon.RAM]("no memory total: /proc/meminfo"),
			sysmon.Unknown[sysmon.Swap]("no memory total: /proc/meminfo")},
		"total of 0": {"MemTotal: 0 kB\nMemAvailable: 0 kB\n", sysmon.Unknown[sysmon.RAM]("no memory total: /proc/meminfo"),
			sysmon.Unknown[sysmon.Swap]("no memory total: /proc/meminfo")},
		"nothing available": {total, sysmon.Unknown[sysmon.RAM]("0 of 1024000 bytes available is not plausible: /proc/meminfo"),
			sysmon.Measured(sysmon.Swap{}, "/proc/meminfo")},
		"more available than there is": {total + "MemAvailable: 2000 kB\n",
			sysmon.Unknown[sysmon.RAM]("2048000 of 1024000 bytes available is not plausible: /proc/meminfo"),
			sysmon.Measured(sysmon.Swap{}, "/proc/meminfo")},
		"more swap free than there is": {total + "MemAvailable: 500 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n",
			sysmon.Measured(sysmon.RAM{TotalBytes: 1024000, AvailableBytes: 512000, UsedBytes: 512000}, "/proc/meminfo"),
			sysmon.Unknown[sysmon.Swap]("2048 of 1024 bytes of swap free is not plausible: /proc/meminfo")},
		// gopsutil's Used is Total-Free-Buffers-Cached: here it would be huge.
		"more cached than there is": {total + "MemFree: 600 kB\nMemAvailable: 900 kB\nBuffers: 300 kB\nCached: 300 kB\n",
			sysmon.Measured(sysmon.RAM{TotalBytes: 1024000, AvailableBytes: 921600, UsedBytes: 102400}, "/proc/meminfo"),
			sysmon.Measured(sysmon.Swap{}, "/proc/meminfo")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tt.meminfo != "" {
				put(t, root, "proc/meminfo", tt.meminfo)
			}
			got := Readers(Config{Root: root}).Memory(t.Context())
			if got.RAM != tt.ram {
				t.Errorf("RAM = %+v, want %+v", got.RAM, tt.ram)
			}
			if got.Swap != tt.swap {
				t.Errorf("swap = %+v, want %+v", got.Swap, tt.swap)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Errorf("no JSON: %v", err)
			}
		})
	}
}

func TestCPUTimes(t *testing.T) {
	const hour = time.Hour
	tests := map[string]struct {
		stat string
		want sysmon.Reading[sysmon.CPUTimes]
	}{
		// In ticks of 10 ms: one hour is 360000. Guest is in user already,
		// and waiting for a disk is idle.
		"every column": {"cpu 720000 360000 360000 1440000 360000 360000 360000 360000 360000 0\n",
			sysmon.Measured(sysmon.CPUTimes{Busy: 7 * hour, Total: 12 * hour}, "/proc/stat")},
		"an old kernel": {"cpu 360000 0 0 360000 0 0 0\n",
			sysmon.Measured(sysmon.CPUTimes{Busy: hour, Total: 2 * hour}, "/proc/stat")},
		"something else": {"<html>\n", sysmon.Unknown[sysmon.CPUTimes]("no CPU counters: /proc/stat")},
		"empty":          {"", sysmon.Unknown[sysmon.CPUTimes]("no CPU counters: /proc/stat")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, "proc/stat", tt.stat)
			if got := Readers(Config{Root: root}).CPUTimes(t.Context()); got != tt.want {
				t.Errorf("CPU times = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// gopsutil would ask the real machine's sysinfo(2).
func TestLoadAverage(t *testing.T) {
	tests := map[string]struct {
		loadavg string // "" is no file at all
		want    sysmon.Reading[sysmon.LoadAverage]
	}{
		"good":        {"0.52 1.58 10.59 1/123 4567\n", sysmon.Measured(sysmon.LoadAverage{One: 0.52, Five: 1.58, Fifteen: 10.59}, "/proc/loadavg")},
		"no file":     {"", sysmon.Unknown[sysmon.LoadAverage]("no such file or directory: /proc/loadavg")},
		"blank":       {" \n", sysmon.Unknown[sysmon.LoadAverage]("empty file: /proc/loadavg")},
		"too few":     {"0.52 0.58\n", sysmon.Unknown[sysmon.LoadAverage](`want three numbers, not "0.52 0.58": /proc/loadavg`)},
		"no number":   {"0.52 x 1 1/1 1\n", sysmon.Unknown[sysmon.LoadAverage](`not a load, "x": /proc/loadavg`)},
		"NaN":         {"NaN 1 1 1/1 1\n", sysmon.Unknown[sysmon.LoadAverage](`not a load, "NaN": /proc/loadavg`)},
		"a long text": {strings.Repeat("1", 257), sysmon.Unknown[sysmon.LoadAverage]("more than 256 bytes: /proc/loadavg")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tt.loadavg != "" {
				put(t, root, "proc/loadavg", tt.loadavg)
			}
			if got := Readers(Config{Root: root}).Load(t.Context()); got != tt.want {
				t.Errorf("load = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Good sensors come together with an error about bad ones: the readings are
// kept, and the log is not filled.
func TestGopsutilSensorsKeepGoodReadings(t *testing.T) {
	root := t.TempDir()
	put(t, root, "sys/class/hwmon/hwmon0/name", "nvme\n")
	put(t, root, "sys/class/hwmon/hwmon0/temp1_input/unreadable", "")
	put(t, root, "sys/class/hwmon/hwmon1/name", "coretemp\n")
	put(t, root, "sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n")
	put(t, root, "sys/class/hwmon/hwmon1/temp1_input", "52000\n")
	var log bytes.Buffer
	g := &gopsutil{tree: tree(root), log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		found := g.temperatures(t.Context())
		if len(found) != 1 || found[0].source != "sensor coretemp_package_id_0" {
			t.Fatalf("found %+v, want the one CPU sensor", found)
		}
		if got, err := found[0].read(t.Context()); err != nil || got != 52 {
			t.Errorf("read %v, %v, want 52", got, err)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings in the log, want 1:\n%s", n, &log)
	}
}

// The environment may point gopsutil at another machine than ours.
func TestEnvironmentDoesNotMoveGopsutil(t *testing.T) {
	t.Setenv("HOST_PROC", filepath.Join(board(t, "pi3"), "proc"))
	t.Setenv("HOST_SYS", filepath.Join(board(t, "pi3"), "sys"))
	got := Readers(Config{Root: board(t, "pi4")})
	if model := got.CPUModel(t.Context()); model.Value != "Cortex-A72" {
		t.Errorf("CPU model is %+v, want the Pi 4's Cortex-A72", model)
	}
	if ram := got.Memory(t.Context()).RAM; ram.Value.TotalBytes != 3885328*1024 {
		t.Errorf("RAM is %+v, want the Pi 4's", ram)
	}
}

// Pages are 16 KiB on a Pi 5. The kernel's two counters may disagree.
func TestProcessMemory(t *testing.T) {
	tests := map[string]struct {
		statm    string
		pageSize int
		want     sysmon.Reading[sysmon.ProcessMemory]
	}{
		"small pages": {"100 30 20 1 0 50 0", 4096,
			sysmon.Measured(sysmon.ProcessMemory{ResidentBytes: 122880, FileBytes: 81920, AnonBytes: 40960}, "/proc/self/statm")},
		"big pages": {"100 30 20 1 0 50 0", 16384,
			sysmon.Measured(sysmon.ProcessMemory{ResidentBytes: 491520, FileBytes: 327680, AnonBytes: 163840}, "/proc/self/statm")},
		"more file than resident": {"100 30 31 1 0 50 0", 4096,
			sysmon.Measured(sysmon.ProcessMemory{ResidentBytes: 122880, FileBytes: 122880}, "/proc/self/statm")},
		"too few": {"100 30", 4096, sysmon.Unknown[sysmon.ProcessMemory](`want three numbers, not "100 30": /proc/self/statm`)},
		"absurd":  {"1 -3 1", 4096, sysmon.Unknown[sysmon.ProcessMemory](`not a number of pages, "-3": /proc/self/statm`)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, "proc/self/statm", tt.statm)
			if got := processMemory(tree(root), tt.pageSize)(t.Context()); got != tt.want {
				t.Errorf("process memory = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The machine that runs the test, whatever it is, has memory and a CPU.
func TestThisMachine(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("no /proc here")
	}
	s, err := sysmon.New(Readers(Config{}), sysmon.Config{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.Sample(context.Background())
	got := s.Sample(context.Background())
	if ram, ok := got.Memory.RAM.Get(); !ok || ram.TotalBytes == 0 || ram.UsedBytes > ram.TotalBytes {
		t.Errorf("RAM is %+v", got.Memory.RAM)
	}
	if mem, ok := got.Process.Memory.Get(); !ok || mem.ResidentBytes != mem.FileBytes+mem.AnonBytes || mem.ResidentBytes == 0 {
		t.Errorf("process memory is %+v", got.Process.Memory)
	}
	if cpu, ok := got.Process.CPUPercent.Get(); !ok || cpu < 0 {
		t.Errorf("process CPU is %+v", got.Process.CPUPercent)
	}
	if !got.Host.Hostname.Known || !got.Host.Cores.Known || !got.Load.Known {
		t.Errorf("facts and load: %+v, %+v", got.Host, got.Load)
	}
}
