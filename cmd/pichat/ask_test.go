package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/llm/reader"
)

// scriptedEngine answers with script at a pace, in tokens/s.
func scriptedEngine(script fakellm.Script, pace float64) *llm.Engine {
	return llm.NewEngine(llm.EngineConfig{
		Backend:  fakellm.New(fakellm.Config{Script: script, Pace: pace}),
		Template: fakellm.Template{},
	})
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}}
}

func TestAnswerPrintsTextAndTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &bytes.Buffer{}}
		engine := scriptedEngine(fakellm.Say(strings.Repeat("one two three ", 20)), 5)
		if err := a.answer(t.Context(), engine, ask("Count."), reader.Target); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"one two three", "prompt tokens, TTFT ", " tokens, TPS 5.0, pace 5.", "below the 11 target", "a script, not a model"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	})
}

func TestAnswerStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &bytes.Buffer{}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := a.answer(ctx, scriptedEngine(fakellm.Endless("on and on "), 10), ask("Go on."), reader.Target)
		if !errors.Is(err, errInterrupted) {
			t.Fatalf("got %v", err)
		}
		if !strings.Contains(out.String(), "· stopped ·") {
			t.Errorf("no timings of a stopped answer in\n%s", out.String())
		}
	})
}

func TestAnswerReportsAFailure(t *testing.T) {
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	engine := llm.NewEngine(llm.EngineConfig{
		Backend:  fakellm.New(fakellm.Config{Faults: fakellm.Faults{SampleCall: 3}}),
		Template: fakellm.Template{},
	})
	if err := a.answer(t.Context(), engine, ask("Fail."), reader.Target); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("got %v", err)
	}
	err := a.answer(t.Context(), scriptedEngine(nil, 0), ask(strings.Repeat("word ", 5000)), reader.Target)
	if !errors.Is(err, llm.ErrContextFull) {
		t.Errorf("a prompt longer than the window: got %v", err)
	}
}

func TestQuestion(t *testing.T) {
	tests := []struct {
		words []string
		stdin string
		want  string
		fails bool
	}{
		{[]string{"Why", "so?"}, "", "Why so?", false},
		{[]string{"-"}, "from a file\n", "from a file", false},
		{[]string{"Summarise:", "-"}, "a\nb", "Summarise: a\nb", false},
		{[]string{"-"}, "\xff\xfe", "", true},
		{[]string{"-"}, "a\x00b", "", true},
		{[]string{"-"}, strings.Repeat("x", questionLimit+1), "", true},
	}
	for _, tt := range tests {
		a := &app{stdin: strings.NewReader(tt.stdin)}
		got, err := a.question(tt.words)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%q: got %q, %v", tt.words, got, err)
		}
	}
}

func TestTextWriter(t *testing.T) {
	type delta struct {
		text    string
		thought bool
	}
	deltas := []delta{{"\n", true}, {"Let me ", true}, {"see.\x1b[31m", true}, {"Yes", false}, {"\a!", false}}
	for terminal, want := range map[bool]string{
		true:  "\x1b[2mLet me see.[31m\x1b[0m\n\nYes!",
		false: "Let me see.\x1b[31m\n\nYes\a!",
	} {
		var b bytes.Buffer
		w := &textWriter{w: &b, terminal: terminal}
		for _, d := range deltas {
			if err := w.write(d.text, d.thought); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.end(); err != nil || b.String() != want {
			t.Errorf("terminal %v: got %q, want %q", terminal, b.String(), want)
		}
	}
}

func TestTimingsLine(t *testing.T) {
	arrivals := func(n int, rate float64) []time.Duration {
		list := make([]time.Duration, n)
		for i := range list {
			list[i] = time.Second + time.Duration(float64(i)/rate*float64(time.Second))
		}
		return list
	}
	small := llm.ModelInfo{Name: "Tiny", Quantization: "Q4_1", Parameters: 135e6, Window: 4096}
	tests := []struct {
		name  string
		done  llm.Done
		model llm.ModelInfo
		want  string
	}{
		{"no token", llm.Done{Finish: llm.FinishStop, Timings: llm.Timings{PromptTokens: 5}}, llm.ModelInfo{Name: "Big", Parameters: 8e9},
			"5 prompt tokens, TTFT n/a, 0 tokens, TPS n/a, pace n/a (under 20 tokens) · no answer · Big, 8.0 B parameters"},
		{"short", llm.Done{Finish: llm.FinishStop, Timings: llm.Timings{PromptTokens: 5, Arrivals: arrivals(3, 10), E2E: 1200 * time.Millisecond}}, llm.ModelInfo{Name: "Big", Parameters: 8e9},
			"5 prompt tokens, TTFT 1.00 s, 3 tokens, TPS 10.0, pace n/a (under 20 tokens) · answered in 1.2 s · Big, 8.0 B parameters"},
		{"cut", llm.Done{Finish: llm.FinishLength, Timings: llm.Timings{PromptTokens: 5, Arrivals: arrivals(101, 20), E2E: 6 * time.Second}}, small,
			"5 prompt tokens, TTFT 1.00 s, 101 tokens, TPS 20.0, pace 22.2 · 1 s to start, then 20 tok/s: ahead of you · cut at the longest reply allowed (--max-tokens) · Tiny Q4_1, 135 M parameters (pace only: too small a model to judge usefulness by)"},
		{"window", llm.Done{Finish: llm.FinishWindow, Timings: llm.Timings{Arrivals: arrivals(1, 1)}}, small,
			"0 prompt tokens, TTFT 1.00 s, 1 tokens, TPS n/a, pace n/a (under 20 tokens) · answered in 0 s · cut at the end of the context window of 4096 tokens (--context) · Tiny Q4_1, 135 M parameters (pace only: too small a model to judge usefulness by)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := timingsLine(tt.done, "", tt.model, reader.Target); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
