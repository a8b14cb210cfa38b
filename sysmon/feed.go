package sysmon

import (
	"sync"
	"sync/atomic"
)

// feed holds the newest snapshot and hands it to subscribers.
type feed struct {
	latest atomic.Pointer[Snapshot]

	mu          sync.Mutex
	subscribers map[chan *Snapshot]struct{}
}

// publish makes s the newest snapshot. It never blocks: a subscriber that has
// not taken the one before gets s in its place.
func (f *feed) publish(s *Snapshot) {
	f.latest.Store(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.subscribers {
		select {
		case <-ch: // too old now
		default:
		}
		ch <- s // has room: only publish sends, under the lock
	}
}

func (f *feed) subscribe() (<-chan *Snapshot, func()) {
	ch := make(chan *Snapshot, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		f.subscribers = make(map[chan *Snapshot]struct{})
	}
	f.subscribers[ch] = struct{}{}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, ok := f.subscribers[ch]; ok {
			delete(f.subscribers, ch)
			close(ch)
		}
	}
}
