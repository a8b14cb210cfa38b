package main

import (
	"context"
	"fmt"
	"time"

	"pichat/llm/paired"
)

const longPrompt = 1500 // tokens

// stall is what a long prompt does to a stream that runs, and to itself.
type stall struct {
	longest time.Duration // gap of the running stream
	long    reply         // of the long prompt
}

// gap compares how long a running stream stands still while a long prompt is
// read, and how long that prompt takes. The peer has its default flags: what
// most people run.
func gap(ctx context.Context, s *session) ([]row, error) {
	sh := shape{slots: 4, window: 4096}
	ours, peer, stop, err := s.both(ctx, sh, peerFlags{})
	if err != nil {
		return nil, err
	}
	defer stop()
	overhead, err := promptOverhead(ctx, ours)
	if err != nil {
		return nil, err
	}
	side := func(t *server) func(context.Context, uint64) (stall, error) {
		return func(ctx context.Context, seed uint64) (stall, error) {
			return interrupted(ctx, t, seed, longPrompt-overhead)
		}
	}
	a, b, m, err := alternate(ctx, s, s.runs, side(ours), side(peer))
	if err != nil {
		return nil, err
	}
	against := fmt.Sprintf("llama-server, %v, default flags", sh)
	longest := func(s stall) float64 { return s.longest.Seconds() }
	ttft := func(s stall) float64 { return s.long.ttft().Seconds() }
	loop := "closed, 1 stream and then a prompt"
	first := row{Measure: "longest gap beside a 1,500-token prompt", Unit: "s", Against: against, Use: m, Loop: loop,
		Ours: column(a, longest), Theirs: column(b, longest), Must: paired.AtMost(0.10)}
	second := row{Measure: "TTFT of that prompt", Unit: "s", Against: against, Use: m, Loop: loop,
		Ours: column(a, ttft), Theirs: column(b, ttft), Must: paired.AtMost(1.3)}
	long := func(s []stall) (out []reply) {
		for _, v := range s {
			out = append(out, v.long)
		}
		return out
	}
	second.notePrompts(long(a), long(b))
	return []row{first, second}, nil
}

// interrupted has one stream run, sends a long prompt, and finds the longest
// gap of the stream from then until the prompt is answered.
func interrupted(ctx context.Context, t *server, seed uint64, words int) (stall, error) {
	r := seeded(seed)
	running := t.open(ctx, ask{messages: prompt(r, 4), maxTokens: 2000})
	defer running.stop()
	if err := running.frames(ctx, 40); err != nil {
		return stall{}, fmt.Errorf("%s: %w", t.name, err)
	}
	sent := time.Since(running.sent)
	long, err := t.say(ctx, ask{messages: prompt(r, words), maxTokens: 4})
	if err != nil {
		return stall{}, err
	}
	// A gap ends with a frame: wait for the next one.
	if err := running.frames(ctx, len(running.soFar())+1); err != nil {
		return stall{}, fmt.Errorf("%s: the running stream: %w", t.name, err)
	}
	return stall{longestGap(running.soFar(), sent, sent+long.ttft()), long}, nil
}

// longestGap is the longest gap between arrivals that overlaps a span of time.
func longestGap(arrivals []time.Duration, from, to time.Duration) time.Duration {
	var longest time.Duration
	for i := 1; i < len(arrivals); i++ {
		if arrivals[i] >= from && arrivals[i-1] <= to {
			longest = max(longest, arrivals[i]-arrivals[i-1])
		}
	}
	return longest
}
