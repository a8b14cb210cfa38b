package wire

import (
	"math"
	"time"

	"pichat/llm"
	"pichat/llm/reader"
)

// TimingsOf puts a reply's measures into the form of the page and the API.
// ReaderWaitS is for a reader of target tokens/s.
func TimingsOf(t llm.Timings, target float64) Timings {
	w := Timings{
		PromptTokens:  t.PromptTokens,
		CachedTokens:  t.CachedTokens,
		Tokens:        t.Tokens(),
		ThoughtTokens: t.ThoughtTokens,
		QueueS:        Seconds(t.Queue),
		PrefillS:      Seconds(t.Prefill),
		E2ES:          Seconds(t.E2E),
	}
	if d, ok := t.TTFT(); ok {
		w.TTFTS = seconds(d)
	}
	if d, ok := t.FirstAnswer(); ok {
		w.FirstAnswerS = seconds(d)
	}
	if d, ok := t.TPOT(); ok {
		w.TPOTS = seconds(d)
	}
	if v, ok := t.TPS(); ok {
		w.TPS = &v
	}
	if v, ok := t.PrefillSpeed(); ok {
		w.PrefillTPS = &v
	}
	if answer := t.Answer(); len(answer) >= reader.MinTokens && !reader.Buffered(answer) {
		w.ReaderWaitS = seconds(reader.Wait(answer, target))
		if v, ok := reader.Sustained(answer, reader.Patience); ok {
			w.SustainedTPS = &v
		}
	}
	return w
}

// Seconds is a duration as the frames carry it, to a tenth of a millisecond.
func Seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e4) / 1e4 }

func seconds(d time.Duration) *float64 {
	s := Seconds(d)
	return &s
}
