package llm

import "time"

// Timings are the measures of one reply, taken by the engine from a monotonic
// clock. All durations but Queue, Prefill and E2E count from the request's
// arrival. See docs/glossary.md for the words.
type Timings struct {
	PromptTokens int // tokens of the rendered prompt
	CachedTokens int // of these, kept from before and not evaluated again
	// ThoughtTokens is how many of the reply's tokens, its first ones, were
	// reasoning and not answer.
	ThoughtTokens int
	Queue         time.Duration // accepted until a slot began the prefill
	Prefill       time.Duration // prefill begun until its last token was evaluated
	E2E           time.Duration // arrival until the reply's last token, or its end when it has none
	// Arrivals is when each token of the reply left the scheduler, reasoning
	// included, in order. Its length n is the number of tokens sampled; an
	// end-of-generation token, which has no text, is not one of them.
	Arrivals []time.Duration
}

// Tokens returns n, the number of tokens in the reply.
func (t Timings) Tokens() int { return len(t.Arrivals) }

// Answer returns the arrivals of the answer's tokens, reasoning left out.
func (t Timings) Answer() []time.Duration { return t.Arrivals[t.ThoughtTokens:] }

// TTFT is the time to first token, queue wait included; false without one.
func (t Timings) TTFT() (time.Duration, bool) {
	if len(t.Arrivals) == 0 {
		return 0, false
	}
	return t.Arrivals[0], true
}

// FirstAnswer is the time to the first answer token; false without one.
func (t Timings) FirstAnswer() (time.Duration, bool) {
	a := t.Answer()
	if len(a) == 0 {
		return 0, false
	}
	return a[0], true
}

// TPS is the reply's tokens/s, (n-1)/(last-first). It is undefined, and false,
// for n < 2 or when all came in one instant. TTFT is not in it.
func (t Timings) TPS() (float64, bool) {
	n := len(t.Arrivals)
	if n < 2 || t.Arrivals[n-1] <= t.Arrivals[0] {
		return 0, false
	}
	return float64(n-1) / (t.Arrivals[n-1] - t.Arrivals[0]).Seconds(), true
}

// TPOT is the time per output token after the first; undefined for n < 2.
func (t Timings) TPOT() (time.Duration, bool) {
	n := len(t.Arrivals)
	if n < 2 {
		return 0, false
	}
	return (t.Arrivals[n-1] - t.Arrivals[0]) / time.Duration(n-1), true
}

// PrefillSpeed is the prompt tokens/s of what was evaluated; false when
// everything was cached or it took no time.
func (t Timings) PrefillSpeed() (float64, bool) {
	n := t.PromptTokens - t.CachedTokens
	if n <= 0 || t.Prefill <= 0 {
		return 0, false
	}
	return float64(n) / t.Prefill.Seconds(), true
}
