package tune

import (
	"context"
	"fmt"
	"time"

	"pichat/llm"
)

// run is one call of Measure.
type run struct {
	model           Model
	sequence        int
	prompt          []llm.Token // at most longPrompt
	read, write     int         // tokens of a try
	decode, prefill map[int][]float64
}

// sentence is read again and again; what it says does not matter for speed.
const sentence = "The river rose in the night, and by morning the lower road was gone. "

func newRun(m Model, sequence int) (*run, error) {
	r := &run{model: m, sequence: sequence, decode: map[int][]float64{}, prefill: map[int][]float64{}}
	info := m.Info()
	most := min(longPrompt, info.BatchTokens, info.Window-mostTokens)
	if most < shortPrompt {
		return nil, fmt.Errorf("a window of %d tokens and steps of %d are too small: %d and %d are needed",
			info.Window, info.BatchTokens, mostTokens+shortPrompt, shortPrompt)
	}
	for len(r.prompt) < most {
		tokens, err := m.Tokenize(llm.Text{Parts: []string{sentence}})
		if err != nil {
			return nil, err
		}
		if len(tokens) == 0 {
			return nil, fmt.Errorf("the vocabulary makes no tokens of a plain sentence")
		}
		r.prompt = append(r.prompt, tokens...)
	}
	r.prompt = r.prompt[:most]
	return r, nil
}

// rounds tries all counts in turn, after a short try with most threads that
// warms up and tells how much fits into a slice.
func (r *run) rounds(ctx context.Context, c Config) error {
	most := c.Counts[len(c.Counts)-1]
	r.read, r.write = shortPrompt, fewestTokens
	for range 2 { // the first touches memory that was never used
		if err := r.try(ctx, most); err != nil {
			return err
		}
	}
	last := func(speeds []float64) float64 { return speeds[len(speeds)-1] }
	fit := func(speed float64, least, most int) int {
		return min(max(int(speed*c.Slice.Seconds()), least), most)
	}
	r.read = fit(last(r.prefill[most]), shortPrompt, len(r.prompt))
	r.write = fit(last(r.decode[most]), fewestTokens, mostTokens)
	clear(r.decode)
	clear(r.prefill)
	for round := range c.Rounds {
		for i := range c.Counts {
			if c.Progress != nil {
				c.Progress(float64(round*len(c.Counts)+i) / float64(c.Rounds*len(c.Counts)))
			}
			// Each round begins with another count.
			if err := r.try(ctx, c.Counts[(i+round)%len(c.Counts)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// try reads a prompt and writes some tokens with n threads.
func (r *run) try(ctx context.Context, n int) error {
	if err := r.model.SetThreads(n, n); err != nil {
		return err
	}
	if err := r.model.TrimSequence(r.sequence, 0); err != nil {
		return err
	}
	sampler, err := r.model.NewSampler(llm.Sampling{}, nil)
	if err != nil {
		return err
	}
	defer sampler.Close()

	batch := llm.Batch{Prefill: true}
	output := -1
	for i, t := range r.prompt[:r.read] {
		output = batch.Add(t, i, r.sequence, i == r.read-1)
	}
	begin := time.Now()
	if err := r.model.Evaluate(ctx, &batch); err != nil {
		return err
	}
	r.prefill[n] = append(r.prefill[n], float64(r.read)/time.Since(begin).Seconds())

	begin = time.Now()
	for i := range r.write {
		token, err := sampler.Sample(output)
		if err != nil {
			return err
		}
		batch.Reset()
		output = batch.Add(token, r.read+i, r.sequence, true)
		if err := r.model.Evaluate(ctx, &batch); err != nil {
			return err
		}
	}
	r.decode[n] = append(r.decode[n], float64(r.write)/time.Since(begin).Seconds())
	return nil
}
