package llm

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// A system prompt that two chats begin with is read once, whether the second
// comes while the first is read, while it is written, or after it.
func TestSharedPrefix(t *testing.T) {
	system := strings.Repeat("s", 100)
	requests := []Request{{Prompt: system + " first question"}, {Prompt: system + " second"}, {Prompt: system + " and a third one"}}
	t.Run("at the same time", func(t *testing.T) {
		b, step := blocked(t, 3)
		b.info.BatchTokens = 32
		e := start(t, EngineConfig{Backend: b})
		var streams []*Stream
		for _, r := range requests {
			s, err := e.Generate(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, s)
		}
		defer pump(step)()
		for i, s := range streams {
			r := collect(t, s)
			cached := r.done.Timings.CachedTokens
			if r.text != "ok" || i == 0 && cached > 0 || i > 0 && cached < len(system)-minShare {
				t.Errorf("request %d: %q, %d tokens cached of a system prompt of %d", i, r.text, cached, len(system))
			}
		}
		if evaluated := b.promptTokens(); evaluated > len(system)+60 {
			t.Errorf("%d prompt tokens were evaluated, the system prompt has %d", evaluated, len(system))
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		b := newStub(t, 3, 512, 64)
		e := start(t, EngineConfig{Backend: b})
		for i, r := range requests {
			r := generate(t, e, r)
			if cached := r.done.Timings.CachedTokens; i > 0 && cached != len(system)+1 {
				t.Errorf("request %d: %d tokens cached, want %d", i, cached, len(system)+1)
			}
		}
	})
	t.Run("not where memory cannot be shared", func(t *testing.T) {
		b := newStub(t, 3, 512, 64)
		b.info.SlidingWindow = 64
		e := start(t, EngineConfig{Backend: b})
		for i, r := range requests {
			if r := generate(t, e, r); r.text != "ok" || i > 0 && b.copies > 0 {
				t.Errorf("request %d: %q, %d copies", i, r.text, b.copies)
			}
		}
	})
}

// A copy that fails is tried once: to try at each step would throw away what
// the slot has read, and the prompt would never end.
func TestFailedCopyIsNotTriedAgain(t *testing.T) {
	b := newStub(t, 2, 1024, 32)
	b.noCopy = ErrBackend
	e := start(t, EngineConfig{Backend: b})
	system := strings.Repeat("s", 200)
	generate(t, e, Request{Prompt: system + strings.Repeat("a", 300)})
	if r := generate(t, e, Request{Prompt: system + strings.Repeat("x", 200)}); r.text != "ok" || r.done.Timings.CachedTokens != 0 {
		t.Errorf("%q, %d cached, %v", r.text, r.done.Timings.CachedTokens, r.done.Err)
	}
	if b.copies != 1 {
		t.Errorf("copying was tried %d times, want once", b.copies)
	}
}

// What idle slots keep is bounded, and the oldest goes first.
func TestIdleTokensAreBounded(t *testing.T) {
	b := newStub(t, 4, 512, 64)
	e := start(t, EngineConfig{Backend: b, IdleTokens: 250})
	prompts := []string{strings.Repeat("a", 100), strings.Repeat("b", 100), strings.Repeat("c", 100)}
	for _, p := range prompts {
		generate(t, e, Request{Prompt: p})
	}
	waitFor(t, func() bool { return e.Status().KVTokens <= 250 })
	for _, p := range prompts[1:] {
		if got := generate(t, e, Request{Prompt: p}).done.Timings.CachedTokens; got != 99 {
			t.Errorf("prompt %.1s: %d cached, want 99", p, got)
		}
	}
	if got := generate(t, e, Request{Prompt: prompts[0]}).done.Timings.CachedTokens; got != 0 {
		t.Errorf("the oldest: %d cached, want 0", got)
	}
}

// An exclusive request runs alone, reads all of its prompt in fixed chunks, and
// finds nothing kept; those that come after it wait for its end.
func TestExclusive(t *testing.T) {
	prompt := strings.Repeat("p", 300)
	b, step := blocked(t, 2)
	b.replies[prompt[len(prompt)-64:]] = "ten tokens"
	e := start(t, EngineConfig{Backend: b})
	stop := pump(step)
	generate(t, e, Request{Prompt: prompt}) // leaves its prompt in a slot
	stop()
	b.batches = nil
	running, _ := e.Generate(context.Background(), Request{Prompt: "x" + prompt})
	waitFor(t, func() bool { return e.Status().Running == 1 })
	alone, _ := e.Generate(context.Background(), Request{Prompt: prompt, Exclusive: true})
	after, _ := e.Generate(context.Background(), Request{Prompt: "y" + prompt})
	defer pump(step)()
	collect(t, running)
	r := collect(t, alone)
	collect(t, after)
	if r.text != "ten tokens" || r.done.Timings.CachedTokens != 0 {
		t.Errorf("%q, %d cached", r.text, r.done.Timings.CachedTokens)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	want := []string{"p128", "p128", "p44"}
	at := slices.Index(b.batches, "p128")
	if at < 0 || !slices.Equal(b.batches[at:at+3], want) {
		t.Fatalf("batches %v, want %v in a row", b.batches, want)
	}
	for _, batch := range b.batches[at+3:] {
		if batch != "d1" {
			t.Fatalf("batches %v: something ran beside the exclusive request", b.batches)
		}
	}
}
