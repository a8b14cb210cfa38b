package sysmon

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// fill writes what a probe has read into the snapshot being made. It runs on
// the sampler's side, after the reading is complete.
type fill func(*Snapshot)

// probe is one reader, bound to its place in a Snapshot.
type probe struct {
	name  string
	every int // read at every n-th sample; 0 reads until it has answered once
	// read calls the reader; nil when there is none.
	read func(ctx context.Context) fill
	// missing marks the reading unknown.
	missing func(s *Snapshot, reason string)

	answered bool
	// stuck is the round that still waits for this probe; nil when none does.
	stuck      *round
	stuckSince time.Time
}

// newProbe binds a reader to its place. A nil reader gives a probe whose
// reading is always unknown.
func newProbe[V any](name string, every int, reader func(context.Context) V,
	unknown func(reason string) V, put func(*Snapshot, V)) *probe {
	p := &probe{name: name, every: every}
	if reader == nil {
		p.missing = func(s *Snapshot, _ string) { put(s, unknown("not available on this system")) }
		return p
	}
	p.missing = func(s *Snapshot, reason string) { put(s, unknown(reason)) }
	p.read = func(ctx context.Context) (f fill) {
		// A reader that panics over a strange file must not end the program.
		defer func() {
			if r := recover(); r != nil {
				f = func(s *Snapshot) { p.missing(s, fmt.Sprintf("reader failed: %v", r)) }
			}
		}()
		v := reader(ctx)
		return func(s *Snapshot) { put(s, v) }
	}
	return p
}

func (p *probe) dueAt(tick int) bool {
	if p.every == 0 {
		return !p.answered
	}
	return tick%p.every == 0
}

func (p *probe) stillStuck() bool {
	if p.stuck == nil {
		return false
	}
	select {
	case <-p.stuck.done:
		return false
	default:
		return true
	}
}

// round reads probes one after another on a goroutine of its own, so that a
// file which never answers blocks that goroutine and not the sampler. One
// goroutine for all, rather than one each, keeps an idle tick cheap. When one
// probe is stuck the sampler leaves the round to it and starts another for
// the probes behind it.
type round struct {
	probes []*probe
	done   chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	fills []fill // of the first len(fills) probes
	left  bool   // the sampler no longer waits; nothing more is kept
}

func startRound(ctx context.Context, probes []*probe) *round {
	r := &round{probes: probes, done: make(chan struct{}), fills: make([]fill, 0, len(probes))}
	go r.run(ctx)
	return r
}

func (r *round) run(ctx context.Context) {
	defer close(r.done)
	for _, p := range r.probes {
		if !r.keep(p.read(ctx)) {
			return
		}
	}
}

// keep stores a finished reading; false means that nobody waits for more.
func (r *round) keep(f fill) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return false
	}
	r.fills = append(r.fills, f)
	return true
}

// await waits for the round and returns the readings made, in the order of
// its probes. Fewer than there are probes means that the next one took longer
// than timeout, or that ctx is done; the round has then been left.
func (r *round) await(ctx context.Context, timeout time.Duration) []fill {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for seen := 0; ; {
		select {
		case <-r.done:
			return r.fills
		case <-ctx.Done():
			return r.leave()
		case <-timer.C:
		}
		// Progress since the last look means that a new probe has the floor.
		n := r.progress()
		if n == seen {
			return r.leave()
		}
		seen = n
		timer.Reset(timeout)
	}
}

func (r *round) progress() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.fills)
}

func (r *round) leave() []fill {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	return r.fills
}
