// Package tune measures with how many threads a model decodes and reads
// prompts fastest on this machine, and remembers the choice.
//
// More threads are not always faster: where memory is the limit, as for decode
// on small boards, those beyond two or three only wait. The counts are tried
// in turn, round by round, so that heat and other disturbances meet all alike.
package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pichat/llm"
)

// Model is what can be measured; it must be idle, and its sequence 0 empty.
type Model interface {
	llm.Backend
	llm.ThreadSetter
}

// Spread is a speed over several rounds, in tokens/s.
type Spread struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// Result is what a number of threads is worth.
type Result struct {
	Threads int    `json:"threads"`
	Decode  Spread `json:"decode_tps"`
	Prefill Spread `json:"prefill_tps"`
}

// Config says how thoroughly to measure.
type Config struct {
	// Counts are the numbers of threads to try, all within what the model was
	// loaded with.
	Counts []int
	// Rounds is how often each is tried; 0 means 5.
	Rounds int
	// Slice is about how long one try takes, for each of decode and prefill;
	// 0 means 400 ms. Steps are never cut, so a slow board takes longer.
	Slice time.Duration
	// Progress, when set, is called with the part that is done, 0..1.
	Progress func(done float64)
}

// Least and most tokens of a try. A prompt is one step, and those of a server
// are of such sizes.
const (
	fewestTokens, mostTokens = 4, 64
	shortPrompt, longPrompt  = 16, 128
)

// Counts are the numbers of threads worth trying up to the most.
func Counts(most int) []int {
	var counts []int
	for n := 1; n < most; n += 1 + n/4 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

// Measure tries all counts and leaves the model as it was, with sequence 0
// empty. It takes the time of two tries more than Rounds x Counts, and ends
// early with ctx.
func Measure(ctx context.Context, m Model, c Config) ([]Result, error) {
	if c.Rounds == 0 {
		c.Rounds = 5
	}
	if c.Slice == 0 {
		c.Slice = 400 * time.Millisecond
	}
	decode, prefill := m.Threads()
	run, err := newRun(m)
	if err == nil {
		err = run.rounds(ctx, c)
	}
	for _, undo := range []error{m.TrimSequence(0, 0), m.SetThreads(decode, prefill)} {
		if err == nil {
			err = undo
		}
	}
	if err != nil {
		return nil, fmt.Errorf("measure threads: %w", err)
	}
	var results []Result
	for _, n := range c.Counts {
		results = append(results, Result{n, spread(run.decode[n]), spread(run.prefill[n])})
	}
	return results, nil
}

func spread(speeds []float64) Spread {
	s := slices.Sorted(slices.Values(speeds))
	return Spread{Low: s[0], Median: s[len(s)/2], High: s[len(s)-1]}
}

// near is how close to the best a speed counts as equal: fewer threads then
// leave processors to others.
const near = 0.97

// Choose takes the fewest threads that are as good as the best, for decode and
// for prefill. There must be a result.
func Choose(results []Result) (decode, prefill int) {
	fewest := func(speed func(Result) float64) int {
		best := 0.0
		for _, r := range results {
			best = max(best, speed(r))
		}
		fewest := 0
		for _, r := range results {
			if speed(r) >= near*best && (fewest == 0 || r.Threads < fewest) {
				fewest = r.Threads
			}
		}
		return fewest
	}
	return fewest(func(r Result) float64 { return r.Decode.Median }),
		fewest(func(r Result) float64 { return r.Prefill.Median })
}
