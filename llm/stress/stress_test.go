package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm"
	"pichat/llm/fakellm"
)

// Clients come and go at random, some do not read, some want to be alone, and
// one call in fifty fails. Every reply is the echo of its own question, so that
// a mixed-up memory would show as another one's text.
func TestStress(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config fakellm.Config
		rate   float64
	}{
		{"faults", fakellm.Config{}, 0.02},
		{"no faults", fakellm.Config{}, 0},
		{"sliding window", fakellm.Config{SlidingWindow: 64}, 0.02},
		{"recurrent", fakellm.Config{Recurrent: true}, 0.02},
		{"interrupted batches half kept", fakellm.Config{Faults: fakellm.Faults{KeepInterrupted: true}}, 0.02},
		{"one slot", fakellm.Config{Slots: 1}, 0.02},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newTrial(t, tt.config, tt.rate).run() })
		})
	}
}

// trial is one run of many clients against one engine.
type trial struct {
	t       *testing.T
	backend *faulty
	engine  *llm.Engine

	asked, refused, cancelled, failed, whole atomic.Int64
}

const (
	clients   = 24
	questions = 40 // of each client
)

func newTrial(t *testing.T, c fakellm.Config, rate float64) *trial {
	if c.Slots == 0 {
		c.Slots = 4
	}
	c.Window, c.BatchTokens = 512, 128
	c.Script = fakellm.Echo
	c.Pace, c.PrefillSpeed, c.Jitter = 50, 300, 0.5
	b := &faulty{Backend: fakellm.New(c), t: t, rng: rand.New(rand.NewPCG(1, 2)), rate: rate}
	e := llm.NewEngine(llm.EngineConfig{Backend: b, Template: fakellm.Template{}, QueueLimit: 12, SlowReader: 10 * time.Second, IdleTokens: 300})
	b.status = e.Status
	return &trial{t: t, backend: b, engine: e}
}

func (tr *trial) run() {
	ctx, end := context.WithCancel(context.Background())
	var engine, all sync.WaitGroup
	engine.Go(func() { _ = tr.engine.Run(ctx) })
	everyone, vanish := context.WithCancel(context.Background())
	for c := range clients {
		all.Go(func() { tr.client(everyone, rand.New(rand.NewPCG(uint64(c), 7)), c) })
	}
	all.Go(func() { // all clients go in the same instant, and come back
		<-time.After(5 * time.Minute)
		vanish()
	})
	all.Wait()
	synctest.Wait()
	st, counters := tr.engine.Status(), tr.backend.Counters()
	if st.Running != 0 || st.Waiting != 0 || counters.OpenSamplers != 0 {
		tr.t.Errorf("at the end %d run, %d wait, %d samplers are open", st.Running, st.Waiting, counters.OpenSamplers)
	}
	if st.KVTokens > 300 {
		tr.t.Errorf("at the end the slots keep %d tokens, 300 are allowed", st.KVTokens)
	}
	end()
	engine.Wait()
	tr.t.Logf("%d steps, %d requests: %d whole, %d cancelled, %d refused, %d failed; %d injected faults, %d late steps, %d interruptions, %d copies",
		tr.backend.steps, tr.asked.Load(), tr.whole.Load(), tr.cancelled.Load(), tr.refused.Load(), tr.failed.Load(),
		tr.backend.faults, tr.backend.late, counters.Interrupts, counters.Copies)
	if tr.whole.Load() == 0 || tr.cancelled.Load() == 0 || tr.backend.rate > 0 && tr.failed.Load() == 0 {
		tr.t.Error("not all kinds of ends were tried")
	}
}

// client asks its questions one after the other; once everyone has vanished it
// asks the rest anew.
func (tr *trial) client(everyone context.Context, rng *rand.Rand, number int) {
	for q := range questions {
		<-time.After(time.Duration(rng.ExpFloat64() * float64(4*time.Second)))
		ctx := everyone
		if ctx.Err() != nil {
			ctx = context.Background()
		}
		tr.ask(ctx, rng, fmt.Sprintf("client %d question %d", number, q))
	}
}

func (tr *trial) ask(ctx context.Context, rng *rand.Rand, name string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question := name + strings.Repeat(" word", rng.IntN(60))
	r := llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: strings.Repeat("Be brief. ", 3*rng.IntN(3))},
			{Role: llm.RoleUser, Content: question},
		},
		Exclusive: rng.IntN(20) == 0,
	}
	if rng.IntN(4) == 0 {
		r.MaxTokens = 1 + rng.IntN(20)
	}
	tr.asked.Add(1)
	stream, err := tr.engine.Generate(ctx, r)
	if err != nil {
		tr.refuse(err)
		return
	}
	if rng.IntN(3) == 0 {
		defer context.AfterFunc(ctx, func() {})()
		timer := time.AfterFunc(time.Duration(rng.ExpFloat64()*float64(time.Second)), cancel)
		defer timer.Stop()
	}
	if rng.IntN(25) == 0 {
		<-time.After(30 * time.Second) // does not read
	}
	tr.read(stream, question, name)
}

func (tr *trial) refuse(err error) {
	if !errors.Is(err, llm.ErrQueueFull) && !errors.Is(err, context.Canceled) {
		tr.t.Errorf("refused: %v", err)
	}
	tr.refused.Add(1)
}

// read takes a stream to its end, which comes, and checks its text.
func (tr *trial) read(stream *llm.Stream, question, name string) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	var text strings.Builder
	for {
		events, err := stream.Next(ctx)
		if err != nil {
			tr.t.Errorf("%s hangs: %v", name, err)
			return
		}
		for _, e := range events {
			switch e := e.(type) {
			case llm.Delta:
				text.WriteString(e.Text)
			case llm.Done:
				tr.finished(e, text.String(), question, name)
				return
			}
		}
	}
}

func (tr *trial) finished(done llm.Done, text, question, name string) {
	if err := named(done); err != nil {
		tr.t.Errorf("%s: %v", name, err)
	}
	if !strings.HasPrefix(question, text) || done.Finish == llm.FinishStop && text != question {
		tr.t.Errorf("%s ended with %s and the text %q", name, done.Finish, text)
	}
	switch done.Finish {
	case llm.FinishCancelled:
		tr.cancelled.Add(1)
	case llm.FinishError:
		tr.failed.Add(1)
	default:
		tr.whole.Add(1)
	}
}

// A thousand requests in one instant: as many as there are places are served,
// the rest are refused at once.
func TestThousandAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t, fakellm.Config{}, 0)
		ctx, end := context.WithCancel(context.Background())
		var engine, all sync.WaitGroup
		engine.Go(func() { _ = tr.engine.Run(ctx) })
		for i := range 1000 {
			all.Go(func() {
				name := fmt.Sprintf("request %d", i)
				tr.asked.Add(1)
				s, err := tr.engine.Generate(context.Background(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: name}}})
				if err != nil {
					tr.refuse(err)
					return
				}
				tr.read(s, name, name)
			})
		}
		all.Wait()
		if tr.whole.Load() != 16 || tr.refused.Load() != 984 {
			t.Errorf("%d were served and %d refused, want 16 (4 slots, 12 places) and 984", tr.whole.Load(), tr.refused.Load())
		}
		end()
		engine.Wait()
	})
}
