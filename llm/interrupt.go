package llm

import (
	"context"
	"sync"
)

// interrupter stops the step under way once everyone it works for is gone. A
// step that also serves others is left to end: it is bounded, and an
// interruption would cost them their work.
type interrupter struct {
	mu     sync.Mutex
	jobs   []*job // of the step under way
	cancel context.CancelFunc
}

// enter begins a step for jobs. Its context ends when all of them are
// cancelled.
func (i *interrupter) enter(jobs []*job) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	i.mu.Lock()
	i.jobs, i.cancel = jobs, cancel
	i.mu.Unlock()
	i.check() // a job may have been cancelled on the way here
	return ctx
}

// leave ends the step; a later cancellation does not reach the next one.
func (i *interrupter) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel != nil {
		i.cancel()
	}
	i.jobs, i.cancel = nil, nil
}

// check interrupts the step when every job of it is cancelled. It may be
// called from any goroutine.
func (i *interrupter) check() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel == nil {
		return
	}
	for _, j := range i.jobs {
		if !j.cancelled.Load() {
			return
		}
	}
	i.cancel()
}

// stopAll interrupts the step under way whoever it works for.
func (i *interrupter) stopAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel != nil {
		i.cancel()
	}
}
