package llm

import (
	"context"
	"fmt"
	"sync"

	"pichat/llm/threads"
)

// Calibration measures how many threads decode and prefill are fastest with,
// on an empty sequence of the idle backend, and leaves it as it was. It is
// called by Run's goroutine; ctx ends when a request comes, and then it returns
// soon, with false.
type Calibration func(ctx context.Context, sequence int) (decode, prefill int, ok bool)

// calibrations is how often one is begun that comes to nothing, since a request
// came or another process was busy.
const calibrations = 5

// idling lets requests interrupt what is done while there are none.
type idling struct {
	mu     sync.Mutex
	cancel context.CancelFunc // nil when nothing is being done
	tried  int                // calibrations; of Run's goroutine
}

// begin returns a context that end cancels.
func (i *idling) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.cancel = nil
		cancel()
	}
}

// end interrupts what is being done, if anything.
func (i *idling) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel != nil {
		i.cancel()
	}
}

// calibrate uses idle time to choose the threads, once. It reports whether it
// did.
func (e *Engine) calibrate(ctx context.Context) bool {
	if e.config.Calibrate == nil || e.pace == nil || e.idling.tried >= calibrations || ctx.Err() != nil {
		return false
	}
	seq := e.emptySlot()
	if seq < 0 {
		return false
	}
	idle, done := e.idling.begin(ctx)
	defer done()
	if e.gate.busy() { // it came before it could interrupt
		return false
	}
	e.idling.tried++
	decode, prefill, ok := e.config.Calibrate(idle, seq)
	if ok {
		e.idling.tried = calibrations
		e.pace.choose(decode, prefill)
	}
	return ok // else once more, after the next request
}

// emptySlot finds a sequence that holds nothing; -1 when there is none.
func (e *Engine) emptySlot() int {
	for i := range e.slots {
		if s := &e.slots[i]; s.job == nil && len(s.kept) == 0 {
			return s.seq
		}
	}
	return -1
}

// choose makes these the most threads. Those that were configured stay the
// bound of what can be set.
func (p *threadPace) choose(decode, prefill int) {
	if p.set(decode, prefill); p.failed != "" {
		return
	}
	p.most.MostDecode, p.most.MostPrefill = decode, prefill
	p.decode, p.prefill = threads.New(decode), threads.New(prefill)
	p.chosen = fmt.Sprintf("measured: %d for decode and %d for prefill are fastest here", decode, prefill)
}
