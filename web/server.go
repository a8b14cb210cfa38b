package web

import (
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"pichat/llm/reader"
	"pichat/web/fault"
	"pichat/web/guard"
	"pichat/web/openai"
	"pichat/web/replies"
	"pichat/web/static"
)

// Server is the HTTP and websocket server of one machine. Its methods may be
// called from any goroutine.
type Server struct {
	config   Config
	hosts    *guard.Hosts
	proxies  *guard.Proxies
	files    *assets
	replies  *replies.Store
	hub      *hub
	api      *openai.API
	upgrader websocket.Upgrader
	handler  http.Handler
	sockets  sync.WaitGroup // connections that are being served
}

// New checks the configuration, reporting every fault at once, and puts a
// server together. It starts nothing.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	hosts, proxies, err := c.validate()
	if err != nil {
		return nil, err
	}
	files, err := newAssets(static.Files)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, hosts: hosts, proxies: proxies, files: files}
	s.replies = replies.NewStore(replies.Config{
		Grace: c.Grace, PerOwner: c.RepliesPerAddress, TargetTPS: c.TargetTPS,
		Verdict: s.verdict, Logger: c.Logger,
	})
	s.hub = newHub(s)
	s.api = openai.New(openai.Config{
		Service: c.Service, MaxBodyBytes: c.MaxBodyBytes, TargetTPS: c.TargetTPS,
		Ping: c.Ping, CheckOrigin: hosts.CheckOrigin, Logger: c.Logger,
	})
	// The origin was checked by hosts before the upgrade.
	s.upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	s.handler = s.middleware(s.routes())
	return s, nil
}

// Handler serves every route. Vitals and State frames need Serve.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) readers() reader.Readers {
	return reader.Readers{Target: s.config.TargetTPS, Average: s.config.AverageTPS}
}

// handler is a request handler that returns what went wrong instead of
// answering it.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	route := func(method, path string, h handler) {
		mux.Handle(method+" "+path, s.answer(h))
		mux.Handle(path, s.answer(func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Allow", method)
			return fault.Newf(http.StatusMethodNotAllowed, fault.CodeMethod,
				"%s does not take %.20q, only %s", r.URL.Path, r.Method, method)
		}))
	}
	route("GET", "/{$}", s.page)
	route("GET", "/static/{name}", s.files.serve)
	route("GET", "/ws", s.socket)
	route("GET", "/healthz", s.health)
	route("GET", "/readyz", s.ready)
	route("GET", "/status", s.status)
	route("POST", "/v1/chat/completions", s.api.ChatCompletions)
	route("GET", "/v1/models", s.api.Models)
	route("GET", "/v1/models/{id}", s.api.Model)
	mux.Handle("/", s.answer(func(_ http.ResponseWriter, r *http.Request) error {
		return fault.Newf(http.StatusNotFound, fault.CodeNotFound, "There is nothing at %.200q. The chat is at /", r.URL.Path)
	}))
	return mux
}

// answer adapts a handler: the one place where errors become answers.
func (s *Server) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers an error: as a JSON object to the API's clients, in words to
// others.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.Of(err)
	if f.Hidden && f.Code != fault.CodeGone {
		s.config.Logger.Error("request failed", "request_id", requestID(r), "path", r.URL.Path, "err", err)
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		openai.WriteError(w, f)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Message + "\n"))
}
