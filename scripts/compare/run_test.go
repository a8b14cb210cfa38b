package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a script that runs this test binary as a fake program.
func program(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), kind)
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %q \"$@\"\n", fakeVariable, kind, self)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// The whole comparison, between programs that only pretend.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "some.gguf")
	if err := os.WriteFile(model, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sweep, figures := filepath.Join(dir, "a", "sweep.json"), filepath.Join(dir, "out.json")
	args := []string{"-pichat", program(t, "pichat"), "-llama-server", program(t, "llama-server"), "-llama-bench", program(t, "llama-bench"),
		"-model", model, "-runs", "1", "-sweep-tries", "1", "-rest", "1ms", "-window", "200ms", "-sweep", sweep, "-json", figures}
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	for _, want := range []string{
		"pichat: pichat 1.2.3", "llama-server: llama-server 1.2.3", "model: " + model,
		"decode, 1 stream", "prefill, 512 tokens", "prefill, 1500 tokens", "decode, 4 streams", "decode, 8 streams",
		"longest gap beside a 1,500-token prompt", "TTFT of that prompt", "TTFT of a 20-token question beside 3 streams",
		"TTFT of turn 5 of a chat", "a neighbour burns one core", "goodput at 1.5 x capacity", "500.0", "undecided", "prompt tokens 1500 on both sides",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if data, err := os.ReadFile(figures); err != nil || !strings.Contains(string(data), `"measure": "TTFT of that prompt"`) {
		t.Errorf("%v %s", err, data)
	}
	// What the sweep found is not looked for again.
	progress.Reset()
	if err := run(t.Context(), append(args, "-only", "decode"), &out, &progress); err != nil || !strings.Contains(progress.String(), "of an earlier sweep") {
		t.Errorf("%v\n%s", err, progress.String())
	}
}

func TestRunWithABrokenServer(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"-pichat", program(t, "pichat"), "-llama-server", broken, "-llama-bench", broken, "-model", broken,
		"-only", "gap", "-sweep", filepath.Join(t.TempDir(), "sweep.json")}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "llama-server") || !strings.Contains(err.Error(), "ended before it was ready") {
		t.Errorf("got %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	var out bytes.Buffer
	_, _, err := parse([]string{"-only", "decode,speed", "-runs", "0", "-window", "1ms", "-pichat", "/no/such", "more"}, &out)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"speed" is none of decode`, "-runs 0 and", "-window 1ms", `-pichat "/no/such"`, `-llama-bench ""`, `"more" is no flag`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
