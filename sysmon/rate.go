package sysmon

// busyRate makes a percentage of successive CPU counters. It lives in the one
// sampler: a rate that every caller computed since its own last look would
// differ from reader to reader.
type busyRate struct {
	last  CPUTimes
	begun bool
}

// percent returns the busy share since the last known counters, 0 to 100.
func (b *busyRate) percent(r Reading[CPUTimes]) Reading[float64] {
	now, ok := r.Get()
	if !ok {
		return Unknown[float64](r.Reason)
	}
	last, begun := b.last, b.begun
	b.last, b.begun = now, true
	if !begun {
		return Unknown[float64]("needs two readings")
	}
	total, busy := now.Total-last.Total, now.Busy-last.Busy
	if total <= 0 {
		// Seen when a core goes offline and takes its count with it.
		return Unknown[float64]("CPU counters did not advance")
	}
	// The kernel's idle and iowait counts may step back a little.
	share := min(max(float64(busy)/float64(total), 0), 1)
	return Measured(100*share, r.Source)
}

// processRate makes a percentage of successive process times.
type processRate struct {
	last  stampedTime
	begun bool
}

// percent returns the CPU time used since the last known one, in percent of
// one core.
func (p *processRate) percent(now stampedTime) Reading[float64] {
	used, ok := now.used.Get()
	if !ok {
		return Unknown[float64](now.used.Reason)
	}
	last, begun := p.last, p.begun
	p.last, p.begun = now, true
	if !begun {
		return Unknown[float64]("needs two readings")
	}
	wall := now.at.Sub(last.at)
	if wall <= 0 {
		return Unknown[float64]("no time passed between two readings")
	}
	share := max(float64(used-last.used.Value)/float64(wall), 0)
	return Measured(100*share, now.used.Source)
}
