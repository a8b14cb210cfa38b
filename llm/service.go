package llm

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Phase says where a Service is in its life.
type Phase string

// The phases of a Service.
const (
	PhaseLoading  Phase = "loading"
	PhaseReady    Phase = "ready"
	PhaseFailed   Phase = "failed"
	PhaseStopping Phase = "stopping"
)

// State is a snapshot of a Service.
type State struct {
	Phase    Phase
	Progress float64 // of loading, 0..1
	Note     string  // what is happening, in words, e.g. "checking the file"
	Err      error   // why it failed; set iff Phase is PhaseFailed
}

// Service is the Generator of a server whose model is loaded after it began
// to listen. It may be used from any goroutine. The zero value is loading.
type Service struct {
	mu        sync.Mutex // guards changed
	changed   chan struct{}
	state     atomic.Pointer[State]
	generator atomic.Pointer[Generator]
}

// State returns the present state.
func (s *Service) State() State {
	if st := s.state.Load(); st != nil {
		return *st
	}
	return State{Phase: PhaseLoading}
}

// Changed returns a channel that is closed when the state is next set. Take it
// before State, so that no change is missed.
func (s *Service) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *Service) set(st State) {
	s.state.Store(&st)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// SetLoading reports progress, 0..1, and what is being done.
func (s *Service) SetLoading(progress float64, note string) {
	s.set(State{Phase: PhaseLoading, Progress: progress, Note: note})
}

// SetReady begins to pass requests on to g.
func (s *Service) SetReady(g Generator) {
	s.generator.Store(&g)
	s.set(State{Phase: PhaseReady, Progress: 1})
}

// SetFailed refuses requests with the reason.
func (s *Service) SetFailed(err error) {
	s.set(State{Phase: PhaseFailed, Err: err})
}

// SetStopping refuses new requests; running ones go on.
func (s *Service) SetStopping() {
	s.set(State{Phase: PhaseStopping})
}

// Generate implements Generator; it refuses unless the service is ready.
func (s *Service) Generate(ctx context.Context, r Request) (*Stream, error) {
	switch st := s.State(); st.Phase {
	case PhaseReady:
		return (*s.generator.Load()).Generate(ctx, r)
	case PhaseFailed:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, st.Err)
	case PhaseStopping:
		return nil, ErrClosed
	default:
		return nil, fmt.Errorf("%w (%.0f %%): try again in a moment", ErrLoading, 100*st.Progress)
	}
}

// Info implements Generator; the zero ModelInfo until ready.
func (s *Service) Info() ModelInfo {
	if g := s.generator.Load(); g != nil {
		return (*g).Info()
	}
	return ModelInfo{}
}

// Template implements Generator; the zero TemplateInfo until ready.
func (s *Service) Template() TemplateInfo {
	if g := s.generator.Load(); g != nil {
		return (*g).Template()
	}
	return TemplateInfo{}
}

// Status implements Generator; the zero Status until ready.
func (s *Service) Status() Status {
	if g := s.generator.Load(); g != nil {
		return (*g).Status()
	}
	return Status{}
}

// Schedule returns how the generator decides; false until ready, or where it is
// no Scheduler.
func (s *Service) Schedule() (ScheduleStatus, bool) {
	if g := s.generator.Load(); g != nil {
		if sch, ok := (*g).(Scheduler); ok {
			return sch.Schedule(), true
		}
	}
	return ScheduleStatus{}, false
}
