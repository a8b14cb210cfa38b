package llm

import (
	"time"

	"pichat/llm/policy"
)

// Chunk sizes, in prompt tokens.
const (
	minChunk = 8
	// firstChunk is used until a prefill speed has been measured: about half
	// a second on a Raspberry Pi 4 with a 1B model.
	firstChunk = 32
)

// estimate is how long n prompt tokens will take; 0 when unknown.
func estimate(c *policy.Curve, n int) time.Duration {
	rate, known := c.PrefillRate()
	if !known {
		return 0
	}
	return time.Duration(float64(n) / rate * float64(time.Second))
}

// chunk is how many prompt tokens fit into a time, between minChunk and limit.
// Multiples of 16 beyond that suit the matrix kernels.
func chunk(c *policy.Curve, within time.Duration, limit int) int {
	rate, known := c.PrefillRate()
	if !known {
		return min(firstChunk, limit)
	}
	n := int(rate * within.Seconds())
	if n > 16 {
		n -= n % 16
	}
	return min(max(n, minChunk), limit)
}
