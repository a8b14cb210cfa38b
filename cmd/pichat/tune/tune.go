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

// Model is what can be measured; it must be idle.
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

// Measurement is what came of measuring.
type Measurement struct {
	Results []Result // in the order of Config.Counts
	// Taken is how many processors other processes used meanwhile; 0 where the
	// model is no llm.LoadMeter or the machine does not tell.
	Taken float64
	CPUs  int // processors there are; 0 where unknown
}

// tolerated is how many processors others may use without spoiling the result.
const tolerated = 0.3

// Spoilt is an error when others were too busy for the results to count.
func (m Measurement) Spoilt() error {
	if m.Taken <= tolerated {
		return nil
	}
	return fmt.Errorf("other processes took %.1f of %d processors meanwhile: measure again when they are done", m.Taken, m.CPUs)
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
	// Sequence is where tokens are kept meanwhile; it must be empty.
	Sequence int
	// Progress, when set, is called with the part that is done, 0..1.
	Progress func(done float64)
}

// Least and most tokens of a try. A prompt is one step, and those of a server
// are of such sizes.
const (
	fewestTokens, mostTokens = 3, 64
	shortPrompt, longPrompt  = 8, 128
)

// Counts are the numbers of threads worth trying up to the most.
func Counts(most int) []int {
	var counts []int
	for n := 1; n < most; n += 1 + n/4 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

// Measure tries all counts and leaves the model as it was. It takes the time of two tries more than Rounds x Counts, and ends
// early with ctx.
func Measure(ctx context.Context, m Model, c Config) (Measurement, error) {
	if c.Rounds == 0 {
		c.Rounds = 5
	}
	if c.Slice == 0 {
		c.Slice = 400 * time.Millisecond
	}
	decode, prefill := m.Threads()
	taken := meter(m)
	run, err := newRun(m, c.Sequence)
	if err == nil {
		err = run.rounds(ctx, c)
	}
	for _, undo := range []error{m.TrimSequence(c.Sequence, 0), m.SetThreads(decode, prefill)} {
		if err == nil {
			err = undo
		}
	}
	if err != nil {
		return Measurement{}, fmt.Errorf("measure threads: %w", err)
	}
	var out Measurement
	out.Taken, out.CPUs = taken()
	for _, n := range c.Counts {
		out.Results = append(out.Results, Result{n, spread(run.decode[n]), spread(run.prefill[n])})
	}
	return out, nil
}

// Quiet watches the machine for a while, without computing anything, and
// returns an error when others are too busy for a Measure to count.
func Quiet(ctx context.Context, m Model, watch time.Duration) error {
	taken := meter(m)
	select {
	case <-time.After(watch):
	case <-ctx.Done():
		return ctx.Err()
	}
	var seen Measurement
	seen.Taken, seen.CPUs = taken()
	return seen.Spoilt()
}

// meter begins to measure what other processes use of the machine.
func meter(m Model) (taken func() (processors float64, of int)) {
	meter, ok := m.(llm.LoadMeter)
	if !ok {
		return func() (float64, int) { return 0, 0 }
	}
	before, known := meter.CPULoad()
	began := time.Now()
	return func() (float64, int) {
		after, ok := meter.CPULoad()
		elapsed := time.Since(began)
		if !ok || !known || elapsed <= 0 {
			return 0, 0
		}
		theirs := elapsed*time.Duration(after.CPUs) - (after.Idle - before.Idle) - (after.Process - before.Process)
		return theirs.Seconds() / elapsed.Seconds(), after.CPUs
	}
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
