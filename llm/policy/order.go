package policy

import "time"

// Order of those who wait: who has fewer streams running goes first, so that
// one client cannot take every slot while others wait; among equals first come
// first served, where a long prompt counts as come later by the time that it
// takes to read, by MaxPass at most.
//
// Nobody starves: a client's next request waits at most until its running ones
// have ended, then for those who came before or up to MaxPass later.

// rank is a place in the order. The smaller goes first.
type rank struct {
	running int           // streams of the same client
	key     time.Duration // arrival, corrected
}

func (r rank) before(o rank) bool {
	if r.running != o.running {
		return r.running < o.running
	}
	return r.key < o.key
}

// key is a request's place among those of clients with as many streams.
func (a *Adaptive) key(w *Waiting) time.Duration {
	if w.Exclusive {
		return w.Arrival + a.config.MaxPass
	}
	rate, known := a.curve.PrefillRate()
	if !known {
		return w.Arrival
	}
	return w.Arrival + min(seconds(float64(w.Prompt)/rate), a.config.MaxPass)
}

// first is the index of the one that goes first. Of equals it is the first in
// the view.
func (a *Adaptive) first(v View) int {
	best, bestRank := -1, rank{}
	for i := range v.Waiting {
		w := &v.Waiting[i]
		r := rank{key: a.key(w)}
		for j := range v.Running {
			if v.Running[j].Client == w.Client {
				r.running++
			}
		}
		if best < 0 || r.before(bestRank) {
			best, bestRank = i, r
		}
	}
	return best
}

// seconds makes a duration, of a century at most.
func seconds(s float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(min(s, century) * float64(time.Second))
}
