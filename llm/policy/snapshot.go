package policy

import (
	"fmt"
	"math"
)

// Snapshot is what a Curve has learned, to be kept as JSON.
type Snapshot struct {
	Sizes []SizeSnapshot `json:"sizes"`
	// PrefillTokensPerSecond is 0 when unknown.
	PrefillTokensPerSecond float64 `json:"prefill_tokens_per_second,omitempty"`
}

// SizeSnapshot is one measured point of T(B).
type SizeSnapshot struct {
	Streams int     `json:"streams"`
	Seconds float64 `json:"seconds"`
	Steps   uint64  `json:"steps"`
}

// longestStep and fastestPrefill are beyond anything a machine does.
const (
	longestStep    = 3600.0 // seconds
	fastestPrefill = 1e9    // tokens/s
)

// Snapshot returns what has been learned.
func (c *Curve) Snapshot() Snapshot {
	var s Snapshot
	for i := range c.sizes {
		if size := &c.sizes[i]; size.seen > 0 {
			s.Sizes = append(s.Sizes, SizeSnapshot{Streams: i + 1, Seconds: math.Exp(c.common + size.own), Steps: size.seen})
		}
	}
	if rate, ok := c.PrefillRate(); ok {
		s.PrefillTokensPerSecond = rate
	}
	return s
}

// Restore replaces what has been learned by a snapshot. Sizes beyond the
// curve's slots are left out, since their number may have been changed. An
// invalid snapshot is refused whole and changes nothing.
func (c *Curve) Restore(s Snapshot) error {
	if err := s.validate(); err != nil {
		return err
	}
	clear(c.sizes)
	c.common, c.steps, c.prefill = 0, 0, median{}
	for _, p := range s.Sizes {
		if p.Streams > len(c.sizes) {
			break
		}
		size := &c.sizes[p.Streams-1]
		size.own, size.seen = math.Log(p.Seconds), p.Steps
		for range recentSteps { // else the first step after a start, often a slow one, would count alone
			size.recent.add(size.own)
		}
	}
	if s.PrefillTokensPerSecond > 0 {
		for range recentSteps {
			c.prefill.add(math.Log(s.PrefillTokensPerSecond))
		}
	}
	c.refit()
	return nil
}

func (s Snapshot) validate() error {
	if len(s.Sizes) > MaxSlots {
		return fmt.Errorf("restoring the learned speeds: %d sizes: at most %d can be", len(s.Sizes), MaxSlots)
	}
	before := 0
	for _, p := range s.Sizes {
		switch {
		case p.Streams <= before || p.Streams > MaxSlots:
			return fmt.Errorf("restoring the learned speeds: %d streams after %d: they must grow, to %d at most", p.Streams, before, MaxSlots)
		case !(p.Seconds >= 1e-9 && p.Seconds <= longestStep):
			return fmt.Errorf("restoring the learned speeds: a step of %v s with %d streams: it must be above 0 and at most %v", p.Seconds, p.Streams, longestStep)
		case p.Steps == 0:
			return fmt.Errorf("restoring the learned speeds: no steps seen with %d streams: leave the size out", p.Streams)
		}
		before = p.Streams
	}
	if r := s.PrefillTokensPerSecond; r != 0 && !(r >= 1e-9 && r <= fastestPrefill) {
		return fmt.Errorf("restoring the learned speeds: a prefill of %v tokens/s: it must be above 0 and at most %v", r, fastestPrefill)
	}
	return nil
}
