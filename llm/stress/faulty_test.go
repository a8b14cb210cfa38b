package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pichat/llm"
	"pichat/llm/fakellm"
)

// errInjected marks the failures that faulty makes up.
var errInjected = fmt.Errorf("%w: made up", llm.ErrBackend)

// faulty is a scripted backend on which everything fails now and then. Before
// each step it checks what must hold between steps.
type faulty struct {
	*fakellm.Backend
	t    *testing.T
	rng  *rand.Rand // of the engine's goroutine
	rate float64    // part of the calls that fail

	status              func() llm.Status
	steps, faults, late int
}

func (f *faulty) fails() bool {
	if f.rng.Float64() >= f.rate {
		return false
	}
	f.faults++
	return true
}

// Evaluate fails with nothing kept, with half of the batch kept, or is late.
func (f *faulty) Evaluate(ctx context.Context, b *llm.Batch) error {
	f.steps++
	f.check()
	switch {
	case f.fails():
		return errInjected
	case f.fails():
		half := llm.Batch{Prefill: b.Prefill}
		for i := range b.Len() / 2 {
			half.Add(b.Tokens[i], int(b.Positions[i]), int(b.Sequences[i]), b.Output[i] != 0)
		}
		if half.Len() > 0 {
			if err := f.Backend.Evaluate(ctx, &half); err != nil {
				return err
			}
		}
		return errInjected
	case f.fails():
		f.late++
		<-time.After(3 * time.Second)
	}
	return f.Backend.Evaluate(ctx, b)
}

func (f *faulty) TrimSequence(seq, from int) error {
	if from > 0 && f.fails() {
		return errInjected
	}
	return f.Backend.TrimSequence(seq, from)
}

func (f *faulty) CopySequence(from, to, n int) error {
	if f.fails() {
		return errInjected
	}
	return f.Backend.CopySequence(from, to, n)
}

func (f *faulty) NewSampler(s llm.Sampling, recent []llm.Token) (llm.Sampler, error) {
	if f.fails() {
		return nil, errInjected
	}
	inner, err := f.Backend.NewSampler(s, recent)
	if err != nil {
		return nil, err
	}
	return &faultySampler{inner, f}, nil
}

type faultySampler struct {
	llm.Sampler
	f *faulty
}

func (s *faultySampler) Sample(i int) (llm.Token, error) {
	if s.f.rng.Float64() < s.f.rate/10 { // there are many more samples than requests
		s.f.faults++
		return 0, errInjected
	}
	return s.Sampler.Sample(i)
}

// check looks at what must hold whenever a step begins.
func (f *faulty) check() {
	info, counters, st := f.Info(), f.Counters(), f.status()
	total := 0
	for seq := range info.Slots {
		total += len(f.SequenceTokens(seq))
	}
	switch {
	case st.Running < 1 || st.Running > info.Slots:
		f.t.Errorf("step %d: %d of %d slots run", f.steps, st.Running, info.Slots)
	case counters.OpenSamplers > info.Slots:
		f.t.Errorf("step %d: %d samplers are open for %d slots", f.steps, counters.OpenSamplers, info.Slots)
	case counters.Refusals > 0:
		f.t.Fatalf("step %d: the engine made a batch that the backend refuses", f.steps)
	case total > info.Slots*info.Window:
		f.t.Errorf("step %d: %d cells are in use, %d slots of %d hold %d", f.steps, total, info.Slots, info.Window, info.Slots*info.Window)
	}
}

// named tells whether a request may end so: every end has a name.
func named(done llm.Done) error {
	switch done.Finish {
	case llm.FinishStop, llm.FinishLength, llm.FinishWindow, llm.FinishCancelled:
		if done.Err != nil {
			return fmt.Errorf("finish %s with the error %w", done.Finish, done.Err)
		}
	case llm.FinishError:
		for _, known := range []error{llm.ErrBackend, llm.ErrSlowReader, llm.ErrClosed} {
			if errors.Is(done.Err, known) {
				return nil
			}
		}
		return fmt.Errorf("an error without a name: %w", done.Err)
	default:
		return fmt.Errorf("finish %q", done.Finish)
	}
	return nil
}
