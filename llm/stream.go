package llm

import (
	"context"
	"sync"
	"time"
)

// Stream delivers the events of one request. Its producer never waits: events
// that nobody has read yet are kept, and their number is bounded by the
// reply's token cap. One goroutine reads it.
type Stream struct {
	id     string
	notify chan struct{} // holds one token while events wait to be read

	mu     sync.Mutex
	events []Event
	unread time.Time // when the oldest unread event came; zero when none
	done   bool
}

// NewStream returns an empty stream for the request of that id.
func NewStream(id string) *Stream {
	return &Stream{id: id, notify: make(chan struct{}, 1)}
}

// ID is the request's id.
func (s *Stream) ID() string { return s.id }

// Send appends an event. It never blocks; after Done it does nothing.
// Successive Prefilling or Queued events that nobody read replace each other.
func (s *Stream) Send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	if len(s.events) == 0 {
		s.unread = time.Now()
	}
	if n := len(s.events); n > 0 && replaces(s.events[n-1], e) {
		s.events[n-1] = e
	} else {
		s.events = append(s.events, e)
	}
	_, s.done = e.(Done)
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// replaces reports whether b makes an unread a worthless.
func replaces(a, b Event) bool {
	switch a.(type) {
	case Queued:
		_, ok := b.(Queued)
		return ok
	case Prefilling:
		_, ok := b.(Prefilling)
		return ok
	}
	return false
}

// Next waits for events and returns all that have come, in order; the slice
// is the caller's. The last event of a stream is a Done: do not call again
// after it. The error is ctx's.
func (s *Stream) Next(ctx context.Context) ([]Event, error) {
	for {
		if events := s.Take(); len(events) > 0 {
			return events, nil
		}
		select {
		case <-s.notify:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Take is Next without waiting: it returns what has come, which may be nothing.
func (s *Stream) Take() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events, s.unread = nil, time.Time{}
	return events
}

// unreadFor tells how long the oldest unread event has waited.
func (s *Stream) unreadFor(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread.IsZero() {
		return 0
	}
	return now.Sub(s.unread)
}
