package policy

import (
	"fmt"
	"time"
)

// Config sets an Adaptive policy. Slots is needed; the rest has defaults.
type Config struct {
	// Slots is how many requests can run at once.
	Slots int
	// Pace is the reader's speed in tokens/s that every stream should keep;
	// 0 means 11.
	Pace float64
	// Floor is the pace in tokens/s that streams may be slowed to for the sake
	// of a request whose first token could not come within TTFT if it waited
	// for one of them to end; 0 means that they are not. 5.2 is an average
	// reader's.
	Floor float64
	// Patience is how long the reader may wait in all over a reply of Reply
	// tokens, which is what a pace just below Pace costs; 0 means 0.5 s.
	Patience time.Duration
	// TTFT is how soon the first token should come; 0 means 2 s.
	TTFT time.Duration
	// StallBudget is how long a prompt may hold up running streams in one
	// step; 0 means 2/11 s. It should be the engine's.
	StallBudget time.Duration
	// MaxWait refuses requests that would wait longer for their start; 0
	// refuses none.
	MaxWait time.Duration
	// MaxPass is how much later a shorter prompt may come and still go first;
	// 0 means 5 s. It also bounds how long others go before an exclusive
	// request that came earlier.
	MaxPass time.Duration
	// ClientQueue is how many requests of one client may wait; 0 means any
	// number.
	ClientQueue int
	// Reply is the expected length of a reply in tokens where a request does
	// not know better; 0 means 200.
	Reply int
	// LearnSteps is how many steps of the present size are measured before one
	// more stream is tried whose step time is unknown; 0 means 8.
	LearnSteps int
}

func (c Config) withDefaults() Config {
	if c.Pace == 0 {
		c.Pace = 11
	}
	if c.Patience == 0 {
		c.Patience = 500 * time.Millisecond
	}
	if c.TTFT == 0 {
		c.TTFT = 2 * time.Second
	}
	if c.StallBudget == 0 {
		c.StallBudget = 2 * time.Second / 11
	}
	if c.MaxPass == 0 {
		c.MaxPass = 5 * time.Second
	}
	if c.Reply == 0 {
		c.Reply = 200
	}
	if c.LearnSteps == 0 {
		c.LearnSteps = 8
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Slots < 1 || c.Slots > MaxSlots:
		return fmt.Errorf("policy: %d slots: give 1 to %d", c.Slots, MaxSlots)
	case !(c.Pace > 0) || c.Pace > 1e6:
		return fmt.Errorf("policy: a pace of %v tokens/s: give one above 0, such as 11", c.Pace)
	case !(c.Floor >= 0) || c.Floor > c.Pace:
		return fmt.Errorf("policy: a floor of %v tokens/s: give 0 for none, or at most the pace of %v", c.Floor, c.Pace)
	case c.Patience < 0 || c.TTFT < 0 || c.StallBudget < 0 || c.MaxWait < 0 || c.MaxPass < 0:
		return fmt.Errorf("policy: a negative duration (patience %v, TTFT %v, stall budget %v, longest wait %v, longest pass %v): give 0 or more", c.Patience, c.TTFT, c.StallBudget, c.MaxWait, c.MaxPass)
	case c.ClientQueue < 0 || c.Reply < 0 || c.LearnSteps < 0:
		return fmt.Errorf("policy: a negative number (client queue %d, reply %d, learning steps %d): give 0 or more", c.ClientQueue, c.Reply, c.LearnSteps)
	}
	return nil
}
