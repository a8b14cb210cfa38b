package main

import (
	"fmt"

	"pichat/llm/paired"
)

// row is one line of the table: a figure of both sides, pair by pair.
type row struct {
	Measure string
	Unit    string
	Against string // what was compared with, and its flags
	Ours    []float64
	Theirs  []float64
	Must    paired.Bar
	Aim     *paired.Bar
	Loop    string   // closed or open: what the figure is from
	Notes   []string // prompt tokens, and what else helps to judge it
	Use     *meter   // of the machine, meanwhile
}

// ratio is ours/theirs.
func (r row) ratio() paired.Ratio { return paired.Of(r.Ours, r.Theirs) }

func (r *row) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// notePrompts tells whether both sides counted the same prompt tokens.
func (r *row) notePrompts(ours, theirs []reply) {
	a, b := span(ours, func(r reply) int { return r.promptTokens }), span(theirs, func(r reply) int { return r.promptTokens })
	if a == b {
		r.note("prompt tokens %s on both sides", a)
	} else {
		r.note("PROMPTS DIFFER: %s tokens here, %s there", a, b)
	}
	r.note("cached tokens %s here, %s there", span(ours, cached), span(theirs, cached))
}

func cached(r reply) int { return r.cachedTokens }

// noteFrames tells when a frame is not a token.
func (r *row) noteFrames(ours, theirs []reply) {
	a, b := paired.Median(column(ours, reply.perFrame)), paired.Median(column(theirs, reply.perFrame))
	if a > 1.02 || b > 1.02 {
		r.note("tokens per frame: %.2f here, %.2f there", a, b)
	}
}

// span is the range of a number in replies, such as "74" or "71-74".
func span(replies []reply, number func(reply) int) string {
	if len(replies) == 0 {
		return "n/a"
	}
	low, high := number(replies[0]), number(replies[0])
	for _, r := range replies {
		low, high = min(low, number(r)), max(high, number(r))
	}
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}
