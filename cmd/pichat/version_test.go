package main

import (
	"strings"
	"testing"

	"pichat/cmd/pichat/handover"
)

func TestVersion(t *testing.T) {
	defer func(was handover.Half) { half = was }(half)
	half.Reason = "baseline, by --cpu=baseline"
	r := runInside(t.Context(), t, "", "version")
	for _, want := range []string{"pichat     " + version, "llama.cpp  ", "program    baseline, by --cpu=baseline\n", "CPU        uses ", "misses "} {
		if r.status != statusOK || !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
	r = runInside(t.Context(), t, "", "version", "--licences")
	if r.status != statusOK || !strings.Contains(r.stdout, "llama.cpp") || !strings.Contains(r.stdout, "MIT") {
		t.Errorf("licences: status %d, %d bytes", r.status, len(r.stdout))
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"model", "info", "--help"}} {
		if r := runInside(t.Context(), t, "", args...); r.status != statusOK || !strings.HasPrefix(r.stdout, "Usage: pichat") || r.stderr != "" {
			t.Errorf("%v: got %+v", args, r)
		}
	}
	if r := runInside(t.Context(), t, ""); r.status != statusUsage || !strings.Contains(r.stderr, "serve") {
		t.Errorf("no command: got %+v", r)
	}
}

func TestDoctorOnAGoodMachine(t *testing.T) {
	r := runInside(t.Context(), t, "", "doctor", "--model", model(t, smolLM), "--listen", "127.0.0.1:0", "--slots", "1", "--context", "1024")
	for _, want := range []string{"SmolLM2 135M Instruct\n", "loaded and wrote in a process of its own", "1 slots x 1024 tokens", "llama.cpp", "CPU uses", "threads", "127.0.0.1:0 is free"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.status != statusOK {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	r := runInside(t.Context(), t, "", "doctor", "--json", "--model", aborting(t), "--listen", "127.0.0.1:0")
	if r.status != statusFailed || !strings.Contains(r.stdout, `"faults": 1`) || !strings.Contains(r.stdout, "crash") || r.stderr != "" {
		t.Errorf("got %+v", r)
	}
}

func TestModelInfo(t *testing.T) {
	r := runInside(t.Context(), t, "", "model", "info", "--slots", "4", model(t, smolLM))
	for _, want := range []string{"name           SmolLM2 135M Instruct\n", `calls itself   "Smollm2 135M 8k`, "llama", "Q4_1", "135 M", "8192 tokens", "its own", "4 slots x 4096 tokens"} {
		if r.status != statusOK || !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
}
