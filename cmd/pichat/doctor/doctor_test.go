package doctor

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/probe"
	"pichat/llm/llamacpp"
	"pichat/sysmon"
)

var update = flag.Bool("update", false, "write the golden files anew")

// always returns a reader of one reading.
func always[T any](r sysmon.Reading[T]) func(context.Context) sysmon.Reading[T] {
	return func(context.Context) sysmon.Reading[T] { return r }
}

// hotPi is a board with something to say.
func hotPi() sysmon.Readers {
	return sysmon.Readers{
		BoardModel:  always(sysmon.Measured("Raspberry Pi 4 Model B Rev 1.4", "/proc/device-tree/model")),
		TempCelsius: always(sysmon.Measured(81.2, "hwmon cpu_thermal")),
		ClockHz:     always(sysmon.Measured(1.5e9, "cpufreq scaling_cur_freq")),
		FanRPM:      always(sysmon.Unknown[float64]("no fan with a speed reading found")),
		Memory: func(context.Context) sysmon.Memory {
			return sysmon.Memory{
				RAM:  sysmon.Measured(sysmon.RAM{TotalBytes: 4e9, AvailableBytes: 3e9, UsedBytes: 1e9}, "/proc/meminfo"),
				Swap: sysmon.Measured(sysmon.Swap{}, "/proc/meminfo"),
			}
		},
		Throttle: func(context.Context) sysmon.Throttle { return sysmon.DecodeThrottled(0x50005, "mailbox") },
	}
}

func config(t *testing.T) Config {
	return Config{
		Root:     machine(t, map[string]string{"proc/swaps": "Filename Type Size Used Priority\n"}).Root,
		PageSize: 16384,
		Version:  "test",
		Program:  "baseline, the CPU does not report asimddp and asimdhp",
		Boot: boot.Config{
			Path:   filepath.Join(t.TempDir(), "none.gguf"),
			Prober: &probe.Prober{Command: []string{"/bin/false"}},
			Logger: slog.New(slog.DiscardHandler),
		},
		Engine:  llamacpp.EngineInfo{Version: "0.5.0", Commit: "abc", Flavour: "native", Key: "k", FeaturesMissed: []string{"dotprod"}},
		Cores:   4,
		Readers: hotPi(),
		Listen:  "127.0.0.1:0",
		Cache:   t.TempDir(),
	}
}

// find returns the finding of that name.
func find(t *testing.T, r *Report, name string) Finding {
	t.Helper()
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			if f.Name == name {
				return f
			}
		}
	}
	t.Fatalf("no finding %q in %+v", name, r)
	return Finding{}
}

func TestExamine(t *testing.T) {
	r := Examine(t.Context(), config(t))
	tests := []struct {
		name, value string
		state       State
	}{
		{"file", "no such file", Fault},
		{"program", "baseline, the CPU does not report asimddp", OK},
		{"CPU misses", "dotprod", Warning},
		{"threads", "4 to write, 4 to read prompts; 4 physical cores", OK},
		{"board", "Raspberry Pi 4 Model B Rev 1.4 (/proc/device-tree/model)", OK},
		{"temperature", "81.2 °C (hwmon cpu_thermal)", OK},
		{"cooling", "81.2 °C (hwmon cpu_thermal)", Warning},
		{"power supply", "under-voltage now: below 4.63 V", Warning},
		{"asked clock", "1.50 GHz (cpufreq scaling_cur_freq)", OK},
		{"true clock", "not read on this system", Unknown},
		{"swap", "none", OK},
		{"page size", "16 KiB", OK},
		{"fan", "no fan with a speed reading found", Unknown},
		{"load", "not read on this system", Unknown},
		{"memory", "4.0 GB, 3.0 GB available (/proc/meminfo)", OK},
		{"limits now", "under-voltage, throttled (mailbox)", OK},
		{"since boot", "under-voltage, throttled (mailbox)", OK},
		{"port", "127.0.0.1:0 is free", OK},
		{"cache folder", "is writable", OK},
	}
	for _, tt := range tests {
		f := find(t, r, tt.name)
		if f.State != tt.state || !strings.Contains(f.Value, tt.value) {
			t.Errorf("%s: got %+v, want %s, %q", tt.name, f, tt.state, tt.value)
		}
		if (f.State == Fault || f.State == Warning) && f.Remedy == "" {
			t.Errorf("%s: no remedy: %+v", tt.name, f)
		}
	}
	if r.Faults != 1 || r.Warnings != 3 {
		t.Errorf("got %d faults, %d warnings", r.Faults, r.Warnings)
	}
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"faults":1`) {
		t.Errorf("JSON: %s, %v", data, err)
	}
}

func TestTooManyThreads(t *testing.T) {
	c := config(t)
	c.Boot.PrefillThreads = 8
	if f := c.threads(); f.State != Warning || !strings.Contains(f.Value, "4 to write, 8 to read") {
		t.Errorf("got %+v", f)
	}
	c.Boot.Processors = 1
	if f := c.threads(); f.State != Fault || !strings.Contains(f.Remedy, "lower --threads") {
		t.Errorf("got %+v", f)
	}
}

func TestPort(t *testing.T) {
	another, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	go http.Serve(another, http.NotFoundHandler())
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"version":"v9"}`)
	}))
	defer ours.Close()

	c := config(t)
	c.Listen = another.Addr().String()
	if f := c.port(t.Context()); f.State != Fault || !strings.Contains(f.Value, "in use by another program") {
		t.Errorf("busy: %+v", f)
	}
	c.Listen = ours.Listener.Addr().String()
	if f := c.port(t.Context()); f.State != OK || !strings.Contains(f.Value, "pichat v9 serves there already") {
		t.Errorf("ours: %+v", f)
	}
	c.Listen = "192.0.2.77:8080"
	if f := c.port(t.Context()); f.State != Fault || !strings.Contains(f.Value, "no address of this machine") {
		t.Errorf("foreign: %+v", f)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	c := config(t)
	for _, folder := range []string{"", "/proc/nowhere"} {
		c.Cache = folder
		if f := c.cache(); f.State != Warning || f.Remedy == "" {
			t.Errorf("%q: %+v", folder, f)
		}
	}
}

func TestText(t *testing.T) {
	r := &Report{Version: "v1"}
	r.add("Model", []Finding{
		{"file", "models/m.gguf, 98.4 MB", OK, ""},
		{"checks", "a sentence that is long enough to be broken into two lines", Fault, "a remedy that is long enough to be broken into two lines"},
	})
	r.add("Board", []Finding{
		{"temperature", "no sensor", Unknown, ""},
		{"", "a warning without a name", Warning, "do something"},
	})
	var b strings.Builder
	if err := r.Text(&b, 50); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "report.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n%v", b.String(), want, err)
	}
}
