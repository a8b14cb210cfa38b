package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fake is a server with a handler of the test's.
func fake(t *testing.T, h http.Handler) *server {
	t.Helper()
	srv := httptest.NewServer(h)
	s := &server{name: "fake", url: srv.URL, client: newClient()}
	t.Cleanup(func() { s.client.CloseIdleConnections(); srv.Close() })
	return s
}

func question(tokens int) ask {
	return ask{messages: []message{{"user", "one two three"}}, maxTokens: tokens}
}

func TestReply(t *testing.T) {
	s := fake(t, fakeChat{pace: 2 * time.Millisecond})
	r, err := s.say(t.Context(), question(20))
	if err != nil {
		t.Fatal(err)
	}
	// The comment, the role frame and the usage frame are no tokens.
	if len(r.arrivals) != 20 || r.tokens != 20 || r.promptTokens != 3 || r.cachedTokens != 4 || r.perFrame() != 1 {
		t.Errorf("got %+v", r)
	}
	if r.text != strings.Repeat(" word", 20) || r.ttft() < 2*time.Millisecond {
		t.Errorf("text %q after %v", r.text, r.ttft())
	}
	if tps := r.tps(); tps <= 0 || tps > 500 {
		t.Errorf("%v tokens/s at 2 ms a token", tps)
	}
}

func TestFramesAndStop(t *testing.T) {
	gates := make(chan struct{})
	s := fake(t, fakeChat{gates: gates})
	st := s.open(t.Context(), question(100))
	for range 3 {
		gates <- struct{}{}
	}
	if err := st.frames(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if n := len(st.soFar()); n != 3 {
		t.Errorf("%d frames after 3", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := st.frames(ctx, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a frame that does not come: %v", err)
	}
	st.stop()
	if err := st.frames(t.Context(), 4); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped reply: %v", err)
	}
}

func TestFramesOfAShortReply(t *testing.T) {
	s := fake(t, fakeChat{pace: time.Microsecond})
	st := s.open(t.Context(), question(3))
	if err := st.frames(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "ended after 3 frames") {
		t.Errorf("got %v", err)
	}
}

func TestBadReplies(t *testing.T) {
	const text = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	for _, tt := range []struct{ name, body, says string }{
		{"cut off", text, "ended early"},
		{"no usage", text + "data: [DONE]\n\n", "no usage"},
		{"no text", `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n", "without any text"},
		{"not JSON", "data: {\n\n", "not understood"},
		{"an error", `data: {"error":{"message":"no room"}}` + "\n\n", "no room"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fake(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) }))
			if _, err := s.say(t.Context(), question(2)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q in it", err, tt.says)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	s := fake(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusTooManyRequests) }))
	_, err := s.say(t.Context(), question(2))
	var status *statusError
	if !errors.As(err, &status) || status.code != 429 || !strings.Contains(status.text, "full") {
		t.Errorf("got %v", err)
	}
}
