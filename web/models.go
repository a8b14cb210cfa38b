package web

import (
	"fmt"
	"strconv"
	"strings"

	"pichat/llm"
	"pichat/llm/reader"
	"pichat/web/replies"
	"pichat/web/views"
)

// stateModel flattens the service's state for the page.
func (s *Server) stateModel(st llm.State) views.StateModel {
	info, template := s.config.Service.Info(), s.config.Service.Template()
	m := views.StateModel{
		Host: s.config.Hostname, Phase: views.Phase(st.Phase), Progress: st.Progress, Note: st.Note,
		Model: info.Name, Size: sizeOf(info), Scripted: info.Scripted,
		Base: template.Fallback && !info.Scripted, Thinking: template.CanSwitchThinking,
	}
	if info.Scripted {
		m.ScriptPaceTPS = s.config.ScriptPaceTPS
	}
	if better := s.config.Suggest; better != nil && st.Phase == llm.PhaseReady && isTiny(info) {
		m.Better = &views.BetterModel{
			Name: better.Name, PaceTPS: better.PaceTPS, PaceKind: better.PaceKind, Board: better.Board, Command: better.Command,
		}
	}
	if st.Err != nil {
		m.Failure = st.Err.Error()
	}
	return m
}

// isTiny reports whether a model shows how the page works rather than what an
// answer can be.
func isTiny(info llm.ModelInfo) bool {
	return !info.Scripted && info.Parameters > 0 && info.Parameters < 1e9
}

// sizeOf words a model's size, such as "135M · Q4_1"; "" when unknown. A number
// of weights that the model's name says already is not said again.
func sizeOf(info llm.ModelInfo) string {
	size := parameters(info.Parameters)
	switch {
	case size == "", strings.Contains(info.Name, size):
		return info.Quantization
	case info.Quantization == "":
		return size
	}
	return size + " · " + info.Quantization
}

// parameters words a number of weights as model names do: "135M", "1.7B".
func parameters(n uint64) string {
	switch {
	case n == 0:
		return ""
	case n < 999_500_000:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	}
	return strconv.FormatFloat(float64((n+50_000_000)/100_000_000)/10, 'f', -1, 64) + "B"
}

// verdict renders what stands under a finished reply.
func (s *Server) verdict(o replies.Outcome) string {
	return s.fragment(views.Verdict(verdictModel(o, s.config.Service.Info(), s.readers())))
}

// verdictModel flattens a verdict for the page.
func verdictModel(o replies.Outcome, info llm.ModelInfo, r reader.Readers) views.VerdictModel {
	t := o.Done.Timings
	v := reader.Judge(reader.Answer{Arrivals: t.Arrivals, Thought: t.ThoughtTokens, E2E: t.E2E, Text: o.Answer}, r)
	m := views.VerdictModel{
		Finish: string(o.Done.Finish), Error: o.Error, Headline: capitalised(v.Sentence()),
		Tokens: t.Tokens(), ThoughtTokens: t.ThoughtTokens, PromptTokens: t.PromptTokens, CachedTokens: t.CachedTokens,
		Queue: t.Queue, Prefill: t.Prefill, E2E: t.E2E,
		Unbounded: v.Unbounded, Buffered: v.Buffered, Short: v.Short,
		TargetTPS: r.Target, Wait: v.Wait, Ahead: v.Ahead,
		AverageTPS: r.Average, WaitAverage: v.WaitAverage,
		Model: info.Name, Size: sizeOf(info), Small: reader.SizeNote(info.Parameters) != "",
	}
	if d, ok := t.TTFT(); ok {
		m.TTFT = &d
	}
	if d, ok := t.FirstAnswer(); ok {
		m.FirstAnswer = &d
	}
	known := func(v float64) *float64 {
		if v == 0 {
			return nil
		}
		return &v
	}
	m.TPS, m.SustainedTPS = known(v.TPS), known(v.SustainedTPS)
	m.WordsPerMinute, m.CharsPerMinute = known(v.WordsPerMinute), known(v.CharsPerMinute)
	return m
}

// capitalised begins a sentence.
func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
