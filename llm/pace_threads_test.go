package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// board is a stub whose threads can be set, on a scripted machine with two
// processors: after burnFrom steps a neighbour takes one of them, after
// burnUntil steps it leaves.
type board struct {
	*stub
	burnFrom, burnUntil int
	silent              bool  // the machine tells nothing
	refuse              error // what SetThreads returns

	mu              sync.Mutex
	steps           int
	decode, prefill int
	set             []string // decode and prefill threads that were asked for
	load            CPULoad
	read            time.Time
}

func newBoard(t *testing.T) *board {
	b := &board{stub: newStub(t, 1, 4096, 64), burnFrom: 100, burnUntil: 400, decode: 2, prefill: 2, read: time.Now()}
	b.info.DecodeThreads, b.info.PrefillThreads = 2, 2
	b.replies["hi"] = strings.Repeat("x", 2000)
	b.evaluate = func(context.Context, *Batch) error {
		b.CPULoad()
		time.Sleep(20 * time.Millisecond)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.steps++
		return nil
	}
	return b
}

func (b *board) SetThreads(decode, prefill int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = append(b.set, fmt.Sprint(decode, " ", prefill))
	if b.refuse != nil {
		return b.refuse
	}
	b.decode, b.prefill = decode, prefill
	return nil
}

func (b *board) Threads() (decode, prefill int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decode, b.prefill
}

func (b *board) CPULoad() (CPULoad, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	elapsed := time.Since(b.read)
	b.read = time.Now()
	burnt := b.steps >= b.burnFrom && b.steps < b.burnUntil
	b.load.CPUs = 2
	switch {
	case burnt && b.decode == 2: // three share two
		b.load.Process += elapsed * 4 / 3
	case burnt:
		b.load.Process += elapsed
	default:
		b.load.Process += elapsed * time.Duration(b.decode)
		b.load.Idle += elapsed * time.Duration(2-b.decode)
	}
	return b.load, !b.silent
}

// While a neighbour takes a processor the engine decodes with one thread, and
// says why; afterwards with both again.
func TestThreadsFollowTheNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		e := start(t, EngineConfig{Backend: b})
		if st := e.Status().Threads; st != (ThreadStatus{Decode: 2, Prefill: 2, MostDecode: 2, MostPrefill: 2}) {
			t.Errorf("at first %+v", st)
		}
		s, err := e.Generate(t.Context(), Request{Prompt: "hi", MaxTokens: 300})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100*20*time.Millisecond + 1200*time.Millisecond)
		synctest.Wait()
		st := e.Status().Threads
		if st.Decode != 1 || st.Prefill != 1 || st.MostDecode != 2 || !strings.HasPrefix(st.Reason, "2 → 1: a neighbour takes 1.0 of 2") {
			t.Errorf("1.2 s after the neighbour came: %+v", st)
		}
		collect(t, s)
		r := generate(t, e, Request{Prompt: "hi", MaxTokens: 400})
		if r.done.Err != nil || r.done.Timings.Tokens() != 400 {
			t.Errorf("%d tokens, %v", r.done.Timings.Tokens(), r.done.Err)
		}
		if st = e.Status().Threads; st.Decode != 2 || st.Prefill != 2 || st.Reason != "1 → 2: processors are free again" || st.PrefillReason != st.Reason {
			t.Errorf("after it left: %+v", st)
		}
		if first, last := b.set[0], b.set[len(b.set)-1]; len(b.set) > 4 || !strings.Contains("1 1, 1 2", first) || last != "2 2" {
			t.Errorf("threads were set to %q, want each once down and once up", b.set)
		}
	})
}

// A backend that cannot change its threads goes on with those it has, and a
// machine that tells nothing changes nothing; the status says so.
func TestThreadsThatStay(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*board)
		want  string
	}{
		"refused": {func(b *board) { b.refuse = errors.New("no threads left") }, "no threads left"},
		"silent":  {func(b *board) { b.silent = true }, "does not tell"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBoard(t)
				tt.spoil(b)
				e := start(t, EngineConfig{Backend: b})
				r := generate(t, e, Request{Prompt: "hi", MaxTokens: 500})
				if r.done.Err != nil || r.done.Timings.Tokens() != 500 {
					t.Errorf("%d tokens, %v", r.done.Timings.Tokens(), r.done.Err)
				}
				if st := e.Status().Threads; st.Decode != 2 || !strings.Contains(st.Reason, tt.want) {
					t.Errorf("status %+v, want %q", st, tt.want)
				}
				if len(b.set) > 1 {
					t.Errorf("it tried %d times", len(b.set))
				}
			})
		})
	}
}

// A backend without threads to set has none to show.
func TestNoThreadsToSet(t *testing.T) {
	e := start(t, EngineConfig{Backend: newStub(t, 1, 64, 8)})
	if r := generate(t, e, chat("hi")); r.text != "ok" {
		t.Errorf("got %q", r.text)
	}
	if st := e.Status().Threads; st != (ThreadStatus{}) {
		t.Errorf("%+v", st)
	}
}

// An exclusive request has all threads, whatever the neighbour does; the next
// one goes on with what is best.
func TestExclusiveHasAllThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.burnFrom, b.burnUntil = 0, 1<<30
		e := start(t, EngineConfig{Backend: b, MaxTokens: 400})
		wait := func(r Request) { ask(t, e, r)() }
		wait(Request{Prompt: "hi"})
		if n, _ := b.Threads(); n != 1 {
			t.Fatalf("%d threads beside a neighbour, want 1", n)
		}
		before := len(b.set)
		wait(Request{Prompt: "hi", Exclusive: true})
		if got := b.set[before:]; !slices.Equal(got, []string{"2 2"}) {
			t.Errorf("in an exclusive request the threads were set to %v, want 2 once", got)
		}
		wait(Request{Prompt: "hi"})
		if n, _ := b.Threads(); n != 1 {
			t.Errorf("after it %d threads, want 1 again", n)
		}
	})
}

// What others do while nobody asks says nothing about the next reply.
func TestPausesTeachNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.burnFrom = 1 << 30
		e := start(t, EngineConfig{Backend: b, MaxTokens: 60})
		for range 5 {
			ask(t, e, Request{Prompt: "hi"})()
			<-time.After(2 * time.Second)
			b.mu.Lock()
			b.read = time.Now() // they had all processors: neither idle nor ours
			b.mu.Unlock()
		}
		if n, _ := b.Threads(); n != 2 || len(b.set) > 0 {
			t.Errorf("%d threads, set to %v: want 2 all the time", n, b.set)
		}
	})
}
