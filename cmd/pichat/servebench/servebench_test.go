package servebench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The bars of the served program.
const (
	listenBar = 300 * time.Millisecond
	memoryBar = 25 << 20 // bytes above the bare program
	idleBar   = 0.003    // of one core, with a page open
	answerBar = 0.01     // CPU outside the engine, of the step time
	repeats   = 5
	idleFor   = 10 * time.Second
)

// figures are one run's.
type figures struct{ listen, memory, idle, answer float64 }

// BenchmarkServe prints each figure beside its bar: medians of five runs.
func BenchmarkServe(b *testing.B) {
	for b.Loop() {
		var listen, memory, idle, answer []float64
		for range repeats {
			f := measure(b)
			listen, memory = append(listen, f.listen), append(memory, f.memory/(1<<20))
			idle, answer = append(idle, 100*f.idle), append(answer, 100*f.answer)
		}
		report("time to listen", "s", listen, listenBar.Seconds())
		report("memory above a bare program", "MB", memory, memoryBar/(1<<20))
		report("idle CPU with a page open", "% of a core", idle, idleBar*100)
		report("CPU outside the engine while answering", "% of the step time", answer, answerBar*100)
	}
}

// measure runs the bare program and the server once.
func measure(b *testing.B) figures {
	b.Helper()
	bare := bareMemory(b)
	s := startServer(b)
	defer s.stop()
	p := openPage(b, s)
	defer p.close()
	p.ask(b, "warm-up-0000") // so that both have touched the same pages
	rss, err := residentBytes(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	f := figures{listen: s.listen.Seconds(), memory: float64(rss - bare)}
	f.answer = answerShare(b, s, p)
	f.idle = idleShare(b, s)
	return f
}

// answerShare is the program's CPU time while an answer is written, less what
// its one compute thread spent in the model, as a share of the time that this
// took. All else counts: the engine's own Go code, the page's, the runtime's.
func answerShare(b *testing.B, s *server, p *page) float64 {
	b.Helper()
	computed, used := s.computed(b), s.cpuTime(b)
	begin := time.Now()
	p.ask(b, "measured-0000")
	took := time.Since(begin)
	used = s.cpuTime(b) - used
	computed = s.computed(b) - computed
	return (used - computed).Seconds() / took.Seconds()
}

// idleShare is the CPU time of the whole program while nothing is asked.
func idleShare(b *testing.B, s *server) float64 {
	b.Helper()
	before := s.cpuTime(b)
	<-time.After(idleFor)
	return (s.cpuTime(b) - before).Seconds() / idleFor.Seconds()
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// report prints a median with its extremes, and whether it is within its bar.
func report(name, unit string, values []float64, bar float64) {
	verdict := "holds"
	if median(values) > bar {
		verdict = "fails"
	}
	fmt.Printf("%s: median %.2f %s (%.2f to %.2f, %d runs); at most %.2f: %s\n",
		name, median(values), unit, slices.Min(values), slices.Max(values), len(values), bar, verdict)
}
