package enginebench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"pichat/llm"
	"pichat/llm/llamacpp"
	"pichat/llm/paired"
)

const (
	neighbourRounds = 11
	neighbourRun    = 256 // tokens of a run
	// Bars for the adaptive count, beside a neighbour: against all threads, and
	// against the best fixed count.
	overAll  = 1.5
	overBest = 0.95
)

// fixed hides that the threads of a backend can be changed.
type fixed struct{ llm.Backend }

func (f fixed) IsEOG(llm.Token) bool { return false }

// arm is one way to choose the number of threads.
type arm struct {
	name    string
	threads int // 0 adapts
	engine  *llm.Engine
	last    int       // threads that an adaptive one left
	speeds  []float64 // tokens/s of each round
}

func (a *arm) count() int {
	if a.threads == 0 {
		return a.last
	}
	return a.threads
}

// BenchmarkNeighbour decodes with one thread, with all, and with as many as
// the engine sees fit, in turn; first alone and then beside another process
// that burns a processor all the time.
func BenchmarkNeighbour(b *testing.B) {
	if _, err := os.Stat(model); err != nil {
		b.Fatalf("%v: run make model", err)
	}
	m := load(b)
	all := m.Info().DecodeThreads
	if all < 2 {
		b.Skip("with one thread there is nothing to choose")
	}
	for b.Loop() {
		quiet := rounds(b, m, arms(b, m, all))
		report("alone", quiet)
		stop := burn(b)
		beside := rounds(b, m, arms(b, m, all))
		stop()
		report("beside a neighbour", beside)
		one, most, adaptive := beside[0].speeds, beside[1].speeds, beside[2].speeds
		best := one
		if paired.Median(most) > paired.Median(one) {
			best = most
		}
		toAll, toBest := paired.NewRatio(ratios(adaptive, most)), paired.NewRatio(ratios(adaptive, best))
		fmt.Printf("adaptive/all threads: %v; at least %.2f: %s\n", toAll, overAll, toAll.Verdict(paired.AtLeast(overAll)))
		fmt.Printf("adaptive/best fixed:  %v; at least %.2f: %s\n", toBest, overBest, toBest.Verdict(paired.AtLeast(overBest)))
		b.ReportMetric(toAll.Median, "adaptive/all")
		b.ReportMetric(toBest.Median, "adaptive/best")
	}
}

// arms makes an engine for each way, all on one model.
func arms(b *testing.B, m *llamacpp.Model, all int) []*arm {
	ways := []*arm{
		{name: "1 thread", threads: 1, engine: llm.NewEngine(llm.EngineConfig{Backend: fixed{m}, Template: raw{}})},
		{name: fmt.Sprintf("%d threads", all), threads: all},
		{name: "adaptive", last: all, engine: llm.NewEngine(llm.EngineConfig{Backend: endless{m}, Template: raw{}})},
	}
	ways[1].engine = ways[0].engine
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	for _, e := range []*llm.Engine{ways[0].engine, ways[2].engine} {
		go func() { _ = e.Run(ctx); done <- struct{}{} }()
	}
	b.Cleanup(func() { cancel(); <-done; <-done })
	return ways
}

// rounds runs all arms in turn. The adaptive one keeps what it knows, and sets
// the threads that it last chose.
func rounds(b *testing.B, m *llamacpp.Model, ways []*arm) []*arm {
	_, prefill := m.Threads()
	for round := range neighbourRounds + 1 {
		for i := range ways {
			w := ways[(i+round)%len(ways)]
			if err := m.SetThreads(w.count(), prefill); err != nil {
				b.Fatal(err)
			}
			tps := decodeSpeed(b, w.engine, shortPrompt(len(ways)*round+i))
			if w.threads == 0 {
				w.last, _ = m.Threads()
			}
			if round > 0 { // the first warms up
				w.speeds = append(w.speeds, tps)
			}
			if err := m.TrimSequence(0, 0); err != nil { // the other engine knows nothing of it
				b.Fatal(err)
			}
		}
	}
	return ways
}

// shortPrompt differs from run to run in its first words.
func shortPrompt(run int) string {
	return string(rune('A'+run%26)) + " is the name of this run. The river carries its water past the old mill, and then"
}

func decodeSpeed(b *testing.B, e *llm.Engine, prompt string) float64 {
	<-time.After(rest)
	s, err := e.Generate(context.Background(), llm.Request{Prompt: prompt, MaxTokens: neighbourRun})
	if err != nil {
		b.Fatal(err)
	}
	for {
		<-time.After(frame)
		events := s.Take()
		if len(events) == 0 {
			continue
		}
		done, ok := events[len(events)-1].(llm.Done)
		if !ok {
			continue
		}
		if done.Err != nil || done.Timings.Tokens() != neighbourRun {
			b.Fatalf("%d tokens, %v", done.Timings.Tokens(), done.Err)
		}
		tps, _ := done.Timings.TPS()
		return tps
	}
}

// burn starts a process that spins until stop.
func burn(b *testing.B) (stop func()) {
	c := exec.Command("sh", "-c", "while :; do :; done")
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

func report(where string, ways []*arm) {
	for _, w := range ways {
		fmt.Printf("%-18s %-10s median %5.1f tokens/s, from %5.1f to %5.1f\n", where, w.name,
			paired.Median(w.speeds), slices.Min(w.speeds), slices.Max(w.speeds))
	}
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}
