package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"pichat/llm/reader"
)

// The service level that a request is to meet.
const (
	sloTTFT = 2 * time.Second
	sloPace = reader.Target
	sloWait = reader.Patience
)

// drain is how long requests may go on after the last arrival.
const drain = 60 * time.Second

// visit is one request of an open loop.
type visit struct {
	at  time.Duration // since the load began
	ask ask
}

// visits draws Poisson arrivals of rate requests/s over a time. The same seed
// gives the same visits.
func visits(r *rand.Rand, rate float64, over time.Duration) []visit {
	var out []visit
	for at := 0.0; ; {
		at += r.ExpFloat64() / rate
		when := time.Duration(at * float64(time.Second))
		if when >= over {
			return out
		}
		out = append(out, visit{when, mixed(r)})
	}
}

// mixed is a request as people send them: some short, some longer.
func mixed(r *rand.Rand) ask {
	return ask{messages: prompt(r, 10+r.IntN(150)), maxTokens: 32 + r.IntN(65)}
}

// visited is what came of a visit.
type visited struct {
	arrivals []time.Duration // since the scheduled time
	refused  bool
	failed   bool // ended otherwise than well, too late included
}

// met tells whether the visit met the service level.
func (v visited) met() bool {
	return !v.failed && !v.refused && v.arrivals[0] <= sloTTFT && reader.KeepsAhead(v.arrivals, sloPace, sloWait)
}

// openLoop sends requests when they are due, however the server fares.
// Latencies count from the scheduled time. What is not done a minute after the
// last arrival is cut off, and has failed.
func openLoop(ctx context.Context, t *server, load []visit) ([]visited, error) {
	out := make([]visited, len(load))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	began := time.Now()
	for i, v := range load {
		select {
		case <-time.After(time.Until(began.Add(v.at))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		st := t.open(ctx, v.ask)
		late := st.sent.Sub(began.Add(v.at))
		all.Go(func() { out[i] = outcomeOf(st, late) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drain):
		cancel()
		<-done
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return out, nil
}

func outcomeOf(st *stream, late time.Duration) visited {
	r, err := st.wait()
	var status *statusError
	v := visited{refused: errors.As(err, &status), failed: err != nil}
	for _, a := range r.arrivals {
		v.arrivals = append(v.arrivals, a+late)
	}
	return v
}

// tally counts the visits that met the service level, and those refused.
func tally(all []visited) (met, refused int) {
	for _, v := range all {
		if v.met() {
			met++
		}
		if v.refused {
			refused++
		}
	}
	return met, refused
}
