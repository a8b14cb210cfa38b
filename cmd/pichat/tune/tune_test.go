package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/cmd/pichat/remember"
	"pichat/llm"
	"pichat/llm/fakellm"
)

// board is a scripted model on a board whose memory feeds two threads: decode
// gains nothing beyond, prefill does.
type board struct {
	*fakellm.Backend
	threads int
	calls   int
	fail    int // the call of Evaluate that fails; 0 none
}

func newBoard() *board {
	return &board{Backend: fakellm.New(fakellm.Config{Window: 512}), threads: 4}
}

var errBroken = errors.New("broken")

func (b *board) SetThreads(decode, _ int) error { b.threads = decode; return nil }
func (b *board) Threads() (int, int)            { return b.threads, b.threads }

func (b *board) Evaluate(ctx context.Context, batch *llm.Batch) error {
	if b.calls++; b.calls == b.fail {
		return errBroken
	}
	if batch.Prefill {
		time.Sleep(time.Duration(batch.Len()) * 40 * time.Millisecond / time.Duration(b.threads))
	} else {
		time.Sleep(200*time.Millisecond/time.Duration(min(b.threads, 2)) + time.Duration(b.threads)*time.Millisecond)
	}
	return b.Backend.Evaluate(ctx, batch)
}

func TestMeasureAndChoose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		last := -1.0
		measured, err := Measure(t.Context(), b, Config{Counts: Counts(4), Rounds: 3, Progress: func(done float64) {
			if done <= last || done >= 1 {
				t.Errorf("progress %v after %v", done, last)
			}
			last = done
		}})
		if err != nil {
			t.Fatal(err)
		}
		results := measured.Results
		if d, p := Choose(results); d != 2 || p != 4 {
			t.Errorf("chose %d for decode and %d for prefill, want 2 and 4: %+v", d, p, results)
		}
		two := results[1]
		if two.Threads != 2 || two.Decode.Median < 9.7 || two.Decode.Median > 9.9 || two.Prefill.Median < 49 || two.Prefill.Median > 51 {
			t.Errorf("two threads: %+v, want 1/102 ms and 50 tokens/s", two)
		}
		if b.threads != 4 {
			t.Errorf("it leaves %d threads, there were 4", b.threads)
		}
		if _, kept := b.SequenceSpan(0); kept != -1 {
			t.Errorf("it leaves positions up to %d", kept)
		}
		if open := b.Counters().OpenSamplers; open != 0 {
			t.Errorf("it leaves %d samplers", open)
		}
	})
}

// busyBoard is a board on which another process uses two of four processors.
type busyBoard struct {
	*board
	began time.Time
}

func (b busyBoard) CPULoad() (llm.CPULoad, bool) {
	return llm.CPULoad{CPUs: 4, Process: time.Since(b.began), Idle: time.Since(b.began)}, true
}

func TestMeasureBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := Quiet(t.Context(), busyBoard{newBoard(), time.Now()}, time.Second); err == nil {
			t.Error("two of four processors taken are quiet")
		}
		if err := Quiet(t.Context(), newBoard(), time.Second); err != nil {
			t.Error(err)
		}
		quiet, err := Measure(t.Context(), newBoard(), Config{Counts: Counts(2), Rounds: 1})
		if err != nil || quiet.Spoilt() != nil {
			t.Errorf("without a meter: %v, %v", err, quiet.Spoilt())
		}
		busy, err := Measure(t.Context(), busyBoard{newBoard(), time.Now()}, Config{Counts: Counts(2), Rounds: 1})
		if err != nil || busy.Spoilt() == nil || !strings.Contains(busy.Spoilt().Error(), "other processes took 2.0 of 4 processors") {
			t.Errorf("beside others: %v, %v", err, busy.Spoilt())
		}
	})
}

// When it fails or is interrupted, everything is left as it was too.
func TestMeasureFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		b.fail = 20
		if _, err := Measure(t.Context(), b, Config{Counts: Counts(4)}); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		_, kept := b.SequenceSpan(0)
		if b.threads != 4 || kept != -1 || b.Counters().OpenSamplers != 0 {
			t.Errorf("it leaves %d threads, position %d, %d samplers", b.threads, kept, b.Counters().OpenSamplers)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Measure(ctx, newBoard(), Config{Counts: Counts(2)}); err == nil {
			t.Error("it goes on after its context has ended")
		}
	})
}

func TestMeasureTooSmall(t *testing.T) {
	b := &board{Backend: fakellm.New(fakellm.Config{Window: 64}), threads: 1}
	if _, err := Measure(t.Context(), b, Config{Counts: Counts(1)}); err == nil {
		t.Error("a window of 64 tokens is enough")
	}
}

func TestCounts(t *testing.T) {
	for most, want := range map[int][]int{
		1: {1}, 2: {1, 2}, 4: {1, 2, 3, 4}, 8: {1, 2, 3, 4, 6, 8}, 64: {1, 2, 3, 4, 6, 8, 11, 14, 18, 23, 29, 37, 47, 59, 64},
	} {
		if got := Counts(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
}

// Of counts that are equally fast the fewest threads are taken.
func TestChooseFewest(t *testing.T) {
	speeds := func(decode ...float64) (results []Result) {
		for i, s := range decode {
			results = append(results, Result{Threads: i + 1, Decode: Spread{Median: s}, Prefill: Spread{Median: s}})
		}
		return results
	}
	for _, tt := range []struct {
		results []Result
		want    int
	}{
		{speeds(10), 1}, {speeds(10, 9), 1}, {speeds(10, 10.2), 1}, {speeds(10, 11), 2},
		{speeds(5, 9.8, 10, 9.9), 2}, {speeds(5, 8, 9, 10), 4},
	} {
		if d, p := Choose(tt.results); d != tt.want || p != tt.want {
			t.Errorf("%+v: %d and %d, want %d", tt.results, d, p, tt.want)
		}
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	write := func(text string) {
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	s := Store{Folder: remember.Folder{Path: filepath.Join(dir, "cache"), Machine: "a Pi 5"}}
	if c, ok := s.Load(model, 4); ok {
		t.Errorf("nothing was saved, and there is %+v", c)
	}
	saved := Choice{Model: model, At: time.Unix(1e9, 0).UTC(), Decode: 2, Prefill: 4}
	if err := s.Save(saved); err != nil {
		t.Fatal(err)
	}
	if c, ok := s.Load(model, 4); !ok || c.Decode != 2 || c.Prefill != 4 || !c.At.Equal(saved.At) {
		t.Errorf("got %+v, %v", c, ok)
	}
	if _, ok := s.Load(model, 0); !ok {
		t.Error("an unknown number of processors hides it")
	}
	if _, ok := s.Load(model, 3); ok {
		t.Error("four threads are taken for three processors")
	}
	if _, ok := (Store{Folder: remember.Folder{Path: s.Path, Machine: "a Pi 4"}}).Load(model, 4); ok {
		t.Error("a choice for one machine is taken for another")
	}
	write("two, another file")
	if _, ok := s.Load(model, 4); ok {
		t.Error("a choice for one model is taken for another")
	}
	if err := (Store{}).Save(saved); !errors.Is(err, remember.ErrNowhere) {
		t.Errorf("without a folder: %v", err)
	}
	names, _ := filepath.Glob(filepath.Join(s.Path, "tuned-threads", "*"))
	for _, name := range names {
		if err := os.WriteFile(name, []byte(`{"decode_threads":-1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	if c, ok := s.Load(model, 4); len(names) != 1 || ok {
		t.Errorf("%d files; a spoilt one gives %+v", len(names), c)
	}
}
