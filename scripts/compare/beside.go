package main

import (
	"context"
	"fmt"

	"pichat/llm/paired"
)

// questionWords makes a question of 20 tokens of text, the random run at its
// front and the model's template apart.
const questionWords = 10

// beside compares the TTFT of a short question while three streams run.
func beside(ctx context.Context, s *session) ([]row, error) {
	const name = "TTFT of a 20-token question beside 3 streams"
	sh := shape{slots: 4, window: 2048}
	flags, err := s.bestPeer(ctx, name, sh, lower, func(ctx context.Context, peer *server) (float64, error) {
		r, err := besideThree(ctx, peer, s.rand.Uint64())
		if err != nil {
			return 0, err
		}
		return r.ttft().Seconds(), nil
	})
	if err != nil {
		return nil, err
	}
	ours, peer, stop, err := s.both(ctx, sh, flags)
	if err != nil {
		return nil, err
	}
	defer stop()
	a, b, m, err := alternate(ctx, s, 2*s.runs,
		func(ctx context.Context, seed uint64) (reply, error) { return besideThree(ctx, ours, seed) },
		func(ctx context.Context, seed uint64) (reply, error) { return besideThree(ctx, peer, seed) })
	if err != nil {
		return nil, err
	}
	out := row{Measure: name, Unit: "s", Against: fmt.Sprintf("llama-server, %v, %v", sh, flags), Use: m,
		Ours: column(a, ttftSeconds), Theirs: column(b, ttftSeconds), Must: paired.AtMost(1.0), Loop: "closed, 3 streams and then a question"}
	out.notePrompts(a, b)
	out.note("%s", s.tried(name, sh.String()))
	return []row{out}, nil
}

func ttftSeconds(r reply) float64 { return r.ttft().Seconds() }

func besideThree(ctx context.Context, t *server, seed uint64) (reply, error) {
	r := seeded(seed)
	var running []*stream
	defer func() {
		for _, st := range running {
			st.stop()
		}
	}()
	for range 3 {
		running = append(running, t.open(ctx, ask{messages: prompt(r, 4), maxTokens: 1000}))
	}
	for _, st := range running {
		if err := st.frames(ctx, 20); err != nil {
			return reply{}, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return t.say(ctx, ask{messages: prompt(r, questionWords), maxTokens: 4})
}
