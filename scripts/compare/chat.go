package main

import (
	"context"
	"fmt"

	"pichat/llm/paired"
)

const (
	chatTurns  = 5
	chatTokens = 64 // most tokens of a reply
)

// chat compares the TTFT of the fifth turn of a chat, where each side has the
// turns before in its memory.
func chat(ctx context.Context, s *session) ([]row, error) {
	name := fmt.Sprintf("TTFT of turn %d of a chat", chatTurns)
	sh := shape{slots: 4, window: 2048}
	flags, err := s.bestPeer(ctx, name, sh, lower, func(ctx context.Context, peer *server) (float64, error) {
		r, err := converse(ctx, peer, s.rand.Uint64())
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
		func(ctx context.Context, seed uint64) (reply, error) { return converse(ctx, ours, seed) },
		func(ctx context.Context, seed uint64) (reply, error) { return converse(ctx, peer, seed) })
	if err != nil {
		return nil, err
	}
	out := row{Measure: name, Unit: "s", Against: fmt.Sprintf("llama-server, %v, %v", sh, flags), Use: m,
		Ours: column(a, ttftSeconds), Theirs: column(b, ttftSeconds), Must: paired.AtMost(1.0), Loop: "closed, 1 user"}
	out.notePrompts(a, b)
	out.note("%s", s.tried(name, sh.String()))
	out.note("each side's chat holds its own replies of up to %d tokens", chatTokens)
	return []row{out}, nil
}

// converse holds a chat and returns the reply to its last turn.
func converse(ctx context.Context, t *server, seed uint64) (reply, error) {
	r := seeded(seed)
	messages := prompt(r, 20)
	for turn := 1; ; turn++ {
		got, err := t.say(ctx, ask{messages: messages, maxTokens: chatTokens, mayEnd: true})
		if err != nil || turn == chatTurns {
			return got, err
		}
		messages = append(messages, message{"assistant", got.text}, message{"user", unique(r, 20) + request})
	}
}
