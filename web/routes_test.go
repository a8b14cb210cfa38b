package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/sysmon"
	"pichat/web/wire"
)

var paths = []string{"/", "/static/page.css", "/ws", "/healthz", "/readyz", "/status", "/v1/models", "/v1/chat/completions", "/nothing"}

// Case N7: no route answers to a name that is not this machine's.
func TestForeignHostIsRefusedEverywhere(t *testing.T) {
	b := newBox(t, boxConfig{web: Config{AllowHosts: []string{"Chat.Example.org"}}})
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			resp, body := b.do(method, path, "evil.test", nil)
			if resp.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(body, "--allow-host evil.test") {
				t.Errorf("%s %s: %s %q", method, path, resp.Status, body)
			}
		}
	}
	for _, host := range []string{"testbox", "TESTBOX.local:8080", "localhost", "chat.example.org.:443", "10.1.2.3", "[fe80::1]:80"} {
		if resp, body := b.do("GET", "/healthz", host, nil); resp.StatusCode != 200 {
			t.Errorf("%s: %s %q", host, resp.Status, body)
		}
	}
}

// Case N7: no other site's page opens a socket or asks the model.
func TestForeignOriginIsRefused(t *testing.T) {
	b := newBox(t, boxConfig{})
	foreign := []string{"http://evil.test", "http://203.0.113.7", "null", strings.Replace(b.url, "127.0.0.1", "localhost", 1)}
	for _, origin := range foreign {
		_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(b.url, "http")+"/ws", http.Header{"Origin": {origin}})
		if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("socket from %s: %v %v", origin, resp, err)
		}
		resp, body := b.do("POST", "/v1/chat/completions", "", http.Header{"Origin": {origin}})
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "--allow-host") {
			t.Errorf("POST from %s: %s %q", origin, resp.Status, body)
		}
	}
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(b.url, "http")+"/ws", http.Header{"Origin": {b.url}})
	if err != nil {
		t.Fatalf("own origin: %v", err)
	}
	_ = ws.Close()
}

func TestUnknownPathsAndMethods(t *testing.T) {
	b := newBox(t, boxConfig{})
	tests := []struct {
		method, path string
		status       int
		json         bool
	}{
		{"GET", "/nothing", 404, false},
		{"GET", "/static/nothing.js", 404, false},
		{"GET", "/static/../doc.go", 404, false},
		{"POST", "/", 405, false},
		{"DELETE", "/healthz", 405, false},
		{"GET", "/ws", 426, false},
		{"GET", "/v1/nothing", 404, true},
		{"GET", "/v1/chat/completions", 405, true},
		{"POST", "/v1/models", 405, true},
		{"GET", "/v1/models/other", 404, true},
	}
	for _, tt := range tests {
		resp, body := b.do(tt.method, tt.path, "", nil)
		if resp.StatusCode != tt.status {
			t.Errorf("%s %s: %s, want %d", tt.method, tt.path, resp.Status, tt.status)
		}
		if tt.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
		var doc struct {
			Error struct{ Message, Type, Code string }
		}
		if err := json.Unmarshal([]byte(body), &doc); (err == nil && doc.Error.Message != "") != tt.json {
			t.Errorf("%s %s: body %q", tt.method, tt.path, body)
		}
	}
}

func TestEveryAnswerHoldsTheBrowser(t *testing.T) {
	b := newBox(t, boxConfig{})
	for _, path := range paths {
		resp, _ := b.get(path)
		h := resp.Header
		for _, part := range []string{"default-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: no %s", path, part)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", path, h)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s sends %s", path, name)
			}
		}
	}
}

func TestPageAndFiles(t *testing.T) {
	b := newBox(t, boxConfig{web: Config{Hostname: "kitchen", Addresses: []string{"http://192.0.2.7:8080"}}})
	resp, body := b.get("/")
	if resp.StatusCode != 200 || !strings.Contains(body, "kitchen") || !strings.Contains(body, "http://192.0.2.7:8080") {
		t.Errorf("page: %s %.300q", resp.Status, body)
	}
	if strings.Contains(body, " style=") || strings.Contains(body, " onclick=") {
		t.Error("the page carries inline style or script, which its policy forbids")
	}
	resp, css := b.get("/static/page.css")
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") || css == "" {
		t.Errorf("style: %s %v", resp.Status, resp.Header)
	}
	etag := resp.Header.Get("ETag")
	if resp, _ := b.do("GET", "/static/page.css", "", http.Header{"If-None-Match": {etag}}); resp.StatusCode != http.StatusNotModified {
		t.Errorf("unchanged file: %s", resp.Status)
	}
	if resp, _ := b.do("GET", "/static/main.js", "", nil); !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("module: %v", resp.Header)
	}
	resp, _ = b.do("GET", "/static/page.css", "", http.Header{"Accept-Encoding": {"gzip"}})
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Error("the style is not compressed")
	}
}

func TestReadyFollowsTheModel(t *testing.T) {
	b := newBox(t, boxConfig{unready: true})
	ready := func() (int, stateJSON, bool) {
		resp, body := b.get("/readyz")
		var doc struct {
			Ready bool
			stateJSON
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		return resp.StatusCode, doc.stateJSON, doc.Ready
	}
	b.service.SetLoading(0.4, "checking the file")
	if status, st, ok := ready(); status != 503 || ok || st.Phase != llm.PhaseLoading || st.Progress != 0.4 || st.Note != "checking the file" {
		t.Errorf("loading: %d %+v", status, st)
	}
	if resp, body := b.get("/v1/models"); resp.StatusCode != 503 || !strings.Contains(body, "loading") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("models while loading: %s %q", resp.Status, body)
	}
	b.service.SetFailed(errors.New("m.gguf: the file is truncated"))
	if status, st, ok := ready(); status != 503 || ok || !strings.Contains(st.Error, "truncated") {
		t.Errorf("failed: %d %+v", status, st)
	}
	b.service.SetReady(b.engine)
	if status, _, ok := ready(); status != 200 || !ok {
		t.Errorf("ready: %d", status)
	}
}

func TestStatusLeavesUnknownOut(t *testing.T) {
	snap := sysmon.Snapshot{At: time.Now()}
	snap.CPU.TempCelsius = sysmon.Measured(61.5, "test")
	b := newBox(t, boxConfig{fake: fakellm.Config{Slots: 3, Window: 512}, web: Config{
		Vitals: sysmon.Fixed(snap), Build: Build{Program: "Cortex-A76, by --cpu=native", Flavour: "a76"}}})
	_, body := b.get("/status")
	var doc struct {
		Version string
		Build   map[string]any
		Engine  struct{ Slots int }
		Model   struct {
			ContextWindow int `json:"context_window"`
			Meta          struct{ Slots int }
		}
		Vitals struct {
			CPU struct {
				Temp map[string]any `json:"temp_celsius"`
				Busy map[string]any `json:"busy_percent"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "v1-test" || doc.Engine.Slots != 3 || doc.Model.ContextWindow != 512 || doc.Model.Meta.Slots != 3 {
		t.Errorf("got %s", body)
	}
	if len(doc.Build) != 2 || doc.Build["flavour"] != "a76" || doc.Build["program"] != "Cortex-A76, by --cpu=native" {
		t.Errorf("build %+v, want what is known alone", doc.Build)
	}
	if doc.Vitals.CPU.Temp["value"] != 61.5 || len(doc.Vitals.CPU.Busy) != 0 {
		t.Errorf("vitals %+v", doc.Vitals)
	}
}

// /status and the page show T(B) as it was measured, and why somebody waits.
func TestScheduleIsShown(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Slots: 2, Pace: 50, Script: fakellm.Endless("x ")}})
	c := b.dial()
	c.hello(nil)
	c.ask("the-first-1", "go")
	var doc struct {
		Engine struct {
			Schedule struct {
				Decision string
				Steps    []struct {
					Streams, Measured int
					Pace              float64 `json:"pace_tps"`
				}
				Slots []struct{ State string }
			}
		}
	}
	b.until("a step was measured", func() bool {
		_, body := b.get("/status")
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Fatal(err)
		}
		return len(doc.Engine.Schedule.Steps) > 0
	})
	s := doc.Engine.Schedule
	if s.Steps[0].Pace < 35 || s.Steps[0].Pace > 55 || s.Steps[0].Measured == 0 || s.Decision != "nobody else is running" {
		t.Errorf("schedule %+v, want about 50 tok/s with one stream", s)
	}
	if len(s.Slots) != 2 || s.Slots[0].State != "decode" || s.Slots[1].State != "idle" {
		t.Errorf("slots %+v", s.Slots)
	}
	b.until("the page shows it", func() bool { return strings.Contains(fmt.Sprint(c.until(wire.TypeVitals).HTML), "at once: 1 at ") })
}

// Case M2: health, readiness and status never wait for the engine.
func TestHealthDuringALongPrefill(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{PrefillSpeed: 2, Script: fakellm.Endless("word ")}})
	c := b.dial()
	c.hello(nil)
	c.ask("long-prefill-1", strings.Repeat("many words ", 100))
	b.until("prefill", func() bool { return b.backend.Counters().Evaluations > 0 })
	for range 5 {
		for _, path := range []string{"/healthz", "/readyz", "/status", "/v1/models", "/"} {
			begin := time.Now()
			resp, _ := b.get(path)
			if took := time.Since(begin); resp.StatusCode != 200 || took > 200*time.Millisecond {
				t.Errorf("%s: %s after %v", path, resp.Status, took)
			}
		}
	}
}

func TestPanicIsAPlain500(t *testing.T) {
	b := newBox(t, boxConfig{})
	h := b.server.middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") }))
	rec := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/v1/x", nil)
	h.ServeHTTP(rec, r)
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "secret") || !strings.Contains(rec.Body.String(), `"server_error"`) {
		t.Errorf("got %d %q", rec.Code, rec.Body)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(Config{AllowHosts: []string{"a b", "c/d"}, Grace: -1, TargetTPS: -2})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"Service", `"a b"`, `"c/d"`, "Grace", "TargetTPS -2"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %s", err, part)
		}
	}
}
