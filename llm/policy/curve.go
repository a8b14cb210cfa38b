package policy

import (
	"math"
	"time"
)

// MaxSlots is the largest number of streams a curve can be made for.
const MaxSlots = 256

// How a curve learns. Values are logarithms of seconds, so that a factor is a
// difference.
const (
	// recentSteps are remembered for each size; their median is what counts,
	// so that two of them may be wrong by any amount.
	recentSteps = 5
	// commonGain is the part of a deviation that is taken for all sizes: heat,
	// longer contexts and a busy neighbour slow all steps alike.
	commonGain = 0.1
	// ownGain is the part that is taken for this size alone. As long as a size
	// has been seen less than fullWeight times it is more, and the common part
	// less: what deviates is rather what is not known well.
	ownGain = 0.01
	// fullWeight is the number of steps from which on a size counts in full.
	fullWeight = 50
)

// Curve learns T(B), the time of a step with B streams and no prompt tokens,
// and the prefill speed.
//
// A size that was never seen is interpolated between its neighbours. Below the
// smallest size seen, that one's time is presumed. Above the largest, the curve
// goes on with its slope, the steeper of the last piece and the whole; when only
// one size B was seen, each further stream is presumed to cost T(B)/2B, with
// which batching just breaks even.
type Curve struct {
	common  float64   // what all sizes have in common, a logarithm
	sizes   []size    // of streams-1
	fit     []float64 // T in seconds of streams-1; empty while nothing is known
	blocks  []block   // scratch of refit
	steps   uint64
	prefill median // logarithm of tokens/s
}

// size is what is known of one number of streams.
type size struct {
	own      float64 // logarithm of seconds, less the common part
	recent   median  // likewise, one by one
	seen     uint64
	lastStep uint64 // number of the step that was the last of this size
}

// NewCurve returns a curve that knows nothing, for 1 to slots streams. More
// than MaxSlots are not learned.
func NewCurve(slots int) *Curve {
	slots = min(max(slots, 1), MaxSlots)
	return &Curve{sizes: make([]size, slots), fit: make([]float64, 0, slots), blocks: make([]block, 0, slots)}
}

// ObserveDecode takes the duration of a step that evaluated one token for each
// of so many streams and nothing else. Sizes outside of the curve and durations
// of 0 or less are ignored.
func (c *Curve) ObserveDecode(streams int, took time.Duration) {
	if streams < 1 || streams > len(c.sizes) || took <= 0 {
		return
	}
	c.steps++
	s := &c.sizes[streams-1]
	s.recent.add(math.Log(took.Seconds()) - c.common)
	s.seen++
	s.lastStep = c.steps
	if s.seen <= recentSteps {
		s.own = s.recent.value()
	} else {
		off := s.recent.value() - s.own
		common := commonGain * min(1, float64(s.seen)/fullWeight)
		c.common += common * off
		s.own += max(ownGain, 1/float64(s.seen)) * off
		s.recent.shift(-common * off)
	}
	c.refit()
}

// ObservePrefill takes the duration of a step that evaluated prompt tokens
// alone. Fewer than 8 tokens tell nothing and are ignored.
func (c *Curve) ObservePrefill(tokens int, took time.Duration) {
	if tokens < 8 || took <= 0 {
		return
	}
	c.prefill.add(math.Log(float64(tokens) / took.Seconds()))
}

// Step is T(streams); false if nothing is known. It never falls as streams
// grow.
func (c *Curve) Step(streams int) (time.Duration, bool) {
	s, ok := c.seconds(streams)
	return time.Duration(s * float64(time.Second)), ok
}

func (c *Curve) seconds(streams int) (float64, bool) {
	if len(c.fit) == 0 || streams < 1 {
		return 0, false
	}
	return c.fit[min(streams, len(c.fit))-1], true
}

// PrefillRate is how many prompt tokens are evaluated in a second; false if
// unknown.
func (c *Curve) PrefillRate() (float64, bool) {
	if c.prefill.n == 0 {
		return 0, false
	}
	return math.Exp(c.prefill.value()), true
}

// Observed is how many steps of so many streams were seen.
func (c *Curve) Observed(streams int) uint64 {
	if streams < 1 || streams > len(c.sizes) {
		return 0
	}
	return c.sizes[streams-1].seen
}

// Age is how many steps of any size were seen since the last one of so many
// streams.
func (c *Curve) Age(streams int) uint64 {
	if streams < 1 || streams > len(c.sizes) {
		return 0
	}
	return c.steps - c.sizes[streams-1].lastStep
}

// median remembers the last values. The zero value has none.
type median struct {
	values  [recentSteps]float64
	n, next int
}

func (m *median) add(v float64) {
	m.values[m.next] = v
	m.next = (m.next + 1) % recentSteps
	m.n = min(m.n+1, recentSteps)
}

func (m *median) shift(by float64) {
	for i := range m.values[:m.n] {
		m.values[i] += by
	}
}

// value is the middle one, the lower of two; 0 when there is none.
func (m *median) value() float64 {
	if m.n == 0 {
		return 0
	}
	sorted := m.values
	for i := 1; i < m.n; i++ {
		for j := i; j > 0 && sorted[j] < sorted[j-1]; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	return sorted[(m.n-1)/2]
}
