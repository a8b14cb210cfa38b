package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// config is what the command line says.
type config struct {
	pichat, llamaServer, llamaBench string
	model                           string
	pichatFlags                     []string // added to what it is started with
	runs, sweepTries                int
	rest                            time.Duration // between two sides: compute threads spin on for a while
	window                          time.Duration // of open-loop load
	logs                            string        // folder for what the servers print
}

// session is one run of the comparison.
type session struct {
	config
	out    io.Writer // progress, for people
	rand   *rand.Rand
	sweeps *sweeps

	mu      sync.Mutex
	running map[int]bool // processes that were started here
}

// say prints a line of progress.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.out, "  "+format+"\n", args...)
}

// both starts pichat and llama-server. They are stopped by the function.
func (s *session) both(ctx context.Context, sh shape, f peerFlags) (ours, peer *server, stop func(), err error) {
	if ours, err = s.start(ctx, s.ours(sh)); err != nil {
		return nil, nil, nil, err
	}
	if peer, err = s.start(ctx, s.peer(sh, f)); err != nil {
		ours.stop()
		return nil, nil, nil, err
	}
	return ours, peer, func() { ours.stop(); peer.stop() }, nil
}

// pause lets the side that was measured come to rest.
func (s *session) pause(ctx context.Context) error {
	select {
	case <-time.After(s.rest):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// seeded is the randomness of one pair.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// column takes one figure out of each measurement.
func column[T any](from []T, figure func(T) float64) []float64 {
	out := make([]float64, len(from))
	for i, v := range from {
		out[i] = figure(v)
	}
	return out
}
