package llm

import "time"

// Chunk sizes, in prompt tokens.
const (
	minChunk = 8
	// firstChunk is used until a prefill speed has been measured: about half
	// a second on a Raspberry Pi 4 with a 1B model.
	firstChunk = 32
)

// speed learns a rate in tokens/s as an exponential average that a few
// samples outweigh. The zero value knows nothing.
type speed struct{ tokensPerSecond float64 }

func (s *speed) observe(tokens int, took time.Duration) {
	if tokens < minChunk || took <= 0 {
		return // too little to tell the rate from the fixed cost of a step
	}
	rate := float64(tokens) / took.Seconds()
	if s.tokensPerSecond == 0 {
		s.tokensPerSecond = rate
		return
	}
	s.tokensPerSecond += 0.3 * (rate - s.tokensPerSecond)
}

// estimate is how long n tokens will take; 0 when unknown.
func (s *speed) estimate(n int) time.Duration {
	if s.tokensPerSecond == 0 {
		return 0
	}
	return time.Duration(float64(n) / s.tokensPerSecond * float64(time.Second))
}

// chunk is how many tokens fit into a time, between minChunk and limit.
// Multiples of 16 beyond that suit the matrix kernels.
func (s *speed) chunk(within time.Duration, limit int) int {
	if s.tokensPerSecond == 0 {
		return min(firstChunk, limit)
	}
	n := int(s.tokensPerSecond * within.Seconds())
	if n > 16 {
		n -= n % 16
	}
	return min(max(n, minChunk), limit)
}

// average learns a duration; the zero value knows nothing.
type average struct{ value time.Duration }

func (a *average) observe(d time.Duration) {
	if a.value == 0 {
		a.value = d
		return
	}
	a.value += (d - a.value) * 3 / 10
}
