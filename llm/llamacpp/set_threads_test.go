package llamacpp

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pichat/llm"
)

func TestSetThreads(t *testing.T) {
	m := loadModel(t, smolFile, Config{DecodeThreads: 2, PrefillThreads: 3})
	if d, p := m.Threads(); d != 2 || p != 3 {
		t.Errorf("begins with %d and %d threads, was loaded with 2 and 3", d, p)
	}
	for _, tt := range []struct {
		decode, prefill int
		want            string
	}{
		{0, 3, "0 decode threads are outside 1 to 2"},
		{3, 3, "3 decode threads are outside 1 to 2"},
		{2, -1, "-1 prefill threads are outside 1 to 3"},
		{2, 4, "4 prefill threads are outside 1 to 3"},
	} {
		err := m.SetThreads(tt.decode, tt.prefill)
		if !errors.Is(err, llm.ErrBackend) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("SetThreads(%d, %d): got %v, want %q", tt.decode, tt.prefill, err, tt.want)
		}
	}
	if d, p := m.Threads(); d != 2 || p != 3 {
		t.Errorf("a refused change left %d and %d threads", d, p)
	}
	if i := m.Info(); i.DecodeThreads != 2 || i.PrefillThreads != 3 {
		t.Errorf("Info says %d and %d, want the counts it was loaded with", i.DecodeThreads, i.PrefillThreads)
	}
}

// A reply goes on over changes of the count, and the pools that were left
// are gone.
func TestSetThreadsWithinReply(t *testing.T) {
	m := loadModel(t, smolFile, Config{DecodeThreads: 2, PrefillThreads: 2})
	if err := m.SetThreads(1, 1); err != nil {
		t.Fatal(err)
	}
	want := greedy(t, m, 16)
	tasks := func() int {
		names, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	begun := tasks()
	index := fill(t, m, prompt(t, m, 16))
	s, err := m.NewSampler(llm.Sampling{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 40 {
		token, err := s.Sample(index)
		if err != nil {
			t.Fatal(err)
		}
		count := 1
		if i%4 == 1 { // now and then two, which spin: slow where the machine is busy
			count = 2
		}
		if err := m.SetThreads(count, 1); err != nil {
			t.Fatal(err)
		}
		var batch llm.Batch
		index = batch.Add(token, 16+i, 0, true)
		if err := m.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	// Ten times a pool of two was left; Go may have started a few threads itself.
	if now := tasks(); now > begun+6 {
		t.Errorf("%d threads, %d at first", now, begun)
	}
	if again := greedy(t, m, 16); !slices.Equal(again, want) {
		t.Errorf("with one thread again it writes %v, before %v", again, want)
	}
}

func TestSetThreadsClosed(t *testing.T) {
	m := loadModel(t, smolFile, Config{})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.SetThreads(1, 1); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("on a closed model: %v", err)
	}
}

func TestIdleTime(t *testing.T) {
	const stat = `cpu  1 1 1 1 1 0 0 0 0 0
cpu0 100 0 50 700 25 0 3 0 0 0
cpu1 100 0 50 300 5 0 3 0 0 0
cpu3 100 0 50 1000 0 0 3 0 0 0
intr 5 4 3
cpu2 9 9 9 9 9
`
	var set unix.CPUSet
	set.Set(0)
	set.Set(3)
	if idle, cpus := idleTime([]byte(stat), &set); idle != 17250*time.Millisecond || cpus != 2 {
		t.Errorf("processors 0 and 3: %v idle on %d, want 17.25 s on 2", idle, cpus)
	}
	if _, cpus := idleTime([]byte("cpu  1 2 3\n"), &set); cpus != 0 {
		t.Errorf("no line of a processor: %d", cpus)
	}
}

func TestCPULoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stat")
	if _, ok := newLoadMeter(path).read(); ok {
		t.Error("a file that is missing tells something")
	}
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := newLoadMeter(path).read(); ok {
		t.Error("nonsense tells something")
	}
	if runtime.GOOS != "linux" {
		t.Skip("/proc/stat is Linux's")
	}
	l := newLoadMeter("/proc/stat")
	first, ok := l.read()
	if !ok || first.CPUs < 1 || first.Idle <= 0 {
		t.Fatalf("/proc/stat: %+v, %v", first, ok)
	}
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		continue // it is the work of these that must show
	}
	second, _ := l.read()
	if second.Process-first.Process < 5*time.Millisecond || second.Idle < first.Idle {
		t.Errorf("after 20 ms of work: %+v, before %+v", second, first)
	}
}

// BenchmarkCPULoad is what one reading costs, a few times a second.
func BenchmarkCPULoad(b *testing.B) {
	l := newLoadMeter("/proc/stat")
	b.ReportAllocs()
	for b.Loop() {
		l.read()
	}
}
