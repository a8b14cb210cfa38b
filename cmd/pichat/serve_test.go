package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"pichat/cmd/pichat/handover"
	"pichat/web/wire"
)

// serving is a pichat that serves inside the test's process.
type serving struct {
	url    string
	stdout *safeBuffer
	stderr *safeBuffer
	stop   context.CancelFunc
	ended  chan int
}

var hereURL = regexp.MustCompile(`on this machine +(http://127\.0\.0\.1:\d+)/`)

// serveInside starts serve on a free port and waits for its address. The test
// ends with the server stopped in good order.
func serveInside(t *testing.T, args ...string) *serving {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &serving{stdout: new(safeBuffer), stderr: new(safeBuffer), stop: stop, ended: make(chan int, 1)}
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	environ := []string{"XDG_CACHE_HOME=" + t.TempDir(), "PICHAT_CONFIG=/dev/null"}
	go func() { s.ended <- run(ctx, args, environ, strings.NewReader(""), s.stdout, s.stderr) }()
	t.Cleanup(func() {
		stop()
		if status := s.wait(t); status != statusOK {
			t.Errorf("ended with status %d: %s", status, s.stderr)
		}
	})
	eventually(t, "an address", func() bool {
		m := hereURL.FindStringSubmatch(s.stdout.String())
		if m != nil {
			s.url = m[1]
		}
		return m != nil
	})
	return s
}

// wait returns the status with which the server ended.
func (s *serving) wait(t *testing.T) int {
	t.Helper()
	select {
	case status := <-s.ended:
		s.ended <- status
		return status
	case <-time.After(20 * time.Second):
		t.Fatalf("it did not end:\n%s", s.stderr)
		return -1
	}
}

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 30 s", what)
		}
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// page is a client of the page's websocket.
type page struct {
	t    *testing.T
	conn *websocket.Conn
}

func openPage(t *testing.T, url string) *page {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &page{t, conn}
	p.send(wire.FromPage{Type: wire.TypeHello})
	p.until(wire.TypeWelcome)
	return p
}

func (p *page) send(frame wire.FromPage) {
	p.t.Helper()
	if err := p.conn.WriteJSON(frame); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) ask(text string) {
	p.t.Helper()
	p.send(wire.FromPage{Type: wire.TypeAsk, ID: "0123456789abcdef", Turns: []wire.Turn{{Role: "user", Content: text}}})
}

// frame is what tests look at in any frame.
type frame struct {
	Type   string `json:"type"`
	Delta  string `json:"delta"`
	Finish string `json:"finish"`
	Error  string `json:"error"`
	Code   string `json:"code"`
}

// until reads frames up to one of the types and returns it, and the text of
// those before.
func (p *page) until(types ...string) (last frame, text string) {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		var f frame
		_, data, err := p.conn.ReadMessage()
		if err != nil {
			p.t.Fatalf("no frame %v: %v", types, err)
		}
		if err := json.Unmarshal(data, &f); err != nil {
			p.t.Fatal(err)
		}
		text += f.Delta
		for _, want := range types {
			if f.Type == want {
				return f, text
			}
		}
	}
}

func TestServeAScript(t *testing.T) {
	defer goleak.VerifyNone(t)
	defer http.DefaultClient.CloseIdleConnections()
	defer func(was handover.Half) { half = was }(half)
	half.Reason = "baseline, by --cpu=baseline"
	s := serveInside(t, "--backend", "scripted", "--pace", "1000")
	// What may explain a pace comes first of all.
	eventually(t, "a line in the log", func() bool { return strings.Contains(s.stderr.String(), "\n") })
	if first, _, _ := strings.Cut(s.stderr.String(), "\n"); !strings.Contains(first, `program="baseline, by --cpu=baseline"`) || !strings.Contains(first, "flavour=") {
		t.Errorf("the log begins with %s", first)
	}
	if _, body := get(t, s.url+"/status"); !strings.Contains(body, `"program":"baseline, by --cpu=baseline"`) || !strings.Contains(body, `"flavour":"`) {
		t.Errorf("/status does not say which program runs: %s", body)
	}
	if status, body := get(t, s.url+"/healthz"); status != 200 || !strings.Contains(body, version) {
		t.Errorf("/healthz: %d %s", status, body)
	}
	eventually(t, "readiness", func() bool { status, _ := get(t, s.url+"/readyz"); return status == 200 })
	if status, body := get(t, s.url+"/"); status != 200 || !strings.Contains(strings.ToLower(body), "script") {
		t.Errorf("the page does not say that it is scripted: %d\n%s", status, body)
	}
	p := openPage(t, s.url)
	p.ask("Hello?")
	done, text := p.until(wire.TypeDone, wire.TypeError)
	if done.Type != wire.TypeDone || done.Finish != "stop" || text == "" {
		t.Errorf("got %+v after %q", done, text)
	}
	_ = p.conn.Close()
	s.stop()
	s.wait(t)
	if strings.Contains(s.stderr.String(), "Hello?") {
		t.Errorf("the log holds what was asked:\n%s", s.stderr)
	}
}

func TestServeAModel(t *testing.T) {
	s := serveInside(t, "--model", model(t, smolLM), "--slots", "2", "--context", "1024")
	if status, _ := get(t, s.url+"/healthz"); status != 200 {
		t.Error("it does not answer while it loads")
	}
	eventually(t, "readiness", func() bool { status, _ := get(t, s.url+"/readyz"); return status == 200 })
	p := openPage(t, s.url)
	p.ask("Why is the sky blue? One sentence.")
	done, text := p.until(wire.TypeDone, wire.TypeError)
	if done.Type != wire.TypeDone || len(text) < 10 {
		t.Errorf("got %+v after %q", done, text)
	}
	for _, want := range []string{"msg=ready", "slots=2", "window=1024", "kv=", "llama_cpp="} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, s.stderr)
		}
	}
}

func TestServeOnABusyPort(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	r := runInside(t.Context(), t, "", "serve", "--backend", "scripted", "--listen", busy.Addr().String())
	if r.status != statusFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "in use by another program") || !strings.Contains(r.stderr, "--listen") {
		t.Errorf("got %+v", r)
	}
}

func TestServeFaultsAreUsage(t *testing.T) {
	r := runInside(t.Context(), t, "", "serve", "--slots", "0", "--nonsense")
	if r.status != statusUsage || !strings.Contains(r.stderr, "--slots 0") || !strings.Contains(r.stderr, "--nonsense") {
		t.Errorf("got %+v", r)
	}
}

// A server whose model is bad shows why for a moment, and ends with a status
// other than 0.
func TestServeABadModel(t *testing.T) {
	for name, file := range map[string]string{"text": write(t, "no model"), "crash": aborting(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := l.Addr().String()
			_ = l.Close()
			ended := make(chan result, 1)
			go func() { ended <- runInside(t.Context(), t, "", "serve", "--listen", addr, "--model", file) }()
			eventually(t, "reason on /readyz", func() bool {
				status, body := get(t, "http://"+addr+"/readyz")
				return status == 503 && strings.Contains(body, "failed") && strings.Contains(body, file)
			})
			r := <-ended
			if r.status != statusFailed || !strings.Contains(r.stderr, "pichat: ") || !strings.Contains(r.stderr, file) {
				t.Errorf("got %+v", r)
			}
		})
	}
}
