package pagetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"pichat/llm/reader"
	"pichat/web/markdown"
	"pichat/web/static"
	"pichat/web/views"
	"pichat/web/wire"
)

// stage is a server without an engine: it serves the real views, stylesheet
// and modules under the real content security policy, and plays a script for
// every ask. It keeps the frames of a reply, as the real server does, so that
// a page that comes back gets what it missed.
type stage struct {
	*httptest.Server
	t    *testing.T
	ctx  context.Context
	wg   sync.WaitGroup
	page views.PageModel

	mu      sync.Mutex
	script  func(*reply)
	replies map[string]*reply
	conns   map[*websocket.Conn]bool
	hellos  int
}

// reply is one answer being played.
type reply struct {
	ask     wire.FromPage
	stopped chan struct{} // closed by Stop
	ctx     context.Context

	stage    *stage
	mu       sync.Mutex
	conn     *websocket.Conn // nil while the page is away
	frames   []any
	md       markdown.Stream
	thought  int
	arrivals []time.Duration
}

// newStage starts a stage that plays script for every ask.
func newStage(t *testing.T, page views.PageModel, script func(*reply)) *stage {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stage{t: t, ctx: ctx, page: page, script: script, replies: map[string]*reply{}, conns: map[*websocket.Conn]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.serve)
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static.Files)))
	mux.HandleFunc("GET /ws", s.socket)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		cancel()
		s.drop()
		s.Close()
		s.wg.Wait()
	})
	return s
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'self'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := views.Page(s.page).Render(r.Context(), w); err != nil {
		s.t.Error(err)
	}
}

func (s *stage) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.conns[conn] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	for {
		var f wire.FromPage
		if conn.ReadJSON(&f) != nil {
			return
		}
		switch f.Type {
		case wire.TypeHello:
			s.hello(conn, f)
		case wire.TypeAsk:
			s.asked(conn, f)
		case wire.TypeStop:
			if r := s.reply(f.ID); r != nil {
				close(r.stopped)
			}
		}
	}
}

func (s *stage) hello(conn *websocket.Conn, f wire.FromPage) {
	welcome := wire.Welcome{Type: wire.TypeWelcome, Version: s.page.Version}
	for _, turn := range f.Turns {
		welcome.HTML = append(welcome.HTML, markdown.Document(turn.Content))
	}
	var r *reply
	if f.Resume != nil {
		r = s.reply(f.Resume.ID)
		welcome.Resumed = r != nil
	}
	s.mu.Lock()
	s.hellos++
	s.mu.Unlock()
	if r == nil {
		s.write(conn, welcome)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.write(conn, welcome)
	for _, frame := range r.frames[f.Resume.After:] {
		s.write(conn, frame)
	}
	r.conn = conn
}

func (s *stage) asked(conn *websocket.Conn, f wire.FromPage) {
	r := &reply{ask: f, stopped: make(chan struct{}), ctx: s.ctx, stage: s, conn: conn}
	s.mu.Lock()
	s.replies[f.ID] = r
	script := s.script
	s.mu.Unlock()
	s.wg.Go(func() { script(r) })
}

func (s *stage) reply(id string) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replies[id]
}

// send gives a frame to every page that is there.
func (s *stage) send(frame any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.WriteJSON(frame)
	}
}

// drop cuts all connections, as a lost network would.
func (s *stage) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// write writes under the stage's lock: a connection takes one writer at a
// time. A page that is gone is no fault.
func (s *stage) write(conn *websocket.Conn, frame any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = conn.WriteJSON(frame)
}

func (r *reply) emit(make func(serial int) any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	frame := make(len(r.frames) + 1)
	r.frames = append(r.frames, frame)
	r.stage.write(r.conn, frame)
}

func (r *reply) queued(place int, estimate float64) {
	r.emit(func(n int) any {
		return wire.Queued{Type: wire.TypeQueued, ID: r.ask.ID, Serial: n, Place: place, EstimateS: estimate}
	})
}

func (r *reply) reading(done, of int, estimate float64) {
	r.emit(func(n int) any {
		return wire.Prefilling{Type: wire.TypePrefilling, ID: r.ask.ID, Serial: n, PromptTokens: of, Done: done, EstimateS: estimate}
	})
}

// think sends one token of thought.
func (r *reply) think(text string, at time.Duration) {
	r.arrivals, r.thought = append(r.arrivals, at), r.thought+1
	r.emit(func(n int) any {
		return wire.Text{Type: wire.TypeText, ID: r.ask.ID, Serial: n, Delta: text, Thought: true, Tokens: []int{1}, AtS: []float64{at.Seconds()}}
	})
}

// say sends one frame of tokens, each with its time since the ask. Times may
// lie in the past: the page goes by them, so no test has to wait.
func (r *reply) say(tokens []string, at ...time.Duration) {
	frame := wire.Text{Type: wire.TypeText, ID: r.ask.ID, Delta: strings.Join(tokens, "")}
	for _, a := range at {
		frame.Tokens = append(frame.Tokens, 1)
		frame.AtS = append(frame.AtS, a.Seconds())
	}
	r.arrivals = append(r.arrivals, at...)
	r.md.Write(frame.Delta)
	frame.From, frame.Blocks = r.md.Render()
	r.emit(func(n int) any { frame.Serial = n; return frame })
}

// done ends the reply, with the verdict that the measures give.
func (r *reply) done(finish, fault string) {
	m := verdict(r.arrivals, r.thought)
	m.Finish, m.Error = finish, fault
	frame := wire.Done{Type: wire.TypeDone, ID: r.ask.ID, Finish: finish, HTML: r.stage.render(views.Verdict(m)), Error: fault}
	frame.Timings = wire.Timings{Tokens: m.Tokens, QueueS: m.Queue.Seconds(), PrefillS: m.Prefill.Seconds(), TPS: m.TPS}
	if m.TTFT != nil {
		s := m.TTFT.Seconds()
		frame.Timings.TTFTS = &s
	}
	w := m.Wait.Seconds()
	frame.Timings.ReaderWaitS = &w
	r.emit(func(n int) any { frame.Serial = n; return frame })
}

// verdict fills the view model as the server does.
func verdict(arrivals []time.Duration, thought int) views.VerdictModel {
	m := views.VerdictModel{
		Tokens: len(arrivals), ThoughtTokens: thought, PromptTokens: 41, CachedTokens: 12,
		Prefill: 1200 * time.Millisecond, TargetTPS: reader.Target, AverageTPS: reader.Average,
		Model: "SmolLM2", Size: "135M · Q4_1", Small: true,
	}
	if len(arrivals) == 0 {
		return m
	}
	m.TTFT, m.E2E = &arrivals[0], arrivals[len(arrivals)-1]
	v := reader.Judge(reader.Answer{Arrivals: arrivals, Thought: thought, E2E: m.E2E}, reader.DefaultReaders)
	m.Headline = v.Sentence()
	m.Short, m.Ahead, m.Unbounded = v.Short, v.Ahead, v.Unbounded
	m.Wait, m.WaitAverage = v.Wait, v.WaitAverage
	if v.SustainedTPS > 0 {
		m.SustainedTPS = &v.SustainedTPS
	}
	if v.TPS > 0 {
		wpm := v.TPS * 46
		m.TPS, m.WordsPerMinute, m.FirstAnswer = &v.TPS, &wpm, &arrivals[thought]
	}
	return m
}

// words cuts a text into what stands for tokens here.
func words(text string) []string { return strings.SplitAfter(text, " ") }

// steady is n moments from first on at so many tokens/s.
func steady(n int, first time.Duration, tps float64) []time.Duration {
	at := make([]time.Duration, n)
	for i := range at {
		at[i] = first + time.Duration(float64(i)/tps*float64(time.Second))
	}
	return at
}

// tell says a whole text at a steady rate, all of it in the past.
func (r *reply) tell(text string, first time.Duration, tps float64) {
	tokens := words(text)
	at := steady(len(tokens), first, tps)
	for i := range tokens {
		r.say(tokens[i:i+1], at[i])
	}
}

// wait blocks until the reader presses Stop or the test ends.
func (r *reply) wait() {
	select {
	case <-r.stopped:
	case <-r.ctx.Done():
	}
}

// vitals sends the board's state to every page.
func (s *stage) vitals(m views.BoardModel) {
	frame := wire.Vitals{Type: wire.TypeVitals, HTML: s.render(views.Board(m)), Line: s.render(views.Line(m)), Notices: s.render(views.BoardNotices(m))}
	if m.Now.PaceTPS.Known {
		frame.PaceTPS = &m.Now.PaceTPS.Value
	}
	s.send(frame)
}

func (s *stage) render(c templ.Component) string {
	var html strings.Builder
	if err := c.Render(context.Background(), &html); err != nil {
		s.t.Error(err)
	}
	return html.String()
}
