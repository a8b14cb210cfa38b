package sim

import (
	"math/rand/v2"
	"time"

	"pichat/llm/policy"
)

// Contender is a policy to be tried.
type Contender struct {
	Name string
	// Fixed policies stand as they are; nil stands for Adaptive.
	Fixed policy.Policy
	// Delay is how long the fixed policy holds at most; it is asked again then.
	Delay time.Duration
	// MaxWait is how long a predicted wait Adaptive accepts; 0 is any.
	MaxWait time.Duration
	// Floor is Adaptive's, in tokens/s; 0 is none.
	Floor float64
}

// Scenario is one run of a contender.
type Scenario struct {
	Curve   Curve
	Traffic Traffic
	Load    float64 // in parts of Capacity
	During  time.Duration
	WarmUp  time.Duration // requests that arrive before it are not counted
	Seed    uint64
}

// Pace is the reader's, and Limit the time to the first token, that goodput is
// counted by.
const (
	Pace  = 11.0
	Limit = 2 * time.Second
)

// newEngine is an idle machine with a contender's policy.
func newEngine(s Scenario, c Contender) *engine {
	e := &engine{curve: s.Curve, policy: c.Fixed, noise: usualNoise, random: rand.New(rand.NewPCG(s.Seed, 3))}
	if c.Fixed != nil {
		return e
	}
	e.learned = policy.NewCurve(s.Curve.Slots())
	a, err := policy.NewAdaptive(policy.Config{Slots: s.Curve.Slots(), Pace: Pace, TTFT: Limit, StallBudget: stallBudget, MaxWait: c.MaxWait, Floor: c.Floor}, e.learned)
	if err != nil {
		panic(err) // the curve has no sizes
	}
	e.adaptive, e.policy = a, a
	return e
}

// Run plays a scenario with a contender. It panics if the curve is empty.
func Run(s Scenario, c Contender) Result {
	e := newEngine(s, c)
	result := Result{Scenario: s, Contender: c}
	counted := func(arrival time.Duration) bool { return arrival >= s.WarmUp && arrival < s.During }
	end := func(o outcome) {
		if counted(o.arrival) {
			result.add(o, e.now)
		}
	}
	// Traffic goes on until those that count have ended, or three times as long.
	requests := s.Traffic.arrivals(s.Seed, s.Load*Capacity(s.Curve), 3*s.During)
	total := 0
	for _, r := range requests {
		if counted(r.arrival) {
			total++
		}
	}
	for next := 0; ; {
		for next < len(requests) && requests[next].arrival <= e.now {
			e.arrive(requests[next], end)
			next++
		}
		if result.N() == total || e.now >= 3*s.During {
			break
		}
		e.admit()
		if e.step(end) {
			continue
		}
		until := 3 * s.During
		if next < len(requests) {
			until = requests[next].arrival
		}
		if len(e.waiting) > 0 && c.Delay > 0 {
			until = min(until, max(e.waiting[0].arrival+c.Delay, e.now+1))
			e.changed = true
		}
		e.now = until
	}
	for _, o := range e.waiting {
		end(o)
	}
	for i := range e.slots {
		end(e.slots[i].outcome)
	}
	result.finish(e)
	return result
}

// BestStreams is the number of streams that a machine should run at most: the
// largest that keeps the pace, or, where not even one does, the one with the
// most tokens/s in all.
func BestStreams(c Curve) int {
	best := 1
	for b := 2; b <= c.Slots(); b++ {
		if 1/c.StepSeconds[0] < Pace {
			if c.Gain(b) > c.Gain(best) {
				best = b
			}
		} else if 1/c.StepSeconds[b-1] >= Pace {
			best = b
		}
	}
	return best
}

// Capacity is how many requests/s a machine answers while BestStreams run all
// the time: one over the time of the mean prompt, read beside them, and their
// share of the steps of the mean reply. It is the 1.0 of the loads.
func Capacity(c Curve) float64 {
	b := BestStreams(c)
	prefill := c.SharedPrefillTokensPerSecond
	if b == 1 {
		prefill = c.PrefillTokensPerSecond
	}
	return 1 / (meanPrompt/prefill + meanReply*c.StepSeconds[b-1]/float64(b))
}
