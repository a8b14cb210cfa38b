package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"pichat/cmd/pichat/verify"
)

// The whole way on this machine, against a scripted server: the report is no
// Pi's and says so, --show prints it, and a machine without a model is a fault.
func TestVerify(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the engine's threads and sensors are looked at on Linux")
	}
	s := serveInside(t, "--backend", "scripted", "--pace", "50")
	r := runInside(t.Context(), t, "", "verify", "--url", s.url, "--seconds", "1", "--tokens", "64", "--json", "--model", t.TempDir()+"/none.gguf")
	var report verify.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("status %d, %v: %s%s", r.status, err, r.stdout, r.stderr)
	}
	if r.status != statusFailed || len(report.Differs) != 1 || !strings.Contains(report.Differs[0], "none.gguf") {
		t.Errorf("status %d, differs %q, want 1 and the missing model", r.status, report.Differs)
	}
	if pace := report.Load.TPS; pace == nil || pace.Median < 25 || pace.Median > 100 || report.Load.DecodeS < 1 {
		t.Errorf("pace %+v over %g s, want about 50 over a second", pace, report.Load.DecodeS)
	}
	if report.Service.Build.Flavour == "" || report.Service.Build.LlamaCPP == "" {
		t.Errorf("the service does not say what it is: %+v", report.Service.Build)
	}
	shown := runInside(t.Context(), t, r.stdout, "verify", "--show", "-")
	if shown.status != statusOK || !strings.HasPrefix(shown.stdout, "# ") || !strings.Contains(shown.stdout, "| tokens/s | ") {
		t.Errorf("--show: status %d: %s%s", shown.status, shown.stdout, shown.stderr)
	}
	if !report.Pi && !strings.HasPrefix(shown.stdout, "# NOT A RASPBERRY PI\n") {
		t.Errorf("the report of this machine begins %.80q", shown.stdout)
	}
}

func TestVerifyBadInput(t *testing.T) {
	for args, want := range map[string]string{
		"verify --url http://127.0.0.1:1": "no service answers at http://127.0.0.1:1",
		"verify --show -":                 "--show -: not a whole report",
		"verify --seconds 0":              "allowed are 1 to 3600",
		"verify --tokens 1":               "allowed are 2 to 4096",
	} {
		r := runInside(t.Context(), t, "{}", strings.Fields(args)...)
		if r.status == statusOK || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, %q, want %q", args, r.status, r.stderr, want)
		}
	}
}
