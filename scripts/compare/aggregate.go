package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pichat/llm/paired"
)

const aggregateTokens = 256

// aggregate compares the tokens/s of several streams together.
func aggregate(ctx context.Context, s *session) ([]row, error) {
	var rows []row
	for _, streams := range []int{4, 8} {
		r, err := s.aggregateOf(ctx, streams)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (s *session) aggregateOf(ctx context.Context, streams int) (row, error) {
	name := fmt.Sprintf("decode, %d streams", streams)
	sh := shape{slots: streams, window: 2048}
	flags, err := s.bestPeer(ctx, name, sh, higher, func(ctx context.Context, peer *server) (float64, error) {
		g, err := together(ctx, peer, s.rand.Uint64(), streams)
		return g.tps, err
	})
	if err != nil {
		return row{}, err
	}
	ours, peer, stop, err := s.both(ctx, sh, flags)
	if err != nil {
		return row{}, err
	}
	defer stop()
	a, b, m, err := alternate(ctx, s, s.runs,
		func(ctx context.Context, seed uint64) (group, error) { return together(ctx, ours, seed, streams) },
		func(ctx context.Context, seed uint64) (group, error) { return together(ctx, peer, seed, streams) })
	if err != nil {
		return row{}, err
	}
	aim := paired.AtLeast(1.05)
	tps := func(g group) float64 { return g.tps }
	out := row{Measure: name, Unit: "tokens/s in all", Against: fmt.Sprintf("llama-server, %v, %v", sh, flags),
		Ours: column(a, tps), Theirs: column(b, tps), Must: paired.AtLeast(0.98), Aim: &aim, Use: m,
		Loop: fmt.Sprintf("closed, %d users at once", streams)}
	ra, rb := flatten(a), flatten(b)
	out.notePrompts(ra, rb)
	out.noteFrames(ra, rb)
	out.note("window in which all ran: %.1f s here, %.1f s there", paired.Median(column(a, seconds)), paired.Median(column(b, seconds)))
	out.note("%s", s.tried(name, sh.String()))
	return out, nil
}

// group is several replies at once.
type group struct {
	tps     float64 // of all, within the window in which all ran
	window  time.Duration
	replies []reply
}

func seconds(g group) float64 { return g.window.Seconds() }

func flatten(groups []group) []reply {
	var out []reply
	for _, g := range groups {
		out = append(out, g.replies...)
	}
	return out
}

// together asks several questions at once and measures while all are answered.
func together(ctx context.Context, s *server, seed uint64, streams int) (group, error) {
	r := seeded(seed)
	began := time.Now()
	open := make([]*stream, streams)
	for i := range open {
		open[i] = s.open(ctx, ask{messages: prompt(r, 4), maxTokens: aggregateTokens})
	}
	var g group
	var offsets []time.Duration
	for _, st := range open {
		reply, err := st.wait()
		if err != nil {
			return g, fmt.Errorf("%s: %w", s.name, err)
		}
		g.replies = append(g.replies, reply)
		offsets = append(offsets, st.sent.Sub(began))
	}
	g.tps, g.window = overlap(g.replies, offsets)
	return g, nil
}

// overlap counts the tokens that came after every reply had begun and before
// the first had ended. The offsets are when the replies were sent.
func overlap(replies []reply, offsets []time.Duration) (tps float64, window time.Duration) {
	var from time.Duration
	to := time.Duration(1<<63 - 1)
	for i, r := range replies {
		from = max(from, offsets[i]+r.arrivals[0])
		to = min(to, offsets[i]+r.arrivals[len(r.arrivals)-1])
	}
	if to <= from {
		return 0, 0
	}
	tokens := 0.0
	for i, r := range replies {
		first, _ := slices.BinarySearch(r.arrivals, from-offsets[i]+1)
		last, _ := slices.BinarySearch(r.arrivals, to-offsets[i]+1)
		tokens += float64(last-first) * r.perFrame()
	}
	return tokens / (to - from).Seconds(), to - from
}
