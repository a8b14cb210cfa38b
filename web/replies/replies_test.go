package replies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm"
	"pichat/web/fault"
)

const id = "0123456789abcdef"

// A page whose socket is cut after any frame and that comes back at any
// frame has lost nothing and doubled nothing.
func TestResumeAtEveryFrame(t *testing.T) {
	events := words(60, 70*time.Millisecond)
	answer, tokens := answerOf(events)
	for _, gap := range []time.Duration{0, 400 * time.Millisecond, 10 * time.Second} {
		for cut := range 50 {
			synctest.Test(t, func(t *testing.T) {
				s := NewStore(Config{})
				r, err := s.Start("a", id, script(70*time.Millisecond, events...))
				if err != nil {
					t.Fatal(err)
				}
				p := &page{t: t}
				p.follow(r, cut)
				time.Sleep(gap)
				found, ok := s.Find(id)
				if !ok {
					t.Fatal("the reply is gone")
				}
				p.follow(found, all)
				p.check(answer)
				if p.tokens != tokens {
					t.Errorf("%d tokens, want %d", p.tokens, tokens)
				}
				closeStore(t, s)
			})
		}
	}
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

// What a page missed comes as few frames: text as one, progress as its last.
func TestLateWatcherGetsMergedFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{})
		r, _ := s.Start("a", id, script(20*time.Millisecond, words(200, 20*time.Millisecond)...))
		time.Sleep(30 * time.Second)
		w := r.Watch(0, func() {})
		frames, done := w.Frames()
		w.Close()
		if !done || len(frames) != 5 {
			t.Errorf("%d frames, done %v; want queued, prefilling, thought, text, done", len(frames), done)
		}
		closeStore(t, s)
	})
}

// The first token leaves at once, later ones at most every 90 ms; every 150 ms
// where a model is far ahead of any reader.
func TestFlushPace(t *testing.T) {
	for _, tt := range []struct {
		name         string
		every        time.Duration // between two tokens
		fewest, most int           // frames in 4 s
	}{
		{"a pace for readers", 30 * time.Millisecond, 40, 46},
		{"a fast model", 10 * time.Millisecond, 25, 29},
	} {
		t.Run(tt.name, func(t *testing.T) { testFlushPace(t, tt.every, tt.fewest, tt.most) })
	}
}

func testFlushPace(t *testing.T, every time.Duration, fewest, most int) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{})
		var events []llm.Event
		for i := range int(4 * time.Second / every) {
			events = append(events, llm.Delta{Text: "a ", Tokens: 1, At: time.Duration(i) * every})
		}
		begin := time.Now()
		r, _ := s.Start("a", id, script(every, events...))
		w := r.Watch(0, func() {})
		defer w.Close()
		var at []time.Duration
		for done := false; !done; {
			time.Sleep(time.Millisecond)
			synctest.Wait()
			var frames []any
			if frames, done = w.Frames(); len(frames) > 0 {
				at = append(at, time.Since(begin))
			}
		}
		if at[0] > every+time.Millisecond {
			t.Errorf("the first token left after %v", at[0])
		}
		if len(at) < fewest || len(at) > most {
			t.Errorf("%d frames in 4 s", len(at))
		}
		closeStore(t, s)
	})
}

// The last text of a pause is not held back until the next token.
func TestTextLeavesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{})
		r, _ := s.Start("a", id, func(ctx context.Context) (*llm.Stream, error) {
			stream := llm.NewStream("r")
			stream.Send(llm.Delta{Text: "a", Tokens: 1})
			go func() {
				time.Sleep(time.Millisecond)
				stream.Send(llm.Delta{Text: "b", Tokens: 1})
				<-ctx.Done()
				stream.Send(llm.Done{Finish: llm.FinishCancelled})
			}()
			return stream, nil
		})
		w := r.Watch(0, func() {})
		defer w.Close()
		time.Sleep(200 * time.Millisecond)
		p := &page{t: t}
		frames, _ := w.Frames()
		p.apply(frames)
		if p.answer != "ab" {
			t.Errorf("after 200 ms the page has %q", p.answer)
		}
		closeStore(t, s)
	})
}

func TestGrace(t *testing.T) {
	endless := make([]llm.Event, 10_000)
	for i := range endless {
		endless[i] = llm.Delta{Text: "x", Tokens: 1, At: time.Duration(i) * 100 * time.Millisecond}
	}
	tests := []struct {
		name string
		away time.Duration
		want llm.Finish // "" = still running
	}{
		{"back in time", 59 * time.Second, ""},
		{"too late", 61 * time.Second, llm.FinishCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStore(Config{})
				r, _ := s.Start("a", id, script(100*time.Millisecond, endless...))
				w := r.Watch(0, func() {})
				time.Sleep(90 * time.Second) // watched: no limit
				w.Close()
				w.Close() // twice does no harm
				time.Sleep(tt.away)
				w = r.Watch(0, func() {})
				time.Sleep(90 * time.Second)
				p := &page{t: t}
				frames, done := w.Frames()
				p.apply(frames)
				if done != (tt.want != "") || done && p.done.Finish != string(tt.want) {
					t.Errorf("done %v %v", done, p.done)
				}
				w.Close()
				closeStore(t, s)
			})
		})
	}
}

func TestFinishedRepliesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{MaxKept: 3, PerOwner: 100})
		for i := range 5 {
			if _, err := s.Start("a", fmt.Sprintf("a-reply-%d", i), script(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		known := func() (n int) {
			for i := range 5 {
				if _, ok := s.Find(fmt.Sprintf("a-reply-%d", i)); ok {
					n++
				}
			}
			return n
		}
		if n := known(); n != 3 {
			t.Errorf("%d replies are kept, want 3", n)
		}
		time.Sleep(5 * time.Minute)
		if n := known(); n != 0 {
			t.Errorf("%d replies are kept after 5 minutes", n)
		}
		closeStore(t, s)
	})
}

func TestStartRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{PerOwner: 2})
		long := words(1000, time.Second)
		start := func(owner, id string) error {
			_, err := s.Start(owner, id, script(time.Second, long...))
			return err
		}
		for _, id := range []string{"", "short", "has space in it", strings.Repeat("a", 65), "ümlaut-ümlaut"} {
			if err := start("a", id); fault.Of(err).Code != fault.CodeInvalid {
				t.Errorf("id %q: %v", id, err)
			}
		}
		refused := errors.New("refused")
		if _, err := s.Start("a", id, func(context.Context) (*llm.Stream, error) { return nil, refused }); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		if err := start("a", id); err != nil { // the refused one did not take the id
			t.Error(err)
		}
		if err := start("b", id); fault.Of(err).Code != fault.CodeInvalid {
			t.Errorf("a taken id: %v", err)
		}
		if err := start("a", id+"2"); err != nil {
			t.Error(err)
		}
		if err := start("a", id+"3"); fault.Of(err).Code != fault.CodeQueueFull {
			t.Errorf("the third at once: %v", err)
		}
		if err := start("b", id+"4"); err != nil {
			t.Errorf("another owner: %v", err)
		}
		r, _ := s.Find(id)
		r.Stop()
		synctest.Wait()
		if err := start("a", id+"5"); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		closeStore(t, s)
		if err := start("c", id+"6"); !errors.Is(err, llm.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestCloseGivesUpAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{})
		stream := llm.NewStream("r")
		_, err := s.Start("a", id, func(context.Context) (*llm.Stream, error) { return stream, nil })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		stream.Send(llm.Done{Finish: llm.FinishCancelled})
		closeStore(t, s)
	})
}

func TestDoneTellsTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{Verdict: func(o Outcome) string { return o.Answer + "|" + o.Error }})
		stream := llm.NewStream("r")
		stream.Send(llm.Delta{Text: "half", Tokens: 1})
		stream.Send(llm.Done{Finish: llm.FinishError, Err: fmt.Errorf("%w: secret", llm.ErrBackend)})
		r, _ := s.Start("a", id, func(context.Context) (*llm.Stream, error) { return stream, nil })
		p := &page{t: t}
		p.follow(r, all)
		if p.done.Finish != "error" || !strings.HasPrefix(p.done.HTML, "half|the model failed") || strings.Contains(p.done.Error, "secret") {
			t.Errorf("got %+v", p.done)
		}
		closeStore(t, s)
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Config{})
		if _, ok := s.Pace(); ok {
			t.Error("a pace without a reply")
		}
		var events []llm.Event
		for i := range 100 {
			events = append(events, llm.Delta{Text: "a ", Tokens: 1, At: time.Duration(i+1) * 200 * time.Millisecond})
		}
		if _, err := s.Start("a", id, script(200*time.Millisecond, events...)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if pace, ok := s.Pace(); !ok || pace < 4.9 || pace > 5.1 {
			t.Errorf("pace %.2f %v, want 5", pace, ok)
		}
		time.Sleep(time.Minute)
		if _, ok := s.Pace(); ok {
			t.Error("a pace after the reply")
		}
		closeStore(t, s)
	})
}

// Watchers come and go while text comes in; run with -race.
func TestManyWatchers(t *testing.T) {
	events := words(300, time.Millisecond)
	answer, _ := answerOf(events)
	s := NewStore(Config{Flush: time.Millisecond})
	r, err := s.Start("a", id, script(0, events...))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			p := &page{t: t}
			for p.done == nil {
				p.follow(r, 1+i)
				s.Pace()
			}
			p.check(answer)
		})
	}
	wg.Wait()
	closeStore(t, s)
}
