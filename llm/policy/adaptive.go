package policy

import "time"

// Adaptive admits one more request only if the curve says that every stream
// would still run at the reader's pace, T(B) <= 1/pace, or so little slower that
// the reader waits no longer than Patience in all over a reply of Reply tokens.
// Where not even one stream does, it admits while that lets all finish sooner on
// average. Of N requests, of which B run at once, the mean one ends after about
// T(1) L (N+B)/2g(B): so one more is admitted if that makes g(B)/(N+B) grow, now
// or with still more. For N = B this is the mean-latency rule g(B) > 2B/(B+1); a
// longer queue speaks for more at once. One request at least always runs.
//
// With a Floor, a request whose first token would come too late if it waited is
// admitted at the slower pace of the floor.
//
// A size whose step time is unknown is tried once, after the present one has
// been measured for a few steps. After a measured breach of the pace (see
// ObservePace) fewer are admitted for a while.
type Adaptive struct {
	config   Config
	curve    *Curve
	back     backOff
	forecast forecast
}

// A size that was found too slow is tried again after so many other steps, if
// it was not far off: what was measured may have been a neighbour's doing.
const (
	stale = 5000
	near  = 0.8
)

// NewAdaptive returns the policy. The curve is read, never written: the caller
// goes on to tell it what steps take.
func NewAdaptive(c Config, curve *Curve) (*Adaptive, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Adaptive{config: c, curve: curve, back: backOff{limit: c.Slots}}, nil
}

// Next implements Policy. It allocates nothing. It is the same for the same
// view and the same measurements.
func (a *Adaptive) Next(v View) Decision {
	if len(v.Waiting) == 0 {
		return Decision{-1, Reason{Kind: Empty}}
	}
	var prompts reading
	for i := range v.Running {
		if v.Running[i].Exclusive {
			return Decision{-1, Reason{Kind: ExclusiveRuns}}
		}
		prompts.add(float64(v.Running[i].PromptLeft))
	}
	reason, ok := a.room(len(v.Running), len(v.Waiting), true, false)
	if !ok && a.config.Floor == 0 {
		return Decision{-1, reason}
	}
	best := a.first(v)
	w := &v.Waiting[best]
	if !ok && a.late(v.Now-w.Arrival, soonest(v.Running, a), len(v.Running)) {
		reason, ok = a.room(len(v.Running), len(v.Waiting), true, true)
	}
	if !ok {
		return Decision{-1, reason}
	}
	if w.Exclusive && len(v.Running) > 0 {
		return Decision{-1, Reason{Kind: ExclusiveWaits}}
	}
	if a.promptFirst(float64(w.Prompt), v.Now-w.Arrival, prompts) {
		return Decision{-1, Reason{Kind: PromptFirst}}
	}
	return Decision{best, reason}
}

// late reports that the first token cannot come in time if the request waits
// until the next of the running ones ends, which has so many tokens left: then
// the floor is what counts.
func (a *Adaptive) late(waited time.Duration, left float64, running int) bool {
	step, known := a.curve.seconds(running)
	return known && a.config.Floor > 0 && waited.Seconds()+left*step > a.config.TTFT.Seconds()
}

// soonest is how many tokens the running stream that ends first has left.
func soonest(running []Running, a *Adaptive) float64 {
	left := a.reply(0)
	for i := range running {
		left = min(left, a.reply(running[i].ReplyLeft))
	}
	return left
}

// room reports whether one of those who wait may run beside so many, whoever it
// is. With explore a size that is unknown may be tried, and late counts the floor
// instead of the pace.
func (a *Adaptive) room(running, waiting int, explore, late bool) (Reason, bool) {
	n := running + 1
	if running == 0 {
		return Reason{Kind: Idle, Streams: 1}, true
	}
	if n > a.config.Slots {
		return Reason{Kind: SlotsFull, Streams: a.config.Slots}, false
	}
	if n > a.back.limit && !late {
		return Reason{Kind: BackedOff, Streams: a.back.limit, Limit: a.config.Pace}, false
	}
	unseen := a.curve.Observed(n) == 0
	if unseen && explore && a.curve.Observed(running) < uint64(a.config.LearnSteps) {
		return Reason{Kind: Measuring, Streams: running}, false
	}
	step, known := a.curve.seconds(n)
	if !known {
		return Reason{Kind: Measuring, Streams: running}, false
	}
	reason, ok := a.keepsUp(n, waiting, step, late)
	if !ok && explore && a.worthTrying(n, unseen, reason) {
		return Reason{Kind: Learning, Streams: n}, true
	}
	return reason, ok
}

// slow reports that not even one stream keeps the pace.
func (a *Adaptive) slow() bool {
	alone, known := a.curve.seconds(1)
	return known && alone > a.slowest()
}

// slowest is the longest step, in seconds, with which the reader's patience
// lasts for a reply.
func (a *Adaptive) slowest() float64 {
	return 1/a.config.Pace + a.config.Patience.Seconds()/float64(a.config.Reply)
}

// keepsUp is the reader rule, or the mean-latency rule where it cannot be met.
func (a *Adaptive) keepsUp(n, waiting int, step float64, late bool) (Reason, bool) {
	if a.slow() {
		return a.finishSooner(n, n-1+waiting)
	}
	if floor := a.config.Floor; late && step > a.slowest() && 1/step >= floor {
		return Reason{Kind: KeepsFloor, Streams: n, Rate: 1 / step, Limit: floor}, true
	}
	r := Reason{Kind: KeepsPace, Streams: n, Rate: 1 / step, Limit: a.config.Pace, Wait: a.config.Patience}
	if step > a.slowest() {
		r.Kind = BelowPace
	}
	return r, r.Kind == KeepsPace
}

// finishSooner reports whether n streams, or more, let requests of which there
// are so many in all end sooner on average than n-1 do.
func (a *Adaptive) finishSooner(n, all int) (Reason, bool) {
	now := a.gain(n-1) / float64(all+n-1)
	r := Reason{Kind: FinishSooner, Streams: n, Rate: a.gain(n), Limit: now * float64(all+n)}
	for more := n; more <= min(all, a.config.Slots); more++ {
		if a.gain(more)/float64(all+more) > now {
			return r, true
		}
	}
	r.Kind = NoGain
	return r, false
}

// gain is g(n) = n T(1)/T(n).
func (a *Adaptive) gain(n int) float64 {
	alone, _ := a.curve.seconds(1)
	step, known := a.curve.seconds(n)
	if !known {
		return 0
	}
	return float64(n) * alone / step
}

// worthTrying reports whether a size that the rules do not allow should be
// measured nevertheless: one never seen if the one before does not forbid it,
// and one not seen for long if it was not far off.
func (a *Adaptive) worthTrying(n int, unseen bool, r Reason) bool {
	switch {
	case !unseen:
		return a.curve.Age(n) > stale && r.Rate >= near*r.Limit
	case a.slow():
		return n == 2 || a.gain(n-1) > a.gain(n-2)
	}
	before, known := a.curve.seconds(n - 1)
	return known && before <= a.slowest()
}

// reading sums up the prompts that are being read.
type reading struct{ left float64 }

func (r *reading) add(left float64) { r.left += left }

// promptFirst reports that a prompt should wait until those being read are
// done: it is longer than what they have left, and would not get its first
// token in time anyway. A shorter one is let in beside them.
func (a *Adaptive) promptFirst(prompt float64, waited time.Duration, r reading) bool {
	rate, known := a.curve.PrefillRate()
	if r.left == 0 || prompt <= r.left || !known {
		return false
	}
	return waited.Seconds()+(r.left+prompt)/rate > a.config.TTFT.Seconds()
}
