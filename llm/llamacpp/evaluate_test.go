package llamacpp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pichat/llm"
)

// A sliding window forgets what llama.cpp pretends to keep.
func TestTrimPastSlidingWindow(t *testing.T) {
	m := loadModel(t, gemmaFile, Config{Window: 2048})
	tokens := prompt(t, m, 1800)
	fill(t, m, tokens)
	first, last := m.SequenceSpan(0)
	if first <= 0 || last != len(tokens)-1 {
		t.Fatalf("the span is %d to %d, want the first past 0 and the last %d", first, last, len(tokens)-1)
	}
	if err := m.TrimSequence(0, last-1); err != nil {
		t.Errorf("removing two positions: %v", err)
	}
	if err := m.TrimSequence(0, 100); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("cutting before the window gave %v, want ErrBackend", err)
	}
	if first, last := m.SequenceSpan(0); first != -1 || last != -1 {
		t.Errorf("the span is %d to %d, want none", first, last)
	}
	fill(t, m, tokens[:10])
	if first, last := m.SequenceSpan(0); first != 0 || last != 9 {
		t.Errorf("the span is %d to %d, want 0 to 9", first, last)
	}
}

// The first tokens do not depend on which pool of threads computes them.
func TestThreadPools(t *testing.T) {
	var texts []string
	for _, c := range []Config{
		{DecodeThreads: 1, PrefillThreads: 2},
		{DecodeThreads: 2, PrefillThreads: 1},
		{DecodeThreads: 2, PrefillThreads: 2},
	} {
		m := loadModel(t, smolFile, c)
		texts = append(texts, m.spell(greedy(t, m, 8)))
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("the texts differ: %q", texts)
			break
		}
	}
}

// greedy goes on with a prompt by n tokens.
func greedy(t *testing.T, m *Model, n int) (out []llm.Token) {
	t.Helper()
	tokens := prompt(t, m, 40)
	index := fill(t, m, tokens)
	s, err := m.NewSampler(llm.Sampling{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var batch llm.Batch
	for len(out) < n {
		token, err := s.Sample(index)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, token)
		batch.Reset()
		index = batch.Add(token, len(tokens)+len(out)-1, 0, true)
		if err := m.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A long step is computed on a thread of C, a short one on the caller's, with
// the same result.
func TestLongStepsRunAside(t *testing.T) {
	m := loadModel(t, smolFile, Config{})
	run := func(long time.Duration) (tokens []llm.Token, aside time.Duration) {
		m.longStep = long
		before := asideTime(t)
		tokens = greedy(t, m, 24)
		if err := m.TrimSequence(0, 0); err != nil {
			t.Fatal(err)
		}
		return tokens, asideTime(t) - before
	}
	want, prompt := run(time.Hour) // the prompt runs aside, the steps do not
	got, all := run(0)
	if !slices.Equal(got, want) {
		t.Errorf("aside the tokens are %v, on the caller's thread %v", got, want)
	}
	if prompt == 0 || all < prompt+24*time.Millisecond {
		t.Errorf("the thread for long steps used %v for a prompt, %v with 24 steps more", prompt, all)
	}
}

// asideTime is the CPU time of the threads that evaluate long steps.
func asideTime(t *testing.T) (total time.Duration) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range threads {
		if name, _ := os.ReadFile(dir + "/comm"); string(name) != "evaluate\n" {
			continue
		}
		text, err := os.ReadFile(dir + "/schedstat")
		if err != nil {
			continue // it has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(ns)
	}
	return total
}

// An interruption is what somebody asked for: the log does not call it an error.
func TestInterruptionIsNoError(t *testing.T) {
	var log bytes.Buffer
	m := loadModel(t, smolFile, Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	log.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	begun := m.Ticks()
	go func() {
		for m.Ticks() == begun {
			select {
			case <-ended:
				return
			default:
				runtime.Gosched()
			}
		}
		cancel()
	}()
	var batch llm.Batch
	batch.Prefill = true
	for i, token := range prompt(t, m, 500) {
		batch.Add(token, i, 0, i == 499)
	}
	err := m.Evaluate(ctx, &batch)
	close(ended)
	if !errors.Is(err, llm.ErrInterrupted) {
		t.Fatalf("got %v, want ErrInterrupted", err)
	}
	if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN") || !strings.Contains(text, "llama.cpp") {
		t.Errorf("the log says\n%s\nwant llama.cpp's words at level debug", text)
	}
}

func TestComputeTime(t *testing.T) {
	m := loadModel(t, smolFile, Config{})
	before, process := m.ComputeTime(), cpuTime(t)
	index := fill(t, m, prompt(t, m, 64))
	computed, process := m.ComputeTime()-before, cpuTime(t)-process
	if computed < process/2 || computed > process {
		t.Errorf("a prompt took %v of CPU to compute, of %v that the process used", computed, process)
	}
	s, err := m.NewSampler(llm.Sampling{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before = m.ComputeTime()
	if _, err := s.Sample(index); err != nil || m.ComputeTime() == before {
		t.Errorf("sampling takes no time (%v)", err)
	}
}

func TestTicks(t *testing.T) {
	m := loadModel(t, smolFile, Config{})
	before := m.Ticks()
	fill(t, m, prompt(t, m, 8))
	if after := m.Ticks(); after-before < 100 {
		t.Errorf("an evaluation ticked %d times, want once for each of hundreds of graph nodes", after-before)
	}
	idle := m.Ticks()
	if _, err := m.Tokenize(llm.Text{Parts: []string{"x"}}); err != nil || m.Ticks() != idle {
		t.Errorf("it ticks without an evaluation (%v)", err)
	}
}

// Close may come while others use the model: their calls end, with a result or
// an error, and nothing is used after it was freed.
func TestCloseMeanwhile(t *testing.T) {
	m := loadModel(t, smolFile, Config{Slots: 2})
	tokens := prompt(t, m, 200)
	begun := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		var batch llm.Batch
		for i, token := range tokens {
			batch.Reset()
			batch.Add(token, i, 0, true)
			err := m.Evaluate(t.Context(), &batch)
			once.Do(func() { close(begun) })
			if err != nil {
				if !errors.Is(err, llm.ErrBackend) && !errors.Is(err, llm.ErrInterrupted) {
					t.Error(err)
				}
				return
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			var piece []byte
			for i := range 1000 {
				piece = m.AppendPiece(piece[:0], tokens[i%len(tokens)])
				if _, err := m.Tokenize(llm.Text{Parts: []string{"Hello, world"}}); err != nil {
					if !errors.Is(err, llm.ErrBackend) {
						t.Error(err)
					}
					return
				}
				m.SequenceSpan(0)
			}
		})
	}
	<-begun
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if got := string(m.AppendPiece(nil, tokens[3])); got == "" {
		t.Error("pieces are gone with the model")
	}
	m.Ticks()
}

// cpuTime is what the process has used so far.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A server that nobody asks must not keep a core busy: compute threads spin for
// a moment after a step, and then sleep.
func TestIdleUsesNoCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	m := loadModel(t, smolFile, Config{DecodeThreads: 1, PrefillThreads: 2})
	greedy(t, m, 2) // both pools have worked
	begin, used := time.Now(), cpuTime(t)
	for {
		<-time.After(time.Second) // what is measured is this second
		now := cpuTime(t)
		if now-used < 20*time.Millisecond {
			t.Logf("quiet after at most %v", time.Since(begin))
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("still %v of CPU time in a second, 10 s after the last step", now-used)
		}
		used = now
	}
}
