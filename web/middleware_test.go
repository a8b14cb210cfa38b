package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pichat/llm/fakellm"
)

// deadlineWriter notes the write deadlines that get through to it.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	writes    []time.Time // the deadline in force at each write
}

func (w *deadlineWriter) SetWriteDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

func (w *deadlineWriter) SetReadDeadline(time.Time) error { return nil }

func (w *deadlineWriter) Write(p []byte) (int, error) {
	w.writes = append(w.writes, w.deadlines[len(w.deadlines)-1])
	return w.ResponseRecorder.Write(p)
}

// Case N5: no deadline spans a whole stream; each piece has its own, through
// every middleware.
func TestEachPieceOfAStreamHasItsOwnDeadline(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 100, Script: fakellm.Say("one two three four five")}})
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "http://localhost/v1/chat/completions",
		strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"x"}]}`))
	b.server.Handler().ServeHTTP(w, r)
	if len(w.writes) < 5 || !w.Flushed || !strings.Contains(w.Body.String(), "[DONE]") {
		t.Fatalf("%d writes, flushed %v: %s", len(w.writes), w.Flushed, w.Body)
	}
	for i := 1; i < len(w.writes); i++ {
		if !w.writes[i].After(w.writes[i-1]) {
			t.Errorf("write %d has the deadline of the one before", i)
		}
	}
}

func TestRecorderPassesControlsThrough(t *testing.T) {
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{ResponseWriter: &recorder{ResponseWriter: w}}
	rc := http.NewResponseController(rec)
	if err := rc.SetWriteDeadline(time.Now()); err != nil || len(w.deadlines) != 1 {
		t.Errorf("deadline: %v", err)
	}
	if err := rc.Flush(); err != nil || !w.Flushed {
		t.Errorf("flush: %v", err)
	}
	if _, err := rec.Write([]byte("abc")); err != nil || rec.status != 200 || rec.bytes != 3 {
		t.Errorf("recorded %d, %d bytes, %v", rec.status, rec.bytes, err)
	}
}
