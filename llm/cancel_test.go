package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// blocked makes a backend whose evaluations wait: for one token through the
// returned channel, or for an interruption.
func blocked(t *testing.T, slots int) (*stub, chan struct{}) {
	b := newStub(t, slots, 4096, 256)
	step := make(chan struct{})
	b.evaluate = func(ctx context.Context, _ *Batch) error {
		select {
		case <-step:
			return nil
		case <-ctx.Done():
			return ErrInterrupted
		}
	}
	return b, step
}

// pump lets evaluations through until the returned function is called.
func pump(step chan<- struct{}) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case step <- struct{}{}:
				<-time.After(time.Millisecond) // as slow as a cancellation is quick
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// Case N1: the client goes away in each state; its slot or place is free at
// once, and the next request is served.
func TestCancel(t *testing.T) {
	long := strings.Repeat("p", 1000)
	tests := []struct {
		name   string
		prompt string
		steps  int // evaluations let through before the client goes
		queued bool
	}{
		{name: "in the queue", prompt: "x", queued: true},
		{name: "in the first chunk", prompt: long},
		{name: "between chunks", prompt: long, steps: 2},
		{name: "in decode", prompt: "x", steps: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, step := blocked(t, 1)
			b.replies["x"] = strings.Repeat("y", 100)
			e := start(t, EngineConfig{Backend: b})
			var other *Stream
			otherCtx, endOther := context.WithCancel(context.Background())
			defer endOther()
			if tt.queued {
				other, _ = e.Generate(otherCtx, Request{Prompt: long})
			}
			ctx, cancel := context.WithCancel(context.Background())
			s, err := e.Generate(ctx, Request{Prompt: tt.prompt})
			if err != nil {
				t.Fatal(err)
			}
			for range tt.steps {
				step <- struct{}{}
			}
			cancel()
			stop := func() {}
			if tt.steps == 3 || tt.queued {
				stop = pump(step) // a step that others need, or a short one, is left to end
			}
			if r := collect(t, s); r.done.Finish != FinishCancelled || r.done.Err != nil {
				t.Errorf("finish %s, %v; want cancelled", r.done.Finish, r.done.Err)
			}
			endOther()
			if other != nil {
				collect(t, other)
			}
			stop()
			b.evaluate = nil
			if r := generate(t, e, Request{Prompt: "next"}); r.text != "ok" {
				t.Errorf("the next request got %q, %v", r.text, r.done.Err)
			}
			waitFor(t, func() bool { st := e.Status(); return st.Running == 0 && st.Waiting == 0 })
		})
	}
}

// A prompt that shares its step with a running stream is not interrupted: that
// would cost the stream its token.
func TestCancelSparesTheOthers(t *testing.T) {
	b, step := blocked(t, 2)
	b.replies["a"] = strings.Repeat("y", 50)
	e := start(t, EngineConfig{Backend: b, StallBudget: time.Nanosecond}) // the smallest chunks
	stream, _ := e.Generate(context.Background(), Request{Prompt: "a"})
	step <- struct{}{} // its prefill
	ctx, cancel := context.WithCancel(context.Background())
	prompt, _ := e.Generate(ctx, Request{Prompt: strings.Repeat("p", 1000)})
	step <- struct{}{} // one decode step, after which the prompt joins
	step <- struct{}{}
	cancel()
	defer pump(step)()
	if r := collect(t, prompt); r.done.Finish != FinishCancelled {
		t.Errorf("the prompt ended with %s, %v", r.done.Finish, r.done.Err)
	}
	if r := collect(t, stream); r.text != strings.Repeat("y", 50) || r.done.Finish != FinishStop {
		t.Errorf("the other stream: %d characters, %s, %v", len(r.text), r.done.Finish, r.done.Err)
	}
}

// Health never waits on the engine (case M2).
func TestStatusDuringAStep(t *testing.T) {
	b, _ := blocked(t, 1)
	e := start(t, EngineConfig{Backend: b})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, _ := e.Generate(ctx, Request{Prompt: strings.Repeat("p", 1000)})
	waitFor(t, func() bool { return e.Status().Running == 1 }) // though no step has ended
	begin := time.Now()
	st := e.Status()
	if d := time.Since(begin); d > 50*time.Millisecond {
		t.Errorf("Status took %v", d)
	}
	if st.Running != 1 || st.Slots != 1 {
		t.Errorf("Status = %+v", st)
	}
	cancel()
	collect(t, s)
}

// Case N2: a client that does not read is dropped, the others never notice.
func TestSlowReader(t *testing.T) {
	b := newStub(t, 2, 4096, 256)
	b.evaluate = func(context.Context, *Batch) error { <-time.After(2 * time.Millisecond); return nil }
	b.replies["slow"] = strings.Repeat("s", 3000)
	b.replies["quick"] = strings.Repeat("q", 100)
	e := start(t, EngineConfig{Backend: b, SlowReader: 50 * time.Millisecond, MaxTokens: 4000})
	slow, _ := e.Generate(context.Background(), Request{Prompt: "slow"})
	if r := generate(t, e, Request{Prompt: "quick"}); len(r.text) != 100 {
		t.Errorf("the quick one got %d characters, %v", len(r.text), r.done.Err)
	}
	waitFor(t, func() bool { return e.Status().Running == 0 })
	if r := collect(t, slow); !errors.Is(r.done.Err, ErrSlowReader) {
		t.Errorf("the slow one ended with %s, %v; want ErrSlowReader", r.done.Finish, r.done.Err)
	}
}

// A failure of one request fails that request alone.
func TestFailureOfOne(t *testing.T) {
	b := newStub(t, 2, 4096, 256)
	b.replies["good"] = strings.Repeat("g", 200)
	b.evaluate = func(_ context.Context, batch *Batch) error {
		for _, tok := range batch.Tokens {
			if tok == '!' {
				return ErrBackend
			}
		}
		return nil
	}
	e := start(t, EngineConfig{Backend: b})
	good, _ := e.Generate(context.Background(), Request{Prompt: "good"})
	bad, _ := e.Generate(context.Background(), Request{Prompt: "bad!"})
	if r := collect(t, bad); r.done.Finish != FinishError || !errors.Is(r.done.Err, ErrBackend) {
		t.Errorf("bad: %s, %v", r.done.Finish, r.done.Err)
	}
	if r := collect(t, good); len(r.text) != 200 || r.done.Finish != FinishStop {
		t.Errorf("good: %d characters, %s, %v", len(r.text), r.done.Finish, r.done.Err)
	}
}

func TestSamplingFailure(t *testing.T) {
	b := newStub(t, 1, 64, 64)
	b.sample = ErrBackend
	e := start(t, EngineConfig{Backend: b})
	if r := generate(t, e, Request{Prompt: "x"}); !errors.Is(r.done.Err, ErrBackend) {
		t.Errorf("got %s, %v", r.done.Finish, r.done.Err)
	}
}

// Case N8: the end comes in prefill, in decode and in the queue; everyone is told.
func TestShutdown(t *testing.T) {
	b, step := blocked(t, 2)
	e := NewEngine(EngineConfig{Backend: b, Template: plainTemplate{}, Learned: quick})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	b.replies["a"] = strings.Repeat("y", 50)
	var streams []*Stream
	for _, prompt := range []string{"a", strings.Repeat("p", 1000), "queued"} {
		s, err := e.Generate(context.Background(), Request{Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
		step <- struct{}{}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Run did not end")
	}
	for i, s := range streams {
		if r := collect(t, s); !errors.Is(r.done.Err, ErrClosed) {
			t.Errorf("stream %d ended with %s, %v; want ErrClosed", i, r.done.Finish, r.done.Err)
		}
	}
	if _, err := e.Generate(context.Background(), Request{Prompt: "late"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a late request got %v", err)
	}
}
