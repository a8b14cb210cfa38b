package main

import (
	"fmt"
	"strings"

	"pichat/cmd/pichat/boot"
	"pichat/llm"
	"pichat/llm/reader"
)

// timingsLine words the measures of a reply in one line: prompt tokens, time
// to first token, tokens, tokens/s, sustained pace, the verdict for a reader of
// target tokens/s, and which model was measured. The words are
// docs/glossary.md's.
func timingsLine(done llm.Done, text string, model llm.ModelInfo, target float64) string {
	t := done.Timings
	v := reader.Judge(
		reader.Answer{Arrivals: t.Arrivals, Thought: t.ThoughtTokens, E2E: t.E2E, Text: text},
		reader.Readers{Target: target, Average: reader.Average})
	figures := []string{
		fmt.Sprintf("%d prompt tokens", t.PromptTokens),
		"TTFT n/a",
		fmt.Sprintf("%d tokens", t.Tokens()),
		"TPS n/a",
		"pace " + pace(v),
	}
	if ttft, ok := t.TTFT(); ok {
		figures[1] = fmt.Sprintf("TTFT %.2f s", ttft.Seconds())
	}
	if tps, ok := t.TPS(); ok && !v.Buffered {
		figures[3] = fmt.Sprintf("TPS %.1f", tps)
	}
	parts := []string{strings.Join(figures, ", "), v.Sentence()}
	if why := cutShort(done, model); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(append(parts, who(model)), " · ")
}

// pace words r*, the pace of the fastest reader who hardly has to wait.
func pace(v reader.Verdict) string {
	switch {
	case v.Buffered:
		return "n/a (buffered)"
	case !v.Paced:
		return fmt.Sprintf("n/a (under %d tokens)", reader.MinTokens)
	case v.Unbounded:
		return "faster than can be told"
	}
	return fmt.Sprintf("%.1f", v.SustainedTPS)
}

// cutShort says why a reply ended before the model ended it; "" where it did.
func cutShort(done llm.Done, model llm.ModelInfo) string {
	switch done.Finish {
	case llm.FinishLength:
		return "cut at the longest reply allowed (--max-tokens)"
	case llm.FinishWindow:
		return fmt.Sprintf("cut at the end of the context window of %d tokens (--context)", model.Window)
	case llm.FinishCancelled:
		return "stopped"
	case llm.FinishError:
		return "failed"
	}
	return ""
}

// who names the model, without which no figure means anything.
func who(model llm.ModelInfo) string {
	s := strings.TrimSpace(model.Name + " " + model.Quantization)
	if model.Parameters > 0 {
		s += fmt.Sprintf(", %s parameters", boot.Count(model.Parameters))
	}
	if note := reader.SizeNote(model.Parameters); note != "" {
		s += " (" + note + ")"
	}
	if model.Scripted {
		s += " (a script, not a model)"
	}
	return s
}
