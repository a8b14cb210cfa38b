package socket

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// pair is both ends of a connection. Run has returned when ended is closed.
type pair struct {
	conn   *Conn
	client *websocket.Conn
	ended  chan struct{}
}

func newPair(t *testing.T, c Config, frame func(*Conn, []byte)) *pair {
	t.Helper()
	p := &pair{ended: make(chan struct{})}
	up := make(chan *Conn, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var upgrader websocket.Upgrader
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			close(p.ended)
			return
		}
		conn := New(ws, c)
		up <- conn
		conn.Run(func(data []byte) { frame(conn, data) })
		close(p.ended)
	}))
	client, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.client, p.conn = client, <-up
	_ = client.SetReadDeadline(time.Now().Add(patience))
	t.Cleanup(func() {
		_ = client.Close()
		p.wait(t)
		srv.Close()
	})
	return p
}

func (p *pair) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Error("the connection has not ended")
	}
}

func (p *pair) read(t *testing.T) string {
	t.Helper()
	_, data, err := p.client.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ignore(*Conn, []byte) {}

// Case N4: pings go out while nothing else does, and keep the connection.
func TestPings(t *testing.T) {
	p := newPair(t, Config{Ping: 5 * time.Millisecond, Silence: 100 * time.Millisecond}, ignore)
	pings := make(chan struct{}, 100)
	p.client.SetPingHandler(func(data string) error {
		select {
		case pings <- struct{}{}:
		default:
		}
		return p.client.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _, _ = p.client.ReadMessage() }) // answers pings
	for range 40 {                                     // twice as long as the silence allowed
		select {
		case <-pings:
		case <-p.ended:
			t.Fatal("a client that answers its pings was dropped")
		}
	}
	_ = p.client.Close()
	wg.Wait()
}

func TestSilentClientIsDropped(t *testing.T) {
	p := newPair(t, Config{Ping: 5 * time.Millisecond, Silence: 50 * time.Millisecond}, ignore)
	p.wait(t) // the client reads nothing, so it answers no ping
}

// block is a frame larger than the kernel holds back for a client.
var block = strings.Repeat("x", 1<<20)

// endless is a source that always has more.
type endless struct {
	conn   *Conn
	closed chan struct{}
}

func (e *endless) Frames() ([]any, bool) {
	e.conn.Wake()
	return []any{block}, false
}

func (e *endless) Close() { close(e.closed) }

// Case N2: a client that does not read is dropped at the write deadline, and
// its sources are let go.
func TestClientThatDoesNotReadIsDropped(t *testing.T) {
	p := newPair(t, Config{WriteTimeout: 50 * time.Millisecond}, ignore)
	source := &endless{conn: p.conn, closed: make(chan struct{})}
	p.conn.Follow(source)
	p.wait(t)
	<-source.closed
}

// A full queue holds up the client that fills it, not for ever.
func TestFloodIsDropped(t *testing.T) {
	p := newPair(t, Config{WriteTimeout: 50 * time.Millisecond}, func(c *Conn, _ []byte) { c.Send(block) })
	for {
		if err := p.client.WriteMessage(websocket.TextMessage, []byte("{}")); err != nil {
			break
		}
	}
	p.wait(t)
}

// A newer frame takes the place of an older one of its kind.
func TestReplace(t *testing.T) {
	c := New(nil, Config{}) // not running: nothing leaves
	c.Replace("a", []byte("a1"))
	c.Replace("b", []byte("b1"))
	c.Replace("a", []byte("a2"))
	if len(c.latest) != 2 || string(c.latest[0].data) != "a2" || string(c.latest[1].data) != "b1" {
		t.Errorf("%d frames wait: %q", len(c.latest), c.latest)
	}
}

// announced is a source whose only frame must follow its announcement.
type announced struct{ n int }

func (a *announced) Frames() ([]any, bool) { return []any{map[string]int{"source": a.n}}, true }
func (*announced) Close()                  {}

func TestSourceComesAfterItsAnnouncement(t *testing.T) {
	p := newPair(t, Config{}, ignore)
	const n = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			p.conn.Send(map[string]int{"announce": i})
			p.conn.Follow(&announced{i})
		}
	})
	seen := map[int]bool{}
	for range 2 * n {
		var f map[string]int
		if err := json.Unmarshal([]byte(p.read(t)), &f); err != nil {
			t.Fatal(err)
		}
		if i, ok := f["announce"]; ok {
			seen[i] = true
		} else if !seen[f["source"]] {
			t.Errorf("source %d came before its announcement", f["source"])
		}
	}
	wg.Wait()
}

func TestCloseAfterTheLastWords(t *testing.T) {
	p := newPair(t, Config{}, ignore)
	for range 20 {
		p.conn.Send("word")
	}
	p.conn.Follow(&announced{})
	p.conn.Close(websocket.CloseGoingAway, "bye")
	p.conn.Close(websocket.CloseNormalClosure, "too late")
	n := 0
	for {
		_, _, err := p.client.ReadMessage()
		if err == nil {
			n++
			continue
		}
		if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("closed with %v", err)
		}
		break
	}
	if n != 21 {
		t.Errorf("%d frames before the close, want 21", n)
	}
	p.wait(t)
	p.conn.Send("nobody hears") // must not hang
}

func TestFrameLimit(t *testing.T) {
	got := make(chan int, 4)
	p := newPair(t, Config{MaxFrameBytes: 1000}, func(_ *Conn, data []byte) { got <- len(data) })
	if err := p.client.WriteMessage(websocket.TextMessage, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != 1000 {
		t.Errorf("%d bytes", n)
	}
	if err := p.client.WriteMessage(websocket.TextMessage, make([]byte, 1001)); err != nil {
		t.Fatal(err)
	}
	if f := p.read(t); !strings.Contains(f, "too_large") || !strings.Contains(f, "1000") {
		t.Errorf("got %s", f)
	}
	if _, _, err := p.client.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		t.Errorf("closed with %v", err)
	}
	p.wait(t)
}
