package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each way in which a reply ends is told apart.
func TestFinish(t *testing.T) {
	tests := []struct {
		name    string
		request Request
		reply   string
		text    string
		finish  Finish
	}{
		{"the model ends it", chat("hi"), "hello", "hello", FinishStop},
		{"at once", chat("hi"), "", "", FinishStop},
		{"a stop string", Request{Prompt: "hi", Stop: []string{"own fox"}}, "The quick brown fox jumps", "The quick br", FinishStopText},
		{"the token cap", Request{Prompt: "hi", MaxTokens: 3}, "hello", "hel", FinishLength},
		{"a cap that is just enough", Request{Prompt: "hi", MaxTokens: 5}, "hello", "hello", FinishLength},
		{"the window", Request{Prompt: "hi", MaxTokens: 100}, strings.Repeat("x", 100), strings.Repeat("x", 31), FinishWindow},
		{"the window, prompt one short of it", Request{Prompt: strings.Repeat("p", 31), MaxTokens: 100}, "ok", "ok", FinishWindow},
		{"the default cap", Request{Prompt: "hi"}, strings.Repeat("x", 100), strings.Repeat("x", 20), FinishLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newStub(t, 1, 32, 8)
			b.replies["hi"] = tt.reply
			r := generate(t, start(t, EngineConfig{Backend: b, MaxTokens: 20}), tt.request)
			if r.text != tt.text || r.done.Finish != tt.finish || r.done.Err != nil {
				t.Errorf("got %q, %s, %v; want %q, %s", r.text, r.done.Finish, r.done.Err, tt.text, tt.finish)
			}
		})
	}
}

// Case T1: a character split over tokens never shows as U+FFFD, and a cap in
// the middle of one cuts before it.
func TestSplitCharacters(t *testing.T) {
	const text = "🧑‍🚀🔥你好Ёж"
	for tokens := 1; tokens <= len(text); tokens++ {
		b := newStub(t, 1, 128, 64)
		b.replies["hi"] = text
		r := generate(t, start(t, EngineConfig{Backend: b}), Request{Prompt: "hi", MaxTokens: tokens})
		for _, d := range r.deltas {
			if strings.Contains(d.Text, "\uFFFD") {
				t.Fatalf("cap %d: a delta holds %q", tokens, d.Text)
			}
		}
		if !strings.HasPrefix(text, r.text) || r.done.Timings.Tokens() != tokens {
			t.Fatalf("cap %d: got %q with %d tokens", tokens, r.text, r.done.Timings.Tokens())
		}
	}
}

func TestRefused(t *testing.T) {
	b := newStub(t, 1, 32, 8)
	e := start(t, EngineConfig{Backend: b})
	tests := []struct {
		name    string
		request Request
		want    error
		text    string
	}{
		{"nothing", Request{}, ErrInvalidRequest, "messages is empty"},
		{"a blank message", chat(" \n"), ErrInvalidRequest, "messages[0].content is blank"},
		{"an unknown role", Request{Messages: []Message{{Role: "wizard", Content: "x"}}}, ErrInvalidRequest, `"wizard"`},
		{"a negative cap", Request{Prompt: "x", MaxTokens: -5}, ErrInvalidRequest, "-5"},
		{"too hot", Request{Prompt: "x", Sampling: Sampling{Temperature: 3}}, ErrInvalidRequest, "temperature 3"},
		{"an empty stop string", Request{Prompt: "x", Stop: []string{""}}, ErrInvalidRequest, "stop[0]"},
		{"a prompt that fills the window", Request{Prompt: strings.Repeat("p", 32)}, ErrContextFull, "32 tokens"},
		{"a prompt longer than the window", Request{Prompt: strings.Repeat("p", 999)}, ErrContextFull, "999 tokens"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Generate(context.Background(), tt.request)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v naming %q", err, tt.want, tt.text)
			}
		})
	}
	if len(b.batches) != 0 {
		t.Errorf("refused requests were evaluated: %v", b.batches)
	}
}

// Case C1: prompts around the batch and window sizes are fed in chunks.
func TestLongPromptsAreChunked(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 16, 17, 63} {
		b := newStub(t, 1, 64, 8)
		r := generate(t, start(t, EngineConfig{Backend: b}), Request{Prompt: strings.Repeat("p", n)})
		if n < 63 && r.text != "ok" || r.done.Err != nil {
			t.Errorf("a prompt of %d tokens gave %q, %v", n, r.text, r.done.Err)
		}
		last := r.prefill[len(r.prefill)-1]
		if last.Done != n || last.PromptTokens != n {
			t.Errorf("a prompt of %d tokens: last progress %+v", n, last)
		}
	}
}

// The next turn of a chat evaluates only what is new (case C5).
func TestPrefixIsKept(t *testing.T) {
	b := newStub(t, 2, 64, 64)
	e := start(t, EngineConfig{Backend: b})
	b.replies["hello"] = "world"
	generate(t, e, Request{Prompt: "hello"})
	r := generate(t, e, Request{Prompt: "helloworld again"})
	if got := r.done.Timings.CachedTokens; got != len("helloworld")-1 && got != len("helloworld") {
		t.Errorf("%d tokens were cached, want the first turn's %d", got, len("helloworld"))
	}
	r = generate(t, e, Request{Prompt: "helloworld again"})
	if got, want := r.done.Timings.CachedTokens, len("helloworld again")-1; got != want {
		t.Errorf("the same prompt again: %d cached, want %d: its last token is evaluated", got, want)
	}
}

// Timings come from the engine's clock, by the definitions of docs/glossary.md.
func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newStub(t, 1, 128, 64)
		b.evaluate = func(_ context.Context, batch *Batch) error {
			d := 100 * time.Millisecond
			if batch.Prefill {
				d = time.Duration(batch.Len()) * 50 * time.Millisecond
			}
			<-time.After(d)
			return nil
		}
		b.replies["0123456789"] = "abcdefghijk"
		e := start(t, EngineConfig{Backend: b})
		first, _ := e.Generate(context.Background(), Request{Prompt: "0123456789"})
		second, _ := e.Generate(context.Background(), Request{Prompt: "0123456789"})
		tm := collect(t, first).done.Timings
		ttft, _ := tm.TTFT()
		tps, _ := tm.TPS()
		if ttft != 500*time.Millisecond || tps != 10 || tm.Prefill != 500*time.Millisecond || tm.Queue != 0 || tm.E2E != 1500*time.Millisecond {
			t.Errorf("first: TTFT %v, %v tok/s, prefill %v, queue %v, E2E %v", ttft, tps, tm.Prefill, tm.Queue, tm.E2E)
		}
		r := collect(t, second)
		if got := r.done.Timings.Queue; got != 1600*time.Millisecond { // one step more, for the end token
			t.Errorf("second: queue wait %v, want 1.6s", got)
		}
		if len(r.queued) != 1 || r.queued[0].Place != 1 {
			t.Errorf("second: queue events %+v, want place 1", r.queued)
		}
	})
}

// Waiting requests are told their place, and each change of it.
func TestQueuePlaces(t *testing.T) {
	gate := make(chan struct{})
	b := newStub(t, 1, 64, 64)
	b.evaluate = func(ctx context.Context, _ *Batch) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ErrInterrupted
		}
	}
	e := start(t, EngineConfig{Backend: b})
	first, _ := e.Generate(context.Background(), Request{Prompt: "1"})
	waitFor(t, func() bool { return e.Status().Running == 1 || len(e.inbox) == 0 })
	second, _ := e.Generate(context.Background(), Request{Prompt: "2"})
	third, _ := e.Generate(context.Background(), Request{Prompt: "3"})
	close(gate)
	collect(t, first)
	if r := collect(t, second); r.done.Finish != FinishStop {
		t.Errorf("second: %+v", r.done)
	}
	r := collect(t, third)
	if len(r.queued) == 0 || r.queued[len(r.queued)-1].Place != 1 {
		t.Errorf("third: places %+v, want one that ends at 1", r.queued)
	}
}

func TestQueueFull(t *testing.T) {
	gate := make(chan struct{})
	b := newStub(t, 1, 64, 64)
	b.evaluate = func(context.Context, *Batch) error { <-gate; return nil }
	e := start(t, EngineConfig{Backend: b, QueueLimit: 2})
	var streams []*Stream
	for range 3 {
		s, err := e.Generate(context.Background(), Request{Prompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	if _, err := e.Generate(context.Background(), Request{Prompt: "x"}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("the fourth got %v, want ErrQueueFull", err)
	}
	close(gate)
	for _, s := range streams {
		collect(t, s)
	}
	if r := generate(t, e, Request{Prompt: "x"}); r.text != "ok" {
		t.Errorf("after the queue emptied: %+v", r)
	}
}

// Reasoning is told from answer, in text and in timings.
func TestThinking(t *testing.T) {
	b := newStub(t, 1, 128, 64)
	b.replies["hi"] = "<think>hm</think>\nYes"
	e := start(t, EngineConfig{Backend: b, Template: plainTemplate{TemplateInfo{ThinkOpen: "<think>", ThinkClose: "</think>"}}})
	r := generate(t, e, chat("hi"))
	if r.thought != "hm" || r.text != "Yes" {
		t.Errorf("thought %q, answer %q; want hm, Yes", r.thought, r.text)
	}
	if n := len(r.done.Timings.Answer()); n != 3 {
		t.Errorf("%d answer tokens, want 3", n)
	}
	if got, want := r.done.Timings.Tokens(), len("<think>hm</think>\nYes"); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

// waitFor polls a condition that another goroutine makes true.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("waited 10 s in vain")
		}
		<-time.After(time.Millisecond)
	}
}
