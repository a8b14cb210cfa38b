package policy

import "time"

// How the back-off reacts.
const (
	// tolerated is the part of the pace that is no breach yet.
	tolerated = 0.95
	// memory is the time over which the pace is averaged.
	memory = 10 * time.Second
	// calm is for how long the pace must be kept before one more stream is
	// allowed; it doubles with each breach until all may run again.
	calm, longestCalm = 10 * time.Second, 80 * time.Second
)

// backOff bounds the number of streams after a measured breach of the pace.
type backOff struct {
	limit    int           // how many may run
	interval float64       // seconds per token, averaged; 0 is unknown
	good     time.Duration // for how long the pace has been kept
	patience time.Duration // how long it must be; 0 is calm
}

// ObservePace takes how many tokens/s each stream got over a period of a second
// or so, and the number of streams. It counts the steps without prompt tokens
// alone, and the time from one to the next: a prompt slows the streams for a
// moment whatever their number. An average below the pace lowers the number that
// may run to one less than that; a while at the pace raises it again, one by
// one. It is for what the curve does not tell, or not soon enough: heat, a
// neighbour, the time between steps, and single long steps, which the curve's
// medians leave out. Where not even one stream keeps the pace it does nothing.
func (a *Adaptive) ObservePace(streams int, tokensPerSecond float64, period time.Duration) {
	if streams < 1 || period <= 0 || !(tokensPerSecond >= 0) {
		return
	}
	if a.slow() {
		a.back = backOff{limit: a.config.Slots}
		return
	}
	longest := period.Seconds() // of an interval, since none may have ended
	interval := longest
	if tokensPerSecond > 1/longest {
		interval = 1 / tokensPerSecond
	}
	a.back.observe(streams, interval, 1/(tolerated*a.config.Pace), period, a.config.Slots)
}

func (b *backOff) observe(streams int, interval, limit float64, period time.Duration, slots int) {
	if b.interval == 0 {
		b.interval = limit / 2 // one bad period is not enough
	}
	b.interval += (interval - b.interval) * min(1, period.Seconds()/memory.Seconds())
	if b.interval > limit && streams > 1 {
		if b.patience *= 2; b.patience == 0 {
			b.patience = calm
		}
		b.patience = min(b.patience, longestCalm)
		b.limit = max(1, min(b.limit, streams)-1)
		b.interval, b.good = 0, 0
		return
	}
	if b.limit >= slots {
		return
	}
	if interval > limit {
		b.good = 0
		return
	}
	if b.good += period; b.good >= b.patience {
		b.good = 0
		b.limit++
		if b.limit == slots {
			b.patience = 0
		}
	}
}
