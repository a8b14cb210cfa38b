package sysmon

// FixedSampler serves snapshots that it is given, for tests and demos of what
// shows them. It offers a Sampler's reading methods and is safe for
// concurrent use. Make one with Fixed.
type FixedSampler struct {
	feed feed
	past *ring
}

// Fixed returns a sampler whose newest snapshot is s. Its history begins with
// s.
func Fixed(s Snapshot) *FixedSampler {
	f := &FixedSampler{past: newRing(historyCapacity(Config{}.withDefaults()))}
	f.Set(s)
	return f
}

// Set publishes s as a Sampler does at a tick.
func (f *FixedSampler) Set(s Snapshot) {
	f.past.add(&s)
	f.feed.publish(&s)
}

// Latest returns the newest snapshot. It is never nil.
func (f *FixedSampler) Latest() *Snapshot { return f.feed.latest.Load() }

// History returns what was Set, oldest first, at most ten minutes' worth at
// one a second.
func (f *FixedSampler) History() History { return f.past.history() }

// Subscribe is Sampler.Subscribe.
func (f *FixedSampler) Subscribe() (<-chan *Snapshot, func()) { return f.feed.subscribe() }
