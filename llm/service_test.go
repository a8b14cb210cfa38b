package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestServicePhases(t *testing.T) {
	var s Service
	ask := func() error {
		_, err := s.Generate(context.Background(), Request{Prompt: "x"})
		return err
	}
	if s.State().Phase != PhaseLoading || !errors.Is(ask(), ErrLoading) {
		t.Errorf("the zero Service is %q and answers %v, want loading", s.State().Phase, ask())
	}
	s.SetLoading(0.4, "reading the model")
	if err := ask(); !errors.Is(err, ErrLoading) || !strings.Contains(err.Error(), "40 %") {
		t.Errorf("while loading: %v, want the progress", err)
	}
	s.SetFailed(errors.New("no such file"))
	if err := ask(); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("after a failure: %v, want its reason", err)
	}
	b := newStub(t, 3, 64, 64)
	s.SetReady(start(t, EngineConfig{Backend: b, Template: plainTemplate{TemplateInfo{Fallback: true}}}))
	if err := ask(); err != nil {
		t.Errorf("when ready: %v", err)
	}
	if s.Info().Name != "stub" || s.Status().Slots != 3 || !s.Template().Fallback {
		t.Errorf("when ready: %+v, %+v, %+v", s.Info(), s.Status(), s.Template())
	}
	s.SetStopping()
	if err := ask(); !errors.Is(err, ErrClosed) {
		t.Errorf("when stopping: %v", err)
	}
}

// Progress that nobody read is replaced, text never is.
func TestStreamKeepsWhatMatters(t *testing.T) {
	s := NewStream("id")
	for i := range 5 {
		s.Send(Queued{Place: 5 - i})
	}
	for i := range 5 {
		s.Send(Prefilling{Done: i})
	}
	s.Send(Delta{Text: "a"})
	s.Send(Delta{Text: "b"})
	s.Send(Done{Finish: FinishStop})
	s.Send(Delta{Text: "late"})
	r := collect(t, s)
	if len(r.queued) != 1 || r.queued[0].Place != 1 || len(r.prefill) != 1 || r.prefill[0].Done != 4 {
		t.Errorf("progress: %+v %+v, want the last of each", r.queued, r.prefill)
	}
	if r.text != "ab" {
		t.Errorf("text %q, want ab", r.text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewStream("x").Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with an ended context: %v", err)
	}
}

// Whoever waits for a change sees each one.
func TestServiceChanged(t *testing.T) {
	var s Service
	for _, set := range []func(){
		func() { s.SetLoading(0.5, "reading") },
		func() { s.SetFailed(errors.New("no file")) },
		s.SetStopping,
	} {
		changed := s.Changed()
		select {
		case <-changed:
			t.Fatal("told a change before there was one")
		default:
		}
		set()
		<-changed
	}
	if s.State().Phase != PhaseStopping {
		t.Errorf("the state is %v", s.State())
	}
}
