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
type figures struct{ listen, memory, idle, answer, monitor float64 }

// BenchmarkServe prints each figure beside its bar: medians of five runs.
func BenchmarkServe(b *testing.B) {
	for b.Loop() {
		var listen, memory, idle, answer, monitor []float64
		for range repeats {
			f := measure(b)
			listen, memory = append(listen, f.listen), append(memory, f.memory/(1<<20))
			idle = append(idle, 100*f.idle)
			answer, monitor = append(answer, 100*f.answer), append(monitor, 100*f.monitor)
		}
		report("time to listen", "s", listen, listenBar.Seconds())
		report("memory above a bare program", "MB", memory, memoryBar/(1<<20))
		report("idle CPU with a page open", "% of a core", idle, idleBar*100)
		report("CPU outside the engine while answering", "% of the step time", sums(answer, monitor), answerBar*100)
		fmt.Printf("  of it the thread that wakes most (it looks like Go's monitor): median %.2f %%, all others: %.2f %%\n", median(monitor), median(answer))
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
	f.answer, f.monitor = answerShare(b, s, p)
	f.idle = idleShare(b, s)
	return f
}

// answerShare is the CPU time of the thread that wakes most, and that of all
// others but the engine's, while an answer is written, as shares of the time that
// this took.
func answerShare(b *testing.B, s *server, p *page) (server, monitor float64) {
	b.Helper()
	before, err := threads(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	p.ask(b, "measured-0000")
	took := time.Since(begin)
	after, err := threads(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	_, mon, own := spent(before, after)
	return own.Seconds() / took.Seconds(), mon.Seconds() / took.Seconds()
}

// idleShare is the CPU time of the whole program while nothing is asked.
func idleShare(b *testing.B, s *server) float64 {
	b.Helper()
	before, err := threads(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	<-time.After(idleFor)
	after, err := threads(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	a, c, d := spent(before, after)
	return (a + c + d).Seconds() / idleFor.Seconds()
}

// sums adds two series, run by run.
func sums(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
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
