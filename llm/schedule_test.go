package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm/policy"
)

// paced is a backend whose steps take as long as steps says for their number
// of streams, and a millisecond for each prompt token.
func paced(t *testing.T, slots int, steps ...time.Duration) *stub {
	b := newStub(t, slots, 4096, 256)
	b.evaluate = func(ctx context.Context, batch *Batch) error {
		d := time.Duration(batch.Len()) * time.Millisecond
		if !batch.Prefill {
			d = steps[batch.Len()-1]
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ErrInterrupted
		}
	}
	return b
}

// ask sends a request that is read in the background.
func ask(t *testing.T, e *Engine, r Request) (wait func() result) {
	t.Helper()
	s, err := e.Generate(context.Background(), r)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	done := make(chan result, 1)
	go func() { done <- collectWithin(t, s, time.Hour) }()
	return func() result { return <-done }
}

// One more stream runs only while all keep ahead of the reader.
func TestAdmissionKeepsThePace(t *testing.T) {
	tests := []struct {
		name    string
		two     time.Duration // T(2)
		largest string        // batch
	}{
		{"two at 15 tok/s run together", 66 * time.Millisecond, "d2"},
		{"two at 8 tok/s do not", 120 * time.Millisecond, "d1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := paced(t, 2, 60*time.Millisecond, tt.two)
				b.replies["a"], b.replies["b"] = strings.Repeat("a", 100), strings.Repeat("b", 100)
				e := start(t, EngineConfig{Backend: b, Learned: policy.Snapshot{Sizes: []policy.SizeSnapshot{
					{Streams: 1, Seconds: .06, Steps: 99}, {Streams: 2, Seconds: tt.two.Seconds(), Steps: 99},
				}}})
				first, second := ask(t, e, Request{Prompt: "a"}), ask(t, e, Request{Prompt: "b"})
				if r := first(); len(r.text) != 100 {
					t.Errorf("first: %d characters, %v", len(r.text), r.done.Err)
				}
				if r := second(); len(r.text) != 100 {
					t.Errorf("second: %d characters, %v", len(r.text), r.done.Err)
				}
				largest := "d1"
				for _, batch := range b.batches {
					if batch == "d2" {
						largest = batch
					}
				}
				if largest != tt.largest {
					t.Errorf("the largest decode step is %s, want %s", largest, tt.largest)
				}
			})
		})
	}
}

// Those who wait are told how long, and it is about right.
func TestPredictedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := paced(t, 1, 100*time.Millisecond)
		for _, p := range []string{"warming up", "a", "b", "c"} {
			b.replies[p] = strings.Repeat("x", 100)
		}
		e := start(t, EngineConfig{Backend: b})
		ask(t, e, Request{Prompt: "warming up"})()
		ask(t, e, Request{Prompt: "a"})
		waiting := []func() result{ask(t, e, Request{Prompt: "b"}), ask(t, e, Request{Prompt: "c"})}
		for i, wait := range waiting {
			r := wait()
			if len(r.queued) == 0 {
				t.Fatalf("number %d was told nothing", i)
			}
			first, actual := r.queued[0], r.done.Timings.Queue
			if first.Place != i+1 || first.Estimate < actual*8/10 || first.Estimate > actual*12/10 {
				t.Errorf("number %d was told place %d, %v; it waited %v", i, first.Place, first.Estimate, actual)
			}
		}
	})
}

// A request that would wait too long is refused with the time to try again,
// and as soon as the queue is shorter one is accepted again.
func TestWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := paced(t, 1, 100*time.Millisecond)
		for _, p := range []string{"warming up", "a", "b", "c", "d"} {
			b.replies[p] = strings.Repeat("x", 100)
		}
		e := start(t, EngineConfig{Backend: b, MaxWait: 15 * time.Second})
		ask(t, e, Request{Prompt: "warming up"})()
		a := ask(t, e, Request{Prompt: "a"})
		second := ask(t, e, Request{Prompt: "b"})
		<-time.After(1500 * time.Millisecond)
		_, err := e.Generate(context.Background(), Request{Prompt: "c"})
		var full *QueueError
		if !errors.As(err, &full) || !errors.Is(err, ErrQueueFull) || full.RetryAfter < 4*time.Second || full.RetryAfter > 8*time.Second {
			t.Fatalf("a wait of 20 s, 15 allowed: %v", err)
		}
		a()
		<-time.After(full.RetryAfter)
		ask(t, e, Request{Prompt: "c"})
		second()
		<-time.After(time.Minute)
		ask(t, e, Request{Prompt: "d"})() // long idle: nothing of the old prediction is left
	})
}

// One client's many requests do not keep another one's out.
func TestClientsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := paced(t, 2, 20*time.Millisecond, 22*time.Millisecond)
		for _, p := range []string{"greedy", "modest"} {
			b.replies[p] = strings.Repeat("x", 100)
		}
		e := start(t, EngineConfig{Backend: b, QueueLimit: 10, Learned: quick})
		var greedy []func() result
		refused := 0
		for range 12 {
			s, err := e.Generate(context.Background(), Request{Prompt: "greedy", Client: "10.0.0.1"})
			if err != nil {
				var full *QueueError
				if !errors.As(err, &full) || !strings.Contains(err.Error(), "your address") {
					t.Errorf("refused with %v", err)
				}
				refused++
				continue
			}
			greedy = append(greedy, func() result { return collectWithin(t, s, time.Hour) })
		}
		if len(greedy) != 11 || refused != 1 {
			t.Errorf("%d of one client were accepted and %d refused, want 11 of 12 places, and 1", len(greedy), refused)
		}
		modest := ask(t, e, Request{Prompt: "modest", Client: "10.0.0.2"})()
		if wait := modest.done.Timings.Queue; wait > 3*time.Second {
			t.Errorf("the other client waited %v: two replies of 2.2 s run before it", wait)
		}
		for _, g := range greedy {
			if r := g(); len(r.text) != 100 {
				t.Errorf("greedy: %d characters, %v", len(r.text), r.done.Err)
			}
		}
	})
}

// What was learned is told, and serves the next engine.
func TestLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := paced(t, 2, 50*time.Millisecond, 60*time.Millisecond)
		b.replies["a"] = strings.Repeat("a", 100)
		e := start(t, EngineConfig{Backend: b})
		ask(t, e, Request{Prompt: "a"})()
		ask(t, e, Request{Prompt: strings.Repeat("p", 200)})()
		<-time.After(time.Second)
		ask(t, e, Request{Prompt: "a"})()
		st := e.Schedule()
		if len(st.StepTimes) != 2 || st.StepTimes[0].Time.Round(time.Millisecond) != 50*time.Millisecond || st.StepTimes[1].Measured != 0 {
			t.Errorf("step times %+v", st.StepTimes)
		}
		if got := st.Learned.PrefillTokensPerSecond; got < 900 || got > 1100 {
			t.Errorf("prefill %v tok/s, want 1000", got)
		}
		next := start(t, EngineConfig{Backend: paced(t, 2, time.Second, time.Second), Learned: st.Learned})
		if got := next.Schedule().StepTimes; len(got) != 2 || got[0].Time.Round(time.Millisecond) != 50*time.Millisecond {
			t.Errorf("the next engine begins with %+v", got)
		}
		bad := st.Learned
		bad.PrefillTokensPerSecond = -1
		if got := start(t, EngineConfig{Backend: paced(t, 2, time.Second, time.Second), Learned: bad}).Schedule().StepTimes; len(got) != 0 {
			t.Errorf("from an invalid snapshot an engine begins with %+v", got)
		}
	})
}
