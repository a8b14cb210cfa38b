package main

import (
	"regexp"
	"strings"
	"testing"

	"pichat/llm/llamacpp"
)

// A line of the table: threads, and two speeds with their spread.
var tuneRow = regexp.MustCompile(`(?m)^(\d+) +[\d.]+ +[\d.]+ to [\d.]+ +[\d.]+ +[\d.]+ to [\d.]+`)

// tune measures the default model with each number of threads, and remembers
// the choice unless the machine was busy with other things.
func TestTuneTheModel(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes many seconds where other tests run beside it")
	}
	r := runInside(t.Context(), t, "", "tune", "--model", model(t, smolLM))
	rows := tuneRow.FindAllStringSubmatch(r.stdout, -1)
	if most := llamacpp.DefaultThreads(); len(rows) == 0 || len(rows) > most || rows[0][1] != "1" {
		t.Errorf("%d rows for up to %d threads:\n%s%s", len(rows), most, r.stdout, r.stderr)
	}
	if strings.Count(r.stdout, "decode") != 2 || !strings.Contains(r.stdout, "chosen for ") {
		t.Errorf("it does not say what is chosen:\n%s", r.stdout)
	}
	switch r.status {
	case statusOK:
		if !strings.Contains(r.stdout, "remembered for serve and ask") {
			t.Errorf("it does not say that it remembers:\n%s", r.stdout)
		}
	case statusFailed:
		if !strings.Contains(r.stderr, "nothing is remembered: other processes took") {
			t.Errorf("it fails with\n%s", r.stderr)
		}
	default:
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
