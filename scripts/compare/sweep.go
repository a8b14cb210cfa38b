package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// sweeps remembers which flags the peer is best with, for each measure, so that
// they are looked for once on a machine.
type sweeps struct {
	file  string
	Found map[string]outcome `json:"found"`
}

// outcome is what a sweep found.
type outcome struct {
	Peer  *peerFlags  `json:"peer,omitempty"`
	Bench *benchFlags `json:"bench,omitempty"`
	Tried []string    `json:"tried"`
}

// loadSweeps reads the file, which may not be there yet.
func loadSweeps(file string) (*sweeps, error) {
	s := &sweeps{file: file, Found: map[string]outcome{}}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to sweep anew", file, err)
	}
	return s, nil
}

func (s *sweeps) keep(key string, o outcome) error {
	s.Found[key] = o
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file, append(data, '\n'), 0o644)
}

// direction says which of two figures is better.
type direction bool

const (
	higher direction = true
	lower  direction = false
)

func (d direction) better(a, b float64) bool {
	if d == higher {
		return a > b
	}
	return a < b
}

// bestPeer returns the flags of llama-server with the best figure: one factor
// after the other, each from the best so far.
func (s *session) bestPeer(ctx context.Context, measure string, sh shape, d direction,
	try func(context.Context, *server) (float64, error)) (peerFlags, error) {
	key := s.key(measure, sh.String())
	if o, ok := s.sweeps.Found[key]; ok && o.Peer != nil {
		s.say("%s: the peer is best with %v (of an earlier sweep)", measure, *o.Peer)
		return *o.Peer, nil
	}
	var o outcome
	figures := map[peerFlags]float64{}
	best := peerFlags{Threads: runtime.NumCPU()}
	for _, factor := range factors() {
		for _, f := range factor(best) {
			figure, done := figures[f]
			if !done {
				var err error
				if figure, err = s.tryPeer(ctx, sh, f, try); err != nil {
					return best, err
				}
				figures[f] = figure
				o.Tried = append(o.Tried, fmt.Sprintf("%v: %.4g", f, figure))
				s.say("%s: llama-server %v: %.4g", measure, f, figure)
			}
			if d.better(figure, figures[best]) {
				best = f
			}
		}
	}
	o.Peer = &best
	s.say("%s: the peer is best with %v", measure, best)
	return best, s.sweeps.keep(key, o)
}

// factors lists what is varied. The first value of the first is where the
// sweep begins.
func factors() []func(peerFlags) []peerFlags {
	return []func(peerFlags) []peerFlags{
		func(f peerFlags) (out []peerFlags) {
			for _, n := range threadChoices() {
				f.Threads = n
				out = append(out, f)
			}
			return out
		},
		func(f peerFlags) (out []peerFlags) {
			for _, b := range [][2]int{{512, 512}, {2048, 2048}} {
				f.Batch, f.UBatch = b[0], b[1]
				out = append(out, f)
			}
			return out
		},
		func(f peerFlags) []peerFlags { f.Unified = true; return []peerFlags{f} },
	}
}

// threadChoices are all CPUs, and half of them, down to one.
func threadChoices() (out []int) {
	for n := runtime.NumCPU(); n > 0; n /= 2 {
		out = append(out, n)
	}
	return out
}

func (s *session) tryPeer(ctx context.Context, sh shape, f peerFlags, try func(context.Context, *server) (float64, error)) (float64, error) {
	peer, err := s.start(ctx, s.peer(sh, f))
	if err != nil {
		return 0, err
	}
	defer peer.stop()
	return s.tries(ctx, func() (float64, error) { return try(ctx, peer) })
}

// benchSweep is what a sweep of llama-bench is about.
const benchSweep = "llama-bench"

// bestBench returns the flags with which llama-bench is fastest.
func (s *session) bestBench(ctx context.Context, measure string, prompt, tokens int) (benchFlags, error) {
	key := s.key(measure, benchSweep)
	if o, ok := s.sweeps.Found[key]; ok && o.Bench != nil {
		s.say("%s: llama-bench is best with %v (of an earlier sweep)", measure, *o.Bench)
		return *o.Bench, nil
	}
	var o outcome
	var best benchFlags
	most := 0.0
	for _, f := range benchChoices(prompt) {
		figure, err := s.tries(ctx, func() (float64, error) { return s.bench(ctx, f, prompt, tokens) })
		if err != nil {
			return best, err
		}
		o.Tried = append(o.Tried, fmt.Sprintf("%v: %.4g", f, figure))
		s.say("%s: llama-bench %v: %.4g tokens/s", measure, f, figure)
		if figure > most {
			best, most = f, figure
		}
	}
	o.Bench = &best
	return best, s.sweeps.keep(key, o)
}

// benchChoices varies the pieces of a batch only where a prompt fills them.
func benchChoices(prompt int) (out []benchFlags) {
	for _, n := range threadChoices() {
		out = append(out, benchFlags{Threads: n, UBatch: 512})
	}
	if prompt > 0 {
		out = append(out, benchFlags{Threads: runtime.NumCPU(), UBatch: 256}, benchFlags{Threads: runtime.NumCPU(), UBatch: 2048})
	}
	return out
}

// tried is all that the sweep for a measure tried.
func (s *session) tried(measure, about string) string {
	return "peer's sweep: " + strings.Join(s.sweeps.Found[s.key(measure, about)].Tried, "; ")
}

// key names a sweep by all that may change its outcome.
func (s *session) key(measure, about string) string {
	return fmt.Sprintf("%s; %s; %s; %s", measure, about, filepath.Base(s.model), cpuName())
}
