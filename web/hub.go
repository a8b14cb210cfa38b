package web

import (
	"context"
	"sync"
	"time"

	"pichat/llm"
	"pichat/sysmon"
	"pichat/web/socket"
	"pichat/web/wire"
)

// hub tells every open page what concerns all of them: vitals once a tick,
// rendered once for all, and the model's state when it changes. It renders
// only while pages are open.
type hub struct {
	server *Server

	mu       sync.Mutex
	conns    map[*socket.Conn]bool // true once it has had its first frames
	stopping bool
	closed   bool        // refuses connections
	told     llm.State   // the state of stateFrame
	frame    []byte      // the encoded State frame
	paces    *paceRecord // of the page's replies
}

func newHub(s *Server) *hub {
	return &hub{server: s, conns: map[*socket.Conn]bool{}, paces: newPaceRecord(s.config.Tick)}
}

// run sends frames until ctx ends.
func (h *hub) run(ctx context.Context) {
	tick := time.NewTicker(h.server.config.Tick)
	defer tick.Stop()
	for {
		changed := h.server.config.Service.Changed()
		if h.pages() > 0 {
			h.sendState()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.paces.add(h.server.replies.Pace())
			h.sendVitals()
		case <-changed:
		}
	}
}

// state is the service's, but for a server that is stopping.
func (h *hub) state() llm.State {
	st := h.server.config.Service.State()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		st = llm.State{Phase: llm.PhaseStopping}
	}
	return st
}

// pages is the number of open sockets.
func (h *hub) pages() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// add counts a connection in; false when the server is closing.
func (h *hub) add(c *socket.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns[c] = false
	h.server.sockets.Add(1)
	return true
}

func (h *hub) remove(c *socket.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.server.sockets.Done()
}

// greet sends a page its first State and Vitals and includes it from then on.
func (h *hub) greet(c *socket.Conn) {
	vitals := h.vitalsFrame()
	state := h.stateFrame(h.state())
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.conns[c]; !ok {
		return
	}
	h.conns[c] = true
	c.Replace(wire.TypeState, state)
	c.Replace(wire.TypeVitals, vitals)
}

// sendState sends the state to every page if it has changed.
func (h *hub) sendState() {
	st := h.state()
	h.mu.Lock()
	same := h.frame != nil && sameState(st, h.told)
	h.mu.Unlock()
	if same {
		return
	}
	h.broadcast(wire.TypeState, h.stateFrame(st))
}

// stateFrame is the encoded frame of a state.
func (h *hub) stateFrame(st llm.State) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frame == nil || !sameState(st, h.told) {
		h.frame, h.told = h.server.encode(h.server.stateFrame(st)), st
	}
	return h.frame
}

// sameState compares what pages see. An error may be of a type that cannot be
// compared.
func sameState(a, b llm.State) bool {
	failed := func(st llm.State) string {
		if st.Err == nil {
			return ""
		}
		return st.Err.Error()
	}
	return a.Phase == b.Phase && a.Progress == b.Progress && a.Note == b.Note && failed(a) == failed(b)
}

func (h *hub) sendVitals() {
	if h.pages() > 0 {
		h.broadcast(wire.TypeVitals, h.vitalsFrame())
	}
}

func (h *hub) vitalsFrame() []byte {
	return h.server.encode(h.server.vitalsFrame())
}

func (h *hub) broadcast(kind string, data []byte) {
	if data == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c, greeted := range h.conns {
		if greeted {
			c.Replace(kind, data)
		}
	}
}

// stop tells every page that the server ends.
func (h *hub) stop() {
	h.mu.Lock()
	h.stopping = true
	h.mu.Unlock()
	h.sendState()
}

// close ends every connection and refuses new ones.
func (h *hub) close(code int, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for c := range h.conns {
		c.Close(code, reason)
	}
}

// paceRecord is the pace of the page's replies over the last minutes. It is
// safe for concurrent use.
type paceRecord struct {
	mu     sync.Mutex
	series sysmon.Series // oldest first, one point a tick
	most   int
}

// timeline is the stretch of time that the panel draws.
const timeline = 10 * time.Minute

func newPaceRecord(tick time.Duration) *paceRecord {
	return &paceRecord{most: max(1, int(timeline/tick))}
}

func (p *paceRecord) add(pace float64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.series) >= 2*p.most {
		p.series = append(p.series[:0], p.series[len(p.series)-p.most:]...)
	}
	p.series = append(p.series, sysmon.Point{Value: pace, Known: known})
}

// last returns a copy of the last stretch, gaps where there was no tick yet.
func (p *paceRecord) last() sysmon.Series {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(sysmon.Series, p.most)
	have := p.series[max(0, len(p.series)-p.most):]
	copy(out[p.most-len(have):], have)
	return out
}
