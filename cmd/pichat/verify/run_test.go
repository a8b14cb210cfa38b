package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pichat/cmd/pichat/doctor"
	"pichat/sysmon"
	"pichat/web"
)

// service is a stand-in for the running one: a sound Pi 5 that warms up by a
// degree with each look at it.
type service struct {
	version, host, model string // model is "" where it is loaded, else the fault
	running              int
	tps                  float64 // 0 is replies without a pace
	looks, asked         atomic.Int32
	// others is how many more requests it says to be running while it is asked,
	// and seen is closed once it was looked at meanwhile.
	others int
	seen   chan struct{}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		_ = json.NewEncoder(w).Encode(map[string]string{"version": s.version})
	case "/readyz":
		if s.model != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": s.model == "", "phase": "failed", "error": s.model})
	case "/status":
		vitals := soundPi5()
		vitals.CPU.TempCelsius = sysmon.Measured(50+float64(s.looks.Add(1)), "hwmon cpu_thermal")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"host": s.host, "engine": map[string]int{"running": s.running + s.others*int(s.asked.Load())}, "vitals": vitals,
			"build": web.Build{Program: "Cortex-A76, the CPU reports asimddp and asimdhp", Flavour: "a76", FeaturesUsed: []string{"dotprod"}},
		})
		if s.seen != nil && s.asked.Load() > 0 && s.looks.Load() == 4 {
			close(s.seen)
		}
	case "/v1/chat/completions":
		n := float64(s.asked.Add(1))
		if s.seen != nil {
			<-s.seen
		}
		timings := map[string]any{"completion_tokens": 100, "e2e_s": 11}
		if s.tps > 0 {
			timings["ttft_s"], timings["tps"] = n, s.tps+n // another each time
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []map[string]string{{"finish_reason": "length"}}, "timings": timings})
	}
}

// against prepares a run on what Look says of a real Pi 5.
func against(t *testing.T, s *service) Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return Config{
		Version: "v1.2.3", URL: server.URL + "/", Hostname: "pi5", Decode: 25 * time.Second, Tokens: 100,
		Machine:  realPi5().Machine,
		Doctor:   func(context.Context) *doctor.Report { return &doctor.Report{} },
		Progress: func(string) {},
	}
}

func sound() *service { return &service{version: "v1.2.3", host: "pi5", tps: 5} }

// The service writes for as long as was asked, and the report has the spread of
// what it measured, and the board before and after.
func TestRun(t *testing.T) {
	s := sound()
	r, err := Run(t.Context(), against(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pi || len(r.Differs) > 0 {
		t.Errorf("differs: %q, not a Pi: %q", r.Differs, r.NotAPi)
	}
	// 11 s each with 1, 2, 3 s to the first token: 10 + 9 + 8 s of writing.
	if len(r.Load.Replies) != 3 || r.Load.DecodeS != 27 {
		t.Errorf("%d replies, %g s of writing, want 3 and 27", len(r.Load.Replies), r.Load.DecodeS)
	}
	if want := (Spread{Min: 6, Median: 7, Max: 8, N: 3}); r.Load.TPS == nil || *r.Load.TPS != want {
		t.Errorf("pace %+v, want %+v", r.Load.TPS, want)
	}
	if r.Load.PrefillTPS != nil {
		t.Errorf("the pace of reading is not known, but is %+v", r.Load.PrefillTPS)
	}
	first, last := r.Load.Samples[0], r.Load.Samples[len(r.Load.Samples)-1]
	if first.TempCelsius.Value != 51 || last.TempCelsius.Value != float64(50+s.looks.Load()) {
		t.Errorf("temperature from %v to %v", first.TempCelsius, last.TempCelsius)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report // as --show reads it
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := again.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# pichat on a " + pi5, "Everything that was compared is as expected.", "| flavour that runs | a76 (as expected: expected a76: the CPU has asimddp and asimdhp) |",
		"| tokens/s | 6.00 | 7.00 | 8.00 | 3 |", "| reading, tokens/s | n/a | n/a | n/a | 0 |", "Temperature at the start 51.0 °C",
		"Held back at the end: by nothing. Since start-up: by nothing.", "| page size | 16 KiB |",
		"| CPU.TrueClockHz | a value from firmware measure_clock | 2.40 GHz | firmware measure_clock | as expected |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

// The board is looked at while the service writes, and so is whether it writes
// for somebody else.
func TestRunWatches(t *testing.T) {
	s := sound()
	s.others, s.seen = 2, make(chan struct{})
	c := against(t, s)
	c.Every, c.Decode = time.Millisecond, time.Second
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Load.Samples); n < 4 {
		t.Errorf("%d samples, want at least 4", n)
	}
	if len(r.Differs) != 1 || !strings.Contains(r.Differs[0], "for somebody else") {
		t.Errorf("differs: %q", r.Differs)
	}
}

// Each of these ends in one clear error, and in no report.
func TestRunRefuses(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, tt := range map[string]struct {
		change func(*service, *Config)
		want   string
	}{
		"service down":       {func(_ *service, c *Config) { c.URL = gone.URL }, "no service answers at " + gone.URL},
		"no address":         {func(_ *service, c *Config) { c.URL = "http://[" }, "--url http://[ is no address"},
		"another program":    {func(s *service, _ *Config) { s.version = "" }, "is not pichat"},
		"another version":    {func(s *service, _ *Config) { s.version = "v1.0.0" }, "is pichat v1.0.0, this program is v1.2.3: restart the service"},
		"no model":           {func(s *service, _ *Config) { s.model = "no model file found" }, "has no model: no model file found"},
		"another machine":    {func(s *service, _ *Config) { s.host = "pi4" }, `runs on "pi4", this program on "pi5"`},
		"busy":               {func(s *service, _ *Config) { s.running = 1 }, "answers somebody: try again"},
		"nothing to measure": {func(s *service, _ *Config) { s.tps = 0 }, "3 replies in a row that are too short"},
	} {
		s := sound()
		c := against(t, s)
		tt.change(s, &c)
		if r, err := Run(t.Context(), c); err == nil || r != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, tt.want)
		}
	}
}

// A refusal of the API arrives in its own words.
func TestRefusedQuestion(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"the queue is full"}}`)
	}))
	defer server.Close()
	_, err := client{server.URL, http.DefaultClient}.ask(t.Context(), "?", 2)
	if err == nil || !strings.Contains(err.Error(), "the queue is full") {
		t.Errorf("the error is %v", err)
	}
}

// Look reads what it is given, and what is not there stays unknown.
func TestLook(t *testing.T) {
	root := t.TempDir()
	if m := Look(root); m.Board.Known || m.Kernel.Known || m.FirmwareSerial || m.PageSizeBytes == 0 {
		t.Errorf("an empty machine: %+v", m)
	}
	for name, text := range map[string]string{
		"proc/device-tree/model": pi5 + "\x00", "proc/device-tree/serial-number": "10000000a1b2c3d4\x00",
		"proc/sys/kernel/osrelease": "6.12.47+rpt-rpi-2712\n", "sys/devices/system/cpu/modalias": "cpu:type:aarch64:feature:,0000\n",
	} {
		write(t, root, name, text)
	}
	m := Look(root)
	if m.Board.Value != pi5 || m.Kernel.Value != "6.12.47+rpt-rpi-2712" || m.KernelArch.Value != "aarch64" || !m.FirmwareSerial {
		t.Errorf("%+v", m)
	}
	write(t, root, "proc/device-tree/serial-number", "0000000000000000\x00")
	write(t, root, "proc/sys/kernel/arch", "x86_64\n")
	if m := Look(root); m.FirmwareSerial || m.KernelArch.Value != "x86_64" {
		t.Errorf("an emulator's machine: %+v", m)
	}
}

// write puts a file of a machine below root.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
