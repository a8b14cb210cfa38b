package main

import (
	"regexp"
	"strings"
	"testing"
)

// timings matches the line that ends an answer.
var timings = regexp.MustCompile(`(?m)^\d+ prompt tokens, TTFT [\d.]+ s, \d+ tokens, TPS [\d.]+, pace .+ · .+ to start, then .+ · SmolLM2 135M Instruct Q4_1, 135 M parameters \(pace only`)

func TestAskTheModel(t *testing.T) {
	r := runInside(t.Context(), t, "", "ask", "--model", model(t, smolLM), "--temperature", "0", "Why is the sky blue?")
	if r.status != statusOK {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	if !regexp.MustCompile(`(?i)light|scatter`).MatchString(r.stdout) {
		t.Errorf("the answer speaks neither of light nor of scattering:\n%s", r.stdout)
	}
	if strings.Contains(r.stdout, "cut at") || !timings.MatchString(r.stdout) {
		t.Errorf("the answer did not end by itself, or its timings are missing:\n%s", r.stdout)
	}
	if strings.Contains(r.stdout, "<|") {
		t.Errorf("a control token shows:\n%s", r.stdout)
	}
}

func TestAskFromStandardInputWithASeed(t *testing.T) {
	args := []string{"ask", "--model", model(t, smolLM), "--seed", "7", "--max-tokens", "8", "--system", "You are terse.", "-"}
	first := runInside(t.Context(), t, "Name a colour.\n", args...)
	second := runInside(t.Context(), t, "Name a colour.\n", args...)
	answer := func(r result) string { text, _, _ := strings.Cut(r.stdout, " prompt tokens"); return text }
	if first.status != statusOK || answer(first) != answer(second) {
		t.Errorf("the same seed gave\n%+v\n%+v", first, second)
	}
}

func TestAskABaseModel(t *testing.T) {
	r := runInside(t.Context(), t, "", "ask", "--model", model(t, gemma), "--temperature", "0", "--max-tokens", "24", "The sky is blue because")
	if r.status != statusOK || !strings.Contains(r.stdout, "gemma") {
		t.Errorf("got %+v", r)
	}
}

func TestAskMoreThanTheWindow(t *testing.T) {
	r := runInside(t.Context(), t, strings.Repeat("word ", 2000), "ask", "--model", model(t, smolLM), "--context", "512", "-")
	if r.status != statusFailed || !regexp.MustCompile(`the prompt has 20\d\d tokens, but a slot's context window holds 512`).MatchString(r.stderr) {
		t.Errorf("got %+v", r)
	}
}
