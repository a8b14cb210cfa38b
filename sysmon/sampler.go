package sysmon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Defaults and limits of a Config.
const (
	DefaultInterval = time.Second
	DefaultHistory  = 10 * time.Minute
	DefaultTimeout  = 100 * time.Millisecond

	minInterval = 10 * time.Millisecond
	maxPoints   = 100_000
)

// stopGrace is how long Run waits at its end for readers that do not answer.
const stopGrace = time.Second

var (
	// ErrConfig is a Config that cannot be used.
	ErrConfig = errors.New("sysmon: bad configuration")
	// ErrStuck is returned by Run when a reader still had not returned a
	// second after the context was done. Its goroutine is left behind.
	ErrStuck = errors.New("sysmon: reader did not return")
)

// Config says how a Sampler works. The zero Config is usable.
type Config struct {
	// Interval is the time from one snapshot to the next; 0 is
	// DefaultInterval. At least 10 ms.
	Interval time.Duration
	// History is how far History reaches back; 0 is DefaultHistory.
	History time.Duration
	// Timeout is how long one reader may take before the others go on
	// without it; 0 is DefaultTimeout.
	Timeout time.Duration
	// Logger gets a warning when a reader stops answering and a note when it
	// answers again; nil discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.History == 0 {
		c.History = DefaultHistory
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate reports every fault of c at once. c has its defaults.
func (c Config) validate() error {
	var faults []error
	if c.Interval < minInterval {
		faults = append(faults, fmt.Errorf("%w: interval is %s, want at least %s", ErrConfig, c.Interval, minInterval))
	}
	if c.Timeout < 0 {
		faults = append(faults, fmt.Errorf("%w: timeout is %s, want more than 0", ErrConfig, c.Timeout))
	}
	if c.History < 0 {
		faults = append(faults, fmt.Errorf("%w: history is %s, want more than 0", ErrConfig, c.History))
	} else if c.Interval >= minInterval && historyCapacity(c) > maxPoints {
		faults = append(faults, fmt.Errorf("%w: history of %s at %s is %d points, want at most %d: choose a longer interval or a shorter history",
			ErrConfig, c.History, c.Interval, historyCapacity(c), maxPoints))
	}
	return errors.Join(faults...)
}

// historyCapacity is the number of snapshots that History covers, at least 1.
func historyCapacity(c Config) int { return max(1, int(c.History/c.Interval)) }

// Sampler takes the snapshots. Make one with New, and have one goroutine call
// Run. All methods are safe for concurrent use.
type Sampler struct {
	cfg  Config
	feed feed
	past *ring

	sampling sync.Mutex // guards all below; held for a whole sample
	probes   []*probe
	ticks    int // samples taken
}

// New makes a Sampler that has not read anything yet: until Run or Sample is
// called every reading is unknown. It starts no goroutine.
func New(readers Readers, cfg Config) (*Sampler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sampler{
		cfg:    cfg,
		past:   newRing(historyCapacity(cfg)),
		probes: newProbes(readers, cfg.Interval),
	}
	first := &Snapshot{At: time.Now()}
	for _, p := range s.probes {
		p.missing(first, "not read yet")
	}
	s.feed.latest.Store(first)
	return s, nil
}

// Latest returns the newest snapshot. It is never nil, and it never waits.
func (s *Sampler) Latest() *Snapshot { return s.feed.latest.Load() }

// History returns a copy of the last readings, oldest first.
func (s *Sampler) History() History { return s.past.history() }

// Subscribe returns a channel that gets every new snapshot, and a function
// that ends the subscription and closes the channel. A subscriber that is slow
// misses snapshots, but what it gets is the newest; it never holds up the
// sampler. The function may be called more than once.
func (s *Sampler) Subscribe() (<-chan *Snapshot, func()) { return s.feed.subscribe() }

// Run takes a snapshot at once and then one every interval until ctx is done.
// It returns nil, or ErrStuck when it had to leave readers behind.
func (s *Sampler) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.Interval)
	defer ticker.Stop()
	for {
		s.Sample(ctx)
		select {
		case <-ctx.Done():
			return s.drain()
		case <-ticker.C:
		}
	}
}

// Sample takes one snapshot now, publishes it and returns it. Run does this at
// every tick; a program that only looks once calls it itself, and twice, some
// time apart, for what needs two readings (BusyPercent and CPUPercent). When
// ctx is done it publishes nothing and returns the newest snapshot there is.
func (s *Sampler) Sample(ctx context.Context) *Snapshot {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	next := *s.Latest() // what is not due keeps its reading
	next.At = time.Now()
	due := s.due(&next)
	for len(due) > 0 && ctx.Err() == nil {
		r := startRound(ctx, due)
		fills := r.await(ctx, s.cfg.Timeout)
		for i, fill := range fills {
			fill(&next)
			due[i].answered = true
		}
		if len(fills) == len(due) {
			break
		}
		s.leave(ctx, due[len(fills)], r, &next)
		due = due[len(fills)+1:]
	}
	if ctx.Err() != nil {
		return s.Latest()
	}
	s.ticks++
	s.past.add(&next)
	s.feed.publish(&next)
	return &next
}

// due lists the probes to read now. One that is still stuck is not called
// again; its reading says so.
func (s *Sampler) due(next *Snapshot) []*probe {
	due := make([]*probe, 0, len(s.probes))
	for _, p := range s.probes {
		switch {
		case p.stillStuck():
			p.missing(next, fmt.Sprintf("no answer for %s", next.At.Sub(p.stuckSince).Round(time.Second)))
		case p.stuck != nil:
			s.cfg.Logger.Info("reading answers again", "reading", p.name, "after", next.At.Sub(p.stuckSince))
			p.stuck = nil
			due = append(due, p)
		case p.read != nil && p.dueAt(s.ticks):
			due = append(due, p)
		}
	}
	return due
}

// leave gives up waiting for p, which r is calling.
func (s *Sampler) leave(ctx context.Context, p *probe, r *round, next *Snapshot) {
	p.stuck, p.stuckSince = r, next.At
	if ctx.Err() != nil {
		return // not slow: we are asked to stop, and drain will wait for it
	}
	s.cfg.Logger.Warn("reading does not answer; the others go on without it", "reading", p.name, "timeout", s.cfg.Timeout)
	p.missing(next, fmt.Sprintf("no answer within %s", s.cfg.Timeout))
}

// drain waits for the readers that are still out.
func (s *Sampler) drain() error {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	expired := false
	var left []string
	for _, p := range s.probes {
		if p.stuck == nil {
			continue
		}
		if !expired {
			select {
			case <-p.stuck.done:
				p.stuck = nil
				continue
			case <-grace.C:
				expired = true
			}
		}
		if p.stillStuck() {
			left = append(left, p.name)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%w within %s: %s", ErrStuck, stopGrace, strings.Join(left, ", "))
	}
	return nil
}
