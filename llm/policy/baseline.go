package policy

import "time"

// Fixed admits while fewer than N run, first come first served: the fixed
// number of slots of other servers. Fixed{1} serves one at a time.
type Fixed struct{ N int }

// Next implements Policy.
func (p Fixed) Next(v View) Decision {
	switch {
	case len(v.Waiting) == 0:
		return Decision{-1, Reason{Kind: Empty}}
	case len(v.Running) >= p.N:
		return Decision{-1, Reason{Kind: SlotsFull, Streams: p.N}}
	}
	return Decision{earliest(v), Reason{Kind: UnderLimit, Streams: len(v.Running) + 1}}
}

// Hold is Fixed, but an idle machine waits until N requests have come or the
// first has waited for Delay, so that they start together. The caller asks
// again at the latest when the Delay of the first is over.
type Hold struct {
	N     int
	Delay time.Duration
}

// Next implements Policy.
func (p Hold) Next(v View) Decision {
	if len(v.Running) == 0 && len(v.Waiting) > 0 && len(v.Waiting) < p.N &&
		v.Now-v.Waiting[earliest(v)].Arrival < p.Delay {
		return Decision{-1, Reason{Kind: Holding, Streams: len(v.Waiting)}}
	}
	return Fixed{p.N}.Next(v)
}

func earliest(v View) int {
	best := 0
	for i := range v.Waiting {
		if v.Waiting[i].Arrival < v.Waiting[best].Arrival {
			best = i
		}
	}
	return best
}
