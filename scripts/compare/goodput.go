package main

import (
	"context"
	"fmt"

	"pichat/llm/paired"
)

const (
	overload     = 1.5 // of the capacity
	capacitySLO  = 0.9 // part of the requests that meet the service level
	capacityCuts = 4   // bisections
)

// load is one open-loop run.
type load struct {
	goodput            float64 // requests/s that met the service level
	sent, met, refused int
}

// goodput compares how many requests are served well when more come than can be.
func goodput(ctx context.Context, s *session) ([]row, error) {
	sh := shape{slots: 4, window: 2048}
	flags, err := s.bestPeer(ctx, "goodput", sh, higher, func(ctx context.Context, peer *server) (float64, error) {
		return s.closedRate(ctx, peer, s.rand.Uint64())
	})
	if err != nil {
		return nil, err
	}
	ours, peer, stop, err := s.both(ctx, sh, flags)
	if err != nil {
		return nil, err
	}
	defer stop()
	a, err := s.capacity(ctx, ours)
	if err != nil {
		return nil, err
	}
	b, err := s.capacity(ctx, peer)
	if err != nil {
		return nil, err
	}
	rate := overload * max(a, b)
	whose := "llama-server's"
	if a > b {
		whose = "pichat's"
	}
	s.say("capacity: pichat %.2f, llama-server %.2f requests/s; the load is %.2f", a, b, rate)
	side := func(t *server) func(context.Context, uint64) (load, error) {
		return func(ctx context.Context, seed uint64) (load, error) { return s.under(ctx, t, seed, rate) }
	}
	la, lb, m, err := alternate(ctx, s, s.runs, side(ours), side(peer))
	if err != nil {
		return nil, err
	}
	aim := paired.AtLeast(1.2)
	figure := func(l load) float64 { return l.goodput }
	out := row{Measure: "goodput at 1.5 x capacity", Unit: "requests/s", Against: fmt.Sprintf("llama-server, %v, %v", sh, flags),
		Ours: column(la, figure), Theirs: column(lb, figure), Must: paired.AtLeast(1.0), Aim: &aim, Use: m,
		Loop: fmt.Sprintf("open, Poisson, %.2f requests/s over %v, latency from the scheduled time", rate, s.window)}
	out.note("capacity (%.0f %% meet TTFT <= %v and W(%.0f) <= %v): %.2f here, %.2f there; 1.5 x is of %s", 100*capacitySLO,
		sloTTFT, sloPace, sloWait, a, b, whose)
	out.note("%s", s.tried("goodput", sh.String()))
	out.note("here %s; there %s", sum(la), sum(lb))
	return []row{out}, nil
}

// under puts a server under load of a rate, requests/s.
func (s *session) under(ctx context.Context, t *server, seed uint64, rate float64) (load, error) {
	visits := visits(seeded(seed), rate, s.window)
	done, err := openLoop(ctx, t, visits)
	if err != nil {
		return load{}, err
	}
	l := load{sent: len(visits)}
	l.met, l.refused = tally(done)
	l.goodput = float64(l.met) / s.window.Seconds()
	return l, nil
}

// sum says what came of all requests.
func sum(loads []load) string {
	var all load
	for _, l := range loads {
		all.sent, all.met, all.refused = all.sent+l.sent, all.met+l.met, all.refused+l.refused
	}
	return fmt.Sprintf("%d of %d met it, %d were refused", all.met, all.sent, all.refused)
}

// capacity is the highest rate at which nine of ten requests meet the service
// level, by bisection between a fifth and one and a half times what a closed
// loop with a user for each slot gets done.
func (s *session) capacity(ctx context.Context, t *server) (float64, error) {
	seed := s.rand.Uint64()
	most, err := s.closedRate(ctx, t, seed)
	if err != nil {
		return 0, err
	}
	low, high := most/5, most*1.5
	for range capacityCuts {
		rate := (low + high) / 2
		if err := s.pause(ctx); err != nil {
			return 0, err
		}
		l, err := s.under(ctx, t, seed, rate)
		if err != nil {
			return 0, err
		}
		s.say("%s: %.2f requests/s: %d of %d met the service level", t.name, rate, l.met, l.sent)
		if float64(l.met) >= capacitySLO*float64(l.sent) {
			low = rate
		} else {
			high = rate
		}
	}
	return low, nil
}
