package deploy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"pichat/web/wire"
)

// site is two Pis behind one nginx.
type site struct {
	t    *testing.T
	addr string // of nginx
	pis  map[string]*pi
	from net.IP // where pages are opened; nil is 127.0.0.1
}

func newSite(t *testing.T) *site {
	t.Helper()
	findNginx(t)
	a, b := newPi(t, "a"), newPi(t, "b")
	return &site{t: t, addr: startNginx(t, a.addr, b.addr), pis: map[string]*pi{"a": a, "b": b}}
}

// running is how many replies a Pi writes, those that wait included.
func (p *pi) running() int {
	st := p.engine.Status()
	return st.Running + st.Waiting
}

// request makes a request to nginx by the name that people type.
func (s *site) request(ctx context.Context, method, path, body string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Host = name
	return req
}

// do sends a request on a connection of its own, and reads the answer.
func (s *site) do(req *http.Request) (status int, body string) {
	s.t.Helper()
	req.Close = true
	ctx, cancel := context.WithTimeout(req.Context(), patience)
	defer cancel()
	resp, err := http.DefaultClient.Do(req.WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// page is a browser's page: a websocket with the page's own origin.
type page struct {
	t  *testing.T
	ws *websocket.Conn
	pi string // the one that answers
}

// open opens a page, and asserts that it gets through.
func (s *site) open() *page {
	s.t.Helper()
	ws, status, err := s.dial(name, "http://"+name)
	if err != nil || status != http.StatusSwitchingProtocols {
		s.t.Fatalf("the page's socket: %d %v", status, err)
	}
	s.t.Cleanup(func() { _ = ws.Close() })
	p := &page{t: s.t, ws: ws}
	p.send(wire.FromPage{Type: wire.TypeHello})
	p.pi = p.next(wire.TypeWelcome).Version
	return p
}

// dial opens a websocket as a browser does that shows a page of origin under
// the address host.
func (s *site) dial(host, origin string) (*websocket.Conn, int, error) {
	header := http.Header{"Host": {host}, "Origin": {origin}}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: s.from}}
	dialer := websocket.Dialer{HandshakeTimeout: patience, NetDialContext: from.DialContext}
	ws, resp, err := dialer.Dial("ws://"+s.addr+"/ws", header)
	if resp == nil {
		return nil, 0, err
	}
	return ws, resp.StatusCode, err
}

func (p *page) send(f wire.FromPage) {
	p.t.Helper()
	if err := p.ws.WriteJSON(f); err != nil {
		p.t.Fatal(err)
	}
}

// ask asks a question; the answer ends after so many tokens.
func (p *page) ask(tokens int) {
	p.t.Helper()
	id := fmt.Sprintf("question-%d", time.Now().UnixNano())
	p.send(wire.FromPage{
		Type: wire.TypeAsk, ID: id, Turns: []wire.Turn{{Role: "user", Content: "Go on."}},
		Settings: &wire.Settings{MaxTokens: &tokens},
	})
}

// frame is what tests look at in any frame.
type frame struct {
	Type    string `json:"type"`
	Version string `json:"version"`
	Delta   string `json:"delta"`
	Finish  string `json:"finish"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// next returns the next frame of one of the types.
func (p *page) next(types ...string) frame {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_ = p.ws.SetReadDeadline(deadline)
		var f frame
		if err := p.ws.ReadJSON(&f); err != nil {
			p.t.Fatalf("no frame %v: %v", types, err)
		}
		if slices.Contains(types, f.Type) {
			return f
		}
		if f.Type == wire.TypeError {
			p.t.Fatalf("refused: %s", f.Message)
		}
	}
	p.t.Fatalf("no frame %v in %v", types, patience)
	return frame{}
}

// stream asks the API for a streamed answer, and returns a function that
// returns its next piece of text, "" at its end.
func (s *site) stream(ctx context.Context, tokens int) (next func() string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"stream": true, "max_tokens": %d, "messages": [{"role": "user", "content": "Go on."}]}`, tokens)
	req := s.request(ctx, "POST", "/v1/chat/completions", body)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		s.t.Fatalf("the stream: %s, %s", resp.Status, kind)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		s.t.Helper()
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				s.t.Fatalf("%q: %v", data, err)
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				return chunk.Choices[0].Delta.Content
			}
		}
		return ""
	}
}
