package main

import (
	"context"

	"pichat/llm/paired"
)

const (
	benchTokens = 128 // llama-bench's tg128
	decodePairs = 2   // pairs for each run asked for: a pair takes seconds
)

// decode compares one stream with llama-bench's loop, which has an empty KV
// memory, no sampler and no text.
func decode(ctx context.Context, s *session) ([]row, error) {
	flags, err := s.bestBench(ctx, "decode", 0, benchTokens)
	if err != nil {
		return nil, err
	}
	ours, err := s.start(ctx, s.ours(shape{slots: 1, window: 2048}))
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	var replies []reply
	a, b, m, err := alternate(ctx, s, decodePairs*s.runs,
		func(ctx context.Context, seed uint64) (float64, error) {
			r, err := ours.say(ctx, ask{messages: prompt(seeded(seed), 2), maxTokens: benchTokens + 1})
			if err != nil {
				return 0, err
			}
			replies = append(replies, r)
			return r.tps(), nil
		},
		func(ctx context.Context, _ uint64) (float64, error) { return s.bench(ctx, flags, 0, benchTokens) })
	if err != nil {
		return nil, err
	}
	aim := paired.AtLeast(0.98)
	out := row{Measure: "decode, 1 stream", Unit: "tokens/s", Against: "llama-bench tg128 " + flags.String(),
		Ours: a, Theirs: b, Must: paired.AtLeast(0.95), Aim: &aim, Loop: "closed, 1 user", Use: m}
	out.note("128 tokens after a prompt of %s; llama-bench begins with an empty memory", span(replies, func(r reply) int { return r.promptTokens }))
	out.note("%s", s.tried("decode", benchSweep))
	return []row{out}, nil
}
