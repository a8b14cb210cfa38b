// Package replies keeps the chat page's replies apart from its sockets.
//
// A reply is drained from the engine by a goroutine of its own, at once and
// without regard to who watches, so that no client ever holds up the engine.
// Sockets watch it: they are woken and then pull what they have not seen yet.
// A socket that lags gets what it missed as one larger frame, and a page that
// comes back after its socket was lost resumes in just the same way. So there
// is no queue per client that could run over, and nothing is lost or doubled.
//
// A reply outlives its last watcher by a grace period and is then cancelled,
// which frees its slot. A finished one is kept for a while for a page that
// reloads.
package replies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"pichat/llm"
	"pichat/web/fault"
)

// Config configures a Store; zero values mean the defaults named.
type Config struct {
	// Grace is how long a reply runs on without anybody watching; 60 s.
	Grace time.Duration
	// Keep is how long a finished reply can still be resumed; 5 min.
	Keep time.Duration
	// MaxKept bounds the finished replies kept; 64.
	MaxKept int
	// PerOwner bounds the replies that run at once for one owner; 4.
	PerOwner int
	// Flush is the least time between two text frames of a reply, more for long
	// blocks and for models far ahead of any reader; 90 ms. The
	// first token does not wait.
	Flush time.Duration
	// TargetTPS is the reader's pace that Done's timings speak of; 11.
	TargetTPS float64
	// Verdict renders the fragment under a finished reply; nil leaves it out.
	Verdict func(Outcome) string
	// Logger gets a line for what went wrong; nil discards it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = 60 * time.Second
	}
	if c.Keep == 0 {
		c.Keep = 5 * time.Minute
	}
	if c.MaxKept == 0 {
		c.MaxKept = 64
	}
	if c.PerOwner == 0 {
		c.PerOwner = 4
	}
	if c.Flush == 0 {
		c.Flush = 90 * time.Millisecond
	}
	if c.TargetTPS == 0 {
		c.TargetTPS = 11
	}
	if c.Verdict == nil {
		c.Verdict = func(Outcome) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Outcome is what a verdict is made of.
type Outcome struct {
	Done   llm.Done
	Answer string // the answer's text, reasoning left out
	Error  string // a sentence for people when Done.Err is set
}

// errAbandoned is the cause of a reply's end after its grace period.
var errAbandoned = errors.New("nobody watches the reply any more")

// Store holds the replies of a server. Its methods may be called from any
// goroutine.
type Store struct {
	config Config

	mu       sync.Mutex
	replies  map[string]*Reply
	finished []*Reply // oldest first
	closed   bool
	draining sync.WaitGroup
}

// NewStore returns an empty store.
func NewStore(c Config) *Store {
	return &Store{config: c.withDefaults(), replies: map[string]*Reply{}}
}

// Start begins the reply id for owner, which is whoever shares a limit, such
// as an address. open asks the engine; the context that it gets is the
// reply's and ends when the reply is stopped. Nobody watches the new reply yet.
//
// Errors: open's, a *fault.Fault for an id that is malformed or taken and for
// an owner at the limit, or llm.ErrClosed.
func (s *Store) Start(owner, id string, open func(context.Context) (*llm.Stream, error)) (*Reply, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &Reply{
		id: id, owner: owner, store: s, began: time.Now(), cancel: cancel,
		watchers: map[*Watcher]struct{}{},
	}
	if err := s.reserve(r); err != nil {
		cancel(nil)
		return nil, err
	}
	stream, err := open(ctx)
	if err != nil {
		cancel(nil)
		s.remove(r)
		s.draining.Done()
		return nil, err
	}
	r.mu.Lock()
	r.unwatched()
	r.mu.Unlock()
	go func() {
		defer s.draining.Done()
		defer cancel(nil)
		newDrain(r, stream).run()
		s.finish(r)
	}()
	return r, nil
}

func (s *Store) reserve(r *Reply) error {
	if !ValidID(r.id) {
		return fault.Invalid("id", "id %.70q is not 8 to 64 letters, digits or dashes", r.id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return llm.ErrClosed
	}
	if s.replies[r.id] != nil {
		return fault.Invalid("id", "a reply with the id %q exists already: choose a new one for each question", r.id)
	}
	running := 0
	for _, other := range s.replies {
		if other.owner == r.owner && !other.Finished() {
			running++
		}
	}
	if running >= s.config.PerOwner {
		return fault.Newf(http.StatusTooManyRequests, fault.CodeQueueFull,
			"%d answers are being written for this address already, the most allowed: wait for one to end, or stop it", running)
	}
	s.replies[r.id] = r
	s.draining.Add(1)
	return nil
}

// ValidID reports whether id may name a reply: 8 to 64 letters, digits or
// dashes.
func ValidID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// Find returns the reply of that id, running or kept.
func (s *Store) Find(id string) (*Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.replies[id]
	return r, ok
}

// Pace is the mean pace, tokens/s, of the replies that are being written,
// over the last seconds; false when none is.
func (s *Store) Pace() (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, n := 0.0, 0
	for _, r := range s.replies {
		if pace, ok := r.pace(time.Now()); ok {
			sum += pace
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}

// Close refuses new replies, cancels the running ones and waits until each
// has its Done, or until ctx ends, whose error it then returns.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for _, r := range s.replies {
		r.cancel(llm.ErrClosed)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.draining.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("replies still running: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.finished {
		r.forget.Stop()
	}
	return nil
}

// finish keeps r for a while and drops what is too much.
func (s *Store) finish(r *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = append(s.finished, r)
	r.forget = time.AfterFunc(s.config.Keep, func() { s.remove(r) })
	for len(s.finished) > s.config.MaxKept {
		old := s.finished[0]
		old.forget.Stop()
		s.finished = s.finished[1:]
		delete(s.replies, old.id)
	}
}

func (s *Store) remove(r *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replies[r.id] == r {
		delete(s.replies, r.id)
	}
	for i, f := range s.finished {
		if f == r {
			s.finished = append(s.finished[:i], s.finished[i+1:]...)
			return
		}
	}
}
