package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/sysmon"
	"pichat/web/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to happen.
const patience = 10 * time.Second

// box is a whole server on a real listener: the engine on a scripted backend.
type box struct {
	t       *testing.T
	server  *Server
	service *llm.Service
	backend *fakellm.Backend
	engine  *llm.Engine
	url     string // http://127.0.0.1:port
	stop    func() error
}

type boxConfig struct {
	fake  fakellm.Config
	queue int
	web   Config
	// unready leaves the service loading.
	unready bool
}

func newBox(t *testing.T, c boxConfig) *box {
	t.Helper()
	if c.queue == 0 {
		c.queue = 8
	}
	b := &box{t: t, service: &llm.Service{}, backend: fakellm.New(c.fake)}
	b.engine = llm.NewEngine(llm.EngineConfig{Backend: b.backend, Template: fakellm.Template{}, QueueLimit: c.queue, MaxTokens: 3000})
	if !c.unready {
		b.service.SetReady(b.engine)
	}
	c.web.Service = b.service
	if c.web.Vitals == nil {
		c.web.Vitals = sysmon.Fixed(sysmon.Snapshot{At: time.Now()})
	}
	if c.web.Hostname == "" {
		c.web.Hostname = "testbox"
	}
	c.web.Version = "v1-test"
	server, err := New(c.web)
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var engine, serve sync.WaitGroup
	engine.Go(func() {
		if err := b.engine.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("engine: %v", err)
		}
	})
	serving, stopServing := context.WithCancel(context.Background())
	var serveErr error
	serve.Go(func() { serveErr = server.Serve(serving, ln) })
	b.stop = sync.OnceValue(func() error {
		stopServing()
		serve.Wait()
		cancel()
		engine.Wait()
		return serveErr
	})
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}

// get asks with a Host header.
func (b *box) do(method, path, host string, header http.Header) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequest(method, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Host = host
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(body)
}

func (b *box) get(path string) (*http.Response, string) { return b.do("GET", path, "", nil) }

// idle waits until the engine has nothing to do.
func (b *box) idle() {
	b.t.Helper()
	b.until("the engine is idle", func() bool { st := b.engine.Status(); return st.Running == 0 && st.Waiting == 0 })
}

// until waits for a condition that another goroutine brings about.
func (b *box) until(what string, ok func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited %v for: %s", patience, what)
		}
		<-time.After(time.Millisecond)
	}
}

// client is a page without a browser.
type client struct {
	b  *box
	ws *websocket.Conn
}

// frame is any frame from the server.
type frame struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Serial    int          `json:"serial"`
	HTML      any          `json:"html"`
	Resumed   bool         `json:"resumed"`
	Version   string       `json:"version"`
	Phase     string       `json:"phase"`
	Line      string       `json:"line"`
	Progress  float64      `json:"progress"`
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	Delta     string       `json:"delta"`
	Thought   bool         `json:"thought"`
	Tokens    []int        `json:"tokens"`
	AtS       []float64    `json:"at_s"`
	From      int          `json:"from"`
	Blocks    []string     `json:"blocks"`
	Finish    string       `json:"finish"`
	Timings   wire.Timings `json:"timings"`
	Place     int          `json:"place"`
	Done      int          `json:"done"`
	LeftOut   int          `json:"left_out"`
	Prompt    int          `json:"prompt_tokens"`
	EstimateS float64      `json:"estimate_s"`
}

func (b *box) dial() *client {
	b.t.Helper()
	ws, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(b.url, "http")+"/ws", nil)
	if err != nil {
		b.t.Fatalf("dial: %v (%v)", err, resp)
	}
	c := &client{b, ws}
	b.t.Cleanup(c.close)
	return c
}

func (c *client) close() { _ = c.ws.Close() }

func (c *client) send(f any) {
	c.b.t.Helper()
	if err := c.ws.WriteJSON(f); err != nil {
		c.b.t.Fatalf("send: %v", err)
	}
}

// next returns the next frame that is not vitals or state.
func (c *client) next() frame {
	c.b.t.Helper()
	for begin := time.Now(); ; {
		if time.Since(begin) > patience { // vitals alone keep the reading going
			c.b.t.Fatalf("nothing but vitals for %v", patience)
		}
		if f := c.any(); f.Type != wire.TypeVitals && f.Type != wire.TypeState {
			return f
		}
	}
}

func (c *client) any() frame {
	c.b.t.Helper()
	f, err := c.read()
	if err != nil {
		c.b.t.Fatalf("read: %v", err)
	}
	return f
}

func (c *client) read() (f frame, err error) {
	_ = c.ws.SetReadDeadline(time.Now().Add(patience))
	_, data, err := c.ws.ReadMessage()
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(data, &f)
}

// until returns the next frame of a type and skips others.
func (c *client) until(kind string) frame {
	c.b.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; {
		if f := c.any(); f.Type == kind {
			return f
		}
	}
	c.b.t.Fatalf("no %s frame for %v", kind, patience)
	return frame{}
}

func (c *client) hello(resume *wire.Resume, turns ...wire.Turn) frame {
	c.b.t.Helper()
	c.send(wire.FromPage{Type: wire.TypeHello, Turns: turns, Resume: resume})
	return c.until(wire.TypeWelcome)
}

func (c *client) ask(id, text string) {
	c.b.t.Helper()
	c.send(wire.FromPage{Type: wire.TypeAsk, ID: id, Turns: []wire.Turn{{Role: "user", Content: text}}})
}

// answer collects a reply until its Done.
func (c *client) answer(id string) (text string, tokens int, done frame) {
	c.b.t.Helper()
	for {
		f := c.next()
		if f.ID != id {
			c.b.t.Fatalf("a frame of %q: %+v", f.ID, f)
		}
		switch f.Type {
		case wire.TypeText:
			text += f.Delta
			for _, n := range f.Tokens {
				tokens += n
			}
		case wire.TypeDone:
			return text, tokens, f
		case wire.TypeError:
			c.b.t.Fatalf("refused: %s", f.Message)
		}
	}
}
