// Package reader answers the product's one question: does the text keep ahead
// of the person who reads it?
//
// A reader starts with the first answer token, at a_1, and reads r tokens/s.
// Token i arrives at a_i. All functions take the arrivals [n] of the answer's
// tokens in order, from one monotonic clock; they are pure and may be called
// from any goroutine.
package reader

import (
	"math"
	"time"
)

// Paces of readers, tokens/s of English.
const (
	// Target is slightly faster than most people read.
	Target = 11.0
	// Average is silent reading at 238 words/min (Brysbaert 2019, "How many
	// words do we read per minute?"), at about 1.3 tokens a word.
	Average = 5.2
)

// Patience is how long a reader may wait in all before a pace no longer
// counts as kept.
const Patience = 500 * time.Millisecond

// MinTokens is the length of answer below which a pace says nothing: only the
// time to answer is given.
const MinTokens = 20

// Wait is W(r): how long a reader of pace tokens/s waits in all after the
// first token, max over i of a_i - a_1 - (i-1)/r, at least 0. A pace that is
// not positive waits 0.
func Wait(arrivals []time.Duration, pace float64) time.Duration {
	if pace <= 0 {
		return 0
	}
	var wait time.Duration
	for i, a := range arrivals {
		read := time.Duration(float64(i) / pace * float64(time.Second))
		wait = max(wait, a-arrivals[0]-read)
	}
	return wait
}

// Sustained is r*: the pace of the fastest reader who waits at most patience
// in all, min of (i-1)/(a_i - a_1 - patience) over those i whose gap exceeds
// patience. It is false when the whole answer came within patience (faster
// than can be told) and when there are fewer than two tokens.
func Sustained(arrivals []time.Duration, patience time.Duration) (float64, bool) {
	pace, bounded := math.Inf(1), false
	for i, a := range arrivals {
		late := a - arrivals[0] - patience
		if late <= 0 {
			continue
		}
		bounded = true
		pace = min(pace, float64(i)/late.Seconds())
	}
	if !bounded {
		return 0, false
	}
	return pace, true
}

// KeepsAhead is the verdict for a pace: the reader waits at most patience.
func KeepsAhead(arrivals []time.Duration, pace float64, patience time.Duration) bool {
	return Wait(arrivals, pace) <= patience
}

// Stalls says how often a reader had to wait and how long at most.
type Stalls struct {
	Count   int
	Longest time.Duration
}

// StallsAt finds the single waits of a reader of pace tokens/s:
// s_1 = a_1, s_i = max(a_i, s_(i-1) + 1/r), stall_i = a_i - s_(i-1) - 1/r
// where positive.
func StallsAt(arrivals []time.Duration, pace float64) Stalls {
	var stalls Stalls
	if pace <= 0 || len(arrivals) == 0 {
		return stalls
	}
	step := time.Duration(float64(time.Second) / pace)
	read := arrivals[0]
	for _, a := range arrivals[1:] {
		due := read + step
		if stall := a - due; stall > 0 {
			stalls.Count++
			stalls.Longest = max(stalls.Longest, stall)
		}
		read = max(a, due)
	}
	return stalls
}

// Projected is how long an n-token answer at a steady rate makes a reader of
// pace tokens/s wait: (n-1)(1/rate - 1/pace), 0 when the rate keeps up. It is
// a projection, to be named as one.
func Projected(n int, rate, pace float64) time.Duration {
	if n < 2 || rate <= 0 || pace <= 0 || rate >= pace {
		return 0
	}
	return time.Duration(float64(n-1) * (1/rate - 1/pace) * float64(time.Second))
}

// Buffered reports whether the arrivals look as if something on the way had
// held the text back and let it go at once: at least MinTokens tokens, nine
// tenths of them without any gap. No rate can be told then.
func Buffered(arrivals []time.Duration) bool {
	if len(arrivals) < MinTokens {
		return false
	}
	same := 0
	for i := 1; i < len(arrivals); i++ {
		if arrivals[i]-arrivals[i-1] < 100*time.Microsecond {
			same++
		}
	}
	return same*10 >= 9*(len(arrivals)-1)
}
