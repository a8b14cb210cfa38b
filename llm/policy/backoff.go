package policy

// How the back-off reacts.
const (
	// tolerated is the part of the pace that is no breach yet.
	tolerated = 0.95
	// breaches in a row make it back off: one may be chance.
	breaches = 2
	// calm is how many good observations in a row it takes for one more
	// stream; it doubles with each breach until all may run again.
	calm, longestCalm = 8, 64
)

// backOff bounds the number of streams after a measured breach of the pace.
type backOff struct {
	limit     int // how many may run
	bad, good int // observations in a row
	patience  int // good ones needed for one more stream; 0 is calm
}

// ObservePace takes the tokens/s of the slowest running stream over the last
// second or so, prompts of others included, and how many streams ran. Two
// breaches in a row lower the number that may run to one less than that; good
// observations raise it again, one by one. It does nothing where not even one
// stream keeps the pace, and for a stream that ran alone.
func (a *Adaptive) ObservePace(streams int, tokensPerSecond float64) {
	if a.slow() {
		a.back = backOff{limit: a.config.Slots}
		return
	}
	a.back.observe(streams, tokensPerSecond < tolerated*a.config.Pace, a.config.Slots)
}

func (b *backOff) observe(streams int, breach bool, slots int) {
	if breach && streams > 1 {
		b.good = 0
		if b.bad++; b.bad < breaches {
			return
		}
		b.bad = 0
		if b.limit < slots || b.patience > 0 {
			b.patience = min(2*max(b.patience, calm), longestCalm)
		} else {
			b.patience = calm
		}
		b.limit = max(1, min(b.limit, streams)-1)
		return
	}
	b.bad = 0
	if b.limit >= slots {
		return
	}
	if b.good++; b.good >= max(b.patience, calm) {
		b.good = 0
		b.limit++
		if b.limit == slots {
			b.patience = 0
		}
	}
}
