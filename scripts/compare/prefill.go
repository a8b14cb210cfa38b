package main

import (
	"context"
	"fmt"

	"pichat/llm/paired"
)

// prefill compares how fast a prompt is read with llama-bench. Ours is the
// prompt's tokens over the client's TTFT, so all that is around the reading
// counts against it.
func prefill(ctx context.Context, s *session) ([]row, error) {
	ours, err := s.start(ctx, s.ours(shape{slots: 1, window: 2048}))
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	overhead, err := promptOverhead(ctx, ours)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, n := range []int{512, 1500} {
		r, err := s.prefillOf(ctx, ours, n, n-overhead)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (s *session) prefillOf(ctx context.Context, ours *server, tokens, words int) (row, error) {
	name := fmt.Sprintf("prefill, %d tokens", tokens)
	flags, err := s.bestBench(ctx, name, tokens, 0)
	if err != nil {
		return row{}, err
	}
	var replies []reply
	a, b, m, err := alternate(ctx, s, s.runs,
		func(ctx context.Context, seed uint64) (float64, error) {
			r, err := ours.say(ctx, ask{messages: prompt(seeded(seed), words), maxTokens: 2})
			if err != nil {
				return 0, err
			}
			replies = append(replies, r)
			return float64(r.promptTokens-r.cachedTokens) / r.ttft().Seconds(), nil
		},
		func(ctx context.Context, _ uint64) (float64, error) { return s.bench(ctx, flags, tokens, 0) })
	if err != nil {
		return row{}, err
	}
	aim := paired.AtLeast(0.97)
	out := row{Measure: name, Unit: "tokens/s", Against: fmt.Sprintf("llama-bench pp%d %v", tokens, flags),
		Ours: a, Theirs: b, Must: paired.AtLeast(0.95), Aim: &aim, Loop: "closed, 1 user", Use: m}
	out.note("prompt tokens %s, cached %s; ours is prompt tokens over the client's TTFT",
		span(replies, func(r reply) int { return r.promptTokens }), span(replies, cached))
	out.note("%s", s.tried(name, benchSweep))
	return out, nil
}
