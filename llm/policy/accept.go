package policy

import "time"

// Accept predicts how long one more request would wait for its start, and
// reports whether it may: not when its client has too many waiting, nor when
// it would wait longer than MaxWait. The wait is Unknown where Waits says so;
// then only the number counts. v.Waiting is read, w is not in it.
func (a *Adaptive) Accept(v View, w Waiting) (wait time.Duration, reason Reason, ok bool) {
	if limit := a.config.ClientQueue; limit > 0 {
		waiting := 0
		for i := range v.Waiting {
			if v.Waiting[i].Client == w.Client {
				waiting++
			}
		}
		if waiting >= limit {
			return Unknown, Reason{Kind: ClientQueueFull, Streams: waiting}, false
		}
	}
	f := &a.forecast
	f.asked = append(append(f.asked[:0], v.Waiting...), w)
	v.Waiting = f.asked
	f.waits = a.Waits(f.waits, v)
	wait = f.waits[len(f.waits)-1]
	if limit := a.config.MaxWait; limit > 0 && wait > limit {
		return wait, Reason{Kind: WaitTooLong, Wait: wait, Limit: limit.Seconds()}, false
	}
	return wait, Reason{}, true
}
