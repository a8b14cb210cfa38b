package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"pichat/llm/paired"
)

const (
	neighbourTokens = 256
	// settle is how long a stream has run beside the neighbour before it counts:
	// a program that adapts may do so.
	settleTokens = 64
)

// neighbour compares decode while another process burns one core: with the
// peer's own choice of threads, and with the best fixed number of them.
func neighbour(ctx context.Context, s *session) ([]row, error) {
	stop, err := s.burnCore()
	if err != nil {
		return nil, err
	}
	defer stop()
	sh := shape{slots: 1, window: 2048}
	best, err := s.bestThreads(ctx, sh)
	if err != nil {
		return nil, err
	}
	first, err := s.beside(ctx, sh, peerFlags{}, "its default threads", paired.AtLeast(1.5))
	if err != nil {
		return nil, err
	}
	second, err := s.beside(ctx, sh, best, fmt.Sprintf("%d threads, its best fixed number", best.Threads), paired.AtLeast(0.95))
	return []row{first, second}, err
}

// bestThreads is the number of threads with which llama-server is fastest
// beside the neighbour.
func (s *session) bestThreads(ctx context.Context, sh shape) (peerFlags, error) {
	var best peerFlags
	most := 0.0
	for _, n := range threadChoices() {
		f := peerFlags{Threads: n}
		tps, err := s.tryPeer(ctx, sh, f, func(ctx context.Context, peer *server) (float64, error) {
			r, err := long(ctx, peer, s.rand.Uint64())
			if err != nil {
				return 0, err
			}
			return r.tps(), nil
		})
		if err != nil {
			return best, err
		}
		s.say("decode beside a neighbour: llama-server %v: %.4g tokens/s", f, tps)
		if tps > most {
			best, most = f, tps
		}
	}
	return best, nil
}

func (s *session) beside(ctx context.Context, sh shape, f peerFlags, named string, must paired.Bar) (row, error) {
	ours, peer, stop, err := s.both(ctx, sh, f)
	if err != nil {
		return row{}, err
	}
	defer stop()
	a, b, m, err := alternate(ctx, s, s.runs,
		func(ctx context.Context, seed uint64) (reply, error) { return long(ctx, ours, seed) },
		func(ctx context.Context, seed uint64) (reply, error) { return long(ctx, peer, seed) })
	if err != nil {
		return row{}, err
	}
	out := row{Measure: "decode, 1 stream, a neighbour burns one core", Unit: "tokens/s", Against: "llama-server with " + named,
		Ours: column(a, reply.tps), Theirs: column(b, reply.tps), Must: must, Loop: "closed, 1 user", Use: m}
	out.notePrompts(a, b)
	out.note("%d tokens after a reply of %d that does not count", neighbourTokens, settleTokens)
	return out, nil
}

// long has a reply written after another that lets the side adapt.
func long(ctx context.Context, t *server, seed uint64) (reply, error) {
	r := seeded(seed)
	if _, err := t.say(ctx, ask{messages: prompt(r, 4), maxTokens: settleTokens}); err != nil {
		return reply{}, err
	}
	return t.say(ctx, ask{messages: prompt(r, 4), maxTokens: neighbourTokens})
}

// burnArgument makes this program the neighbour.
const burnArgument = "burn-one-core"

// burnCore starts a process that keeps one core busy. It ends with its input,
// so that it never outlives this program.
func (s *session) burnCore() (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, burnArgument)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	untrack := s.track(cmd.Process.Pid)
	<-time.After(time.Second) // until the kernel has given it its share
	return func() { _ = stdin.Close(); _ = cmd.Wait(); untrack() }, nil
}

// burn keeps one core busy until the input ends.
func burn(input io.Reader) {
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, input) }()
	for n := uint64(1); ; n++ {
		if n%(1<<20) != 0 {
			continue
		}
		select {
		case <-ended:
			return
		default:
		}
	}
}
