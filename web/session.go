package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"

	"pichat/llm"
	"pichat/web/chat"
	"pichat/web/fault"
	"pichat/web/markdown"
	"pichat/web/replies"
	"pichat/web/socket"
	"pichat/web/wire"
)

// socket answers GET /ws: it runs one page's connection until it ends.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) error {
	if err := s.hosts.CheckOrigin(r); err != nil {
		return err
	}
	if !websocket.IsWebSocketUpgrade(r) {
		return fault.Newf(http.StatusUpgradeRequired, fault.CodeInvalid, "/ws is the page's websocket: the chat is at /")
	}
	if s.hub.state().Phase == llm.PhaseStopping {
		return llm.ErrClosed
	}
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.config.Logger.Debug("websocket upgrade", "request_id", requestID(r), "err", err)
		return nil // the library has answered
	}
	conn := socket.New(ws, socket.Config{
		MaxFrameBytes: s.config.MaxFrameBytes, Ping: s.config.Ping,
		Logger: s.config.Logger.With("request_id", requestID(r)),
	})
	if !s.hub.add(conn) {
		return ws.Close()
	}
	defer s.hub.remove(conn)
	session := &session{server: s, conn: conn, owner: s.proxies.Client(r), followed: map[string]bool{}}
	conn.Run(session.frame)
	return nil
}

// session is one page's conversation with the server. It belongs to the
// connection's reading goroutine.
type session struct {
	server   *Server
	conn     *socket.Conn
	owner    string
	followed map[string]bool // ids of replies whose frames go to this page
}

// maxTurns bounds a chat; a longer one fits no window.
const maxTurns = 4096

// frame handles one frame of the page. What is wrong with it is answered, and
// the connection goes on.
func (s *session) frame(data []byte) {
	var f wire.FromPage
	if err := json.Unmarshal(data, &f); err != nil {
		s.refuse("", fault.Newf(0, fault.CodeBadFrame, "the frame is not JSON of a known form (%v)", err))
		return
	}
	if len(f.Turns) > maxTurns {
		s.refuse(f.ID, fault.Newf(0, fault.CodeTooLarge, "the chat has %d turns, at most %d are taken: begin a new chat", len(f.Turns), maxTurns))
		return
	}
	var err error
	switch f.Type {
	case wire.TypeHello:
		err = s.hello(f)
	case wire.TypeAsk:
		err = s.ask(f)
	case wire.TypeStop:
		err = s.stop(f)
	default:
		err = fault.Newf(0, fault.CodeBadFrame, "the frame's type %.40q is none of %s, %s, %s", f.Type, wire.TypeHello, wire.TypeAsk, wire.TypeStop)
	}
	if err != nil {
		s.refuse(f.ID, err)
	}
}

func (s *session) refuse(id string, err error) {
	if f := fault.Of(err); f.Hidden {
		s.server.config.Logger.Error("frame failed", "err", err)
	}
	s.conn.Send(wire.ErrorOf(id, err))
}

// hello renders what the page has kept and takes up its reply.
func (s *session) hello(f wire.FromPage) error {
	welcome := wire.Welcome{Type: wire.TypeWelcome, HTML: make([]string, len(f.Turns)), Version: s.server.config.Version}
	for i, t := range f.Turns {
		if t.Role == string(llm.RoleAssistant) {
			welcome.HTML[i] = markdown.Document(t.Content)
		} else {
			welcome.HTML[i] = markdown.Plain(t.Content)
		}
	}
	var reply *replies.Reply
	if f.Resume != nil {
		reply, welcome.Resumed = s.server.replies.Find(f.Resume.ID)
	}
	s.conn.Send(welcome)
	s.server.hub.greet(s.conn)
	if reply != nil {
		s.follow(reply, f.Resume.After)
	}
	return nil
}

func (s *session) follow(r *replies.Reply, after int) {
	if s.followed[r.ID()] {
		return // its frames are on their way already
	}
	s.followed[r.ID()] = true
	s.conn.Follow(r.Watch(after, s.conn.Wake))
}

// ask starts a reply. Everything that can be refused is refused before it
// exists.
func (s *session) ask(f wire.FromPage) error {
	request, err := s.request(f)
	if err != nil {
		return err
	}
	reply, err := s.server.replies.Start(s.owner, f.ID, func(ctx context.Context) (*llm.Stream, error) {
		return s.server.config.Service.Generate(ctx, request)
	})
	if err != nil {
		return err
	}
	s.follow(reply, 0)
	return nil
}

// request translates an ask.
func (s *session) request(f wire.FromPage) (llm.Request, error) {
	if s.server.hub.state().Phase == llm.PhaseStopping {
		return llm.Request{}, llm.ErrClosed
	}
	var messages []llm.Message
	request := llm.Request{Client: s.owner, Sampling: llm.DefaultSampling(), TrimHistory: true}
	if w := f.Settings; w != nil {
		if strings.TrimSpace(w.System) != "" {
			messages = append(messages, llm.Message{Role: llm.RoleSystem, Content: w.System})
		}
		set(&request.Sampling.Temperature, w.Temperature)
		set(&request.Sampling.TopK, w.TopK)
		set(&request.Sampling.TopP, w.TopP)
		set(&request.Sampling.MinP, w.MinP)
		set(&request.Sampling.RepeatPenalty, w.RepeatPenalty)
		set(&request.MaxTokens, w.MaxTokens)
		request.Sampling.Seed, request.Thinking = w.Seed, w.Thinking
	}
	for i, t := range f.Turns {
		role := llm.Role(t.Role)
		if role != llm.RoleUser && role != llm.RoleAssistant {
			return request, fault.Invalid("turns", "turns[%d].role %.40q is neither user nor assistant", i, t.Role)
		}
		if role == llm.RoleAssistant && strings.TrimSpace(t.Content) == "" {
			continue // stopped before its first word
		}
		messages = append(messages, llm.Message{Role: role, Content: t.Content, Thought: t.Thought})
	}
	var err error
	request.Messages, err = chat.Arrange(messages)
	return request, err
}

// set overrides *to with a wish, if there is one.
func set[T any](to, wish *T) {
	if wish != nil {
		*to = *wish
	}
}

// stop cancels a reply; its Done tells. Stopping one that has ended is no
// fault.
func (s *session) stop(f wire.FromPage) error {
	reply, ok := s.server.replies.Find(f.ID)
	if !ok {
		return fault.Newf(http.StatusNotFound, fault.CodeNotFound, "there is no reply %.64q to stop", f.ID)
	}
	reply.Stop()
	return nil
}
