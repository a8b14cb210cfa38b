package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"

	"github.com/a-h/templ"

	"pichat/llm"
	"pichat/llm/reader"
	"pichat/web/views"
	"pichat/web/wire"
)

// page answers GET / with the whole document.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	html, err := s.pageHTML()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept-Encoding")
	var packed []byte
	if acceptsGzip(r) {
		packed = compress(html, gzip.BestSpeed)
	}
	writeBody(w, r, html, packed)
	return nil
}

func (s *Server) pageHTML() ([]byte, error) { return render(views.Page(s.pageModel())) }

// questions are offered on the empty page: short, and answerable by a small
// model.
var questions = []string{
	"Why is the sky blue?",
	"Explain photosynthesis to a child.",
	"Write a short poem about the sea.",
}

func (s *Server) pageModel() views.PageModel {
	c := s.config
	sampling := llm.DefaultSampling()
	m := views.PageModel{
		Version: c.Version, Host: c.Hostname,
		State: s.stateModel(s.hub.state()), Board: s.boardModel(),
		Empty: views.EmptyModel{Board: s.boardName(), Questions: questions},
		Settings: views.SettingsModel{
			Temperature: sampling.Temperature, TopK: sampling.TopK, TopP: sampling.TopP, MinP: sampling.MinP,
			RepeatPenalty: 1, MaxTokens: c.MaxTokens, Window: c.Service.Info().Window,
		},
		TargetTPS: c.TargetTPS, AverageTPS: c.AverageTPS, PatienceS: reader.Patience.Seconds(),
		MaxInput: int(c.MaxFrameBytes / 4),
	}
	if len(c.Addresses) > 0 {
		m.Empty.Address = c.Addresses[0]
	}
	return m
}

// stateFrame tells pages what the model is doing.
func (s *Server) stateFrame(st llm.State) wire.State {
	m := s.stateModel(st)
	return wire.State{
		Type: wire.TypeState, Phase: string(st.Phase), Progress: st.Progress, Note: st.Note,
		HTML: s.fragment(views.Header(m)), Notices: s.fragment(views.StateNotices(m)), Thinking: m.Thinking,
	}
}

// vitalsFrame tells pages how the board is.
func (s *Server) vitalsFrame() wire.Vitals {
	m := s.boardModel()
	v := wire.Vitals{
		Type: wire.TypeVitals, HTML: s.fragment(views.Board(m)), Line: s.fragment(views.Line(m)),
		Notices: s.fragment(views.BoardNotices(m)),
	}
	if m.Now.PaceTPS.Known {
		v.PaceTPS = &m.Now.PaceTPS.Value
	}
	return v
}

// encode writes a frame; a failure is a fault of ours and leaves it out.
func (s *Server) encode(frame any) []byte {
	data, err := wire.Encode(frame)
	if err != nil {
		s.config.Logger.Error("frame not encoded", "err", err)
		return nil
	}
	return data
}

// fragment renders a part of the page; a failure is a fault of ours and
// leaves it empty.
func (s *Server) fragment(c templ.Component) string {
	html, err := render(c)
	if err != nil {
		s.config.Logger.Error("fragment not rendered", "err", err)
	}
	return string(html)
}

func render(c templ.Component) ([]byte, error) {
	var buf bytes.Buffer
	if err := c.Render(context.Background(), &buf); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return buf.Bytes(), nil
}
