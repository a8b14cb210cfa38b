package threads

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// machine is a simulated board on which decode steps run one after the other.
type machine struct {
	cpus      int
	neighbour float64 // processors that another process wants all the time
	base      time.Duration
	// gain is how much faster n threads are than one, undisturbed; nil means
	// that they scale as memory lets them, n^0.6.
	gain    func(n int) float64
	noise   float64 // spread of step times and of what the neighbour does
	streams int
	rng     *rand.Rand

	now, own, idle time.Duration
	threads        int // that computed last
	changes        []string
	tokens         int
}

func newMachine(cpus int) *machine {
	return &machine{cpus: cpus, base: 12 * time.Millisecond, streams: 1, rng: rand.New(rand.NewPCG(1, 2))}
}

// split is how many processors n spinning threads get beside k others.
func (m *machine) split(n, k float64) (own, idle float64) {
	all := float64(m.cpus)
	if n+k <= all {
		return n, all - n - k
	}
	return all * n / (n + k), 0
}

// step is how long a step takes: threads that lack a processor hold all up.
func (m *machine) step(n int) time.Duration {
	gain := math.Pow(float64(n), 0.6)
	if m.gain != nil {
		gain = m.gain(n)
	}
	own, _ := m.split(float64(n), m.neighbour)
	lost := float64(n) - own                           // processors that threads wait for
	slow := 1 + 2.4*min(1, lost)                       // measured: 2.6 with one of two processors burnt
	took := float64(m.base) / gain * slow * m.jitter() // a batch costs little more than one
	return time.Duration(took * (1 + 0.1*float64(m.streams-1)))
}

func (m *machine) jitter() float64 { return math.Exp(m.noise * m.rng.NormFloat64()) }

// pass lets time go by with n threads computing.
func (m *machine) pass(d time.Duration, n float64) {
	k := m.neighbour + m.noise*math.Abs(m.rng.NormFloat64())
	own, idle := m.split(n, k)
	m.threads = int(n)
	m.now += d
	m.own += time.Duration(own * float64(d))
	m.idle += time.Duration(idle * float64(d)).Round(10 * time.Millisecond / 4)
}

func (m *machine) load() Load {
	return Load{At: m.now, CPUs: m.cpus, Process: m.own, Idle: m.idle, Threads: m.threads}
}

// decode runs steps for a while.
func (m *machine) decode(t *Tuner, d time.Duration) {
	for end := m.now + d; m.now < end; {
		n := t.Count()
		took := m.step(n)
		m.pass(took, float64(n))
		t.Observe(Step{Tokens: m.streams, Wall: took})
		m.tokens += m.streams
		m.read(t)
	}
}

// rest lets time go by without steps.
func (m *machine) rest(t *Tuner, d time.Duration) {
	m.pass(d, 0)
	m.read(t)
}

func (m *machine) read(t *Tuner) {
	if !t.Due(m.now) {
		return
	}
	before := t.Count()
	t.Read(m.load())
	if t.Count() != before {
		m.changes = append(m.changes, fmt.Sprintf("%v %s", m.now.Round(time.Millisecond), t.Reason()))
	}
}

// A neighbour takes a processor: within about a second there are fewer
// threads, and within a few seconds of its leaving all are back.
func TestFallsAndComesBack(t *testing.T) {
	for _, tt := range []struct {
		cpus      int
		neighbour float64
		want      int
	}{{2, 1, 1}, {4, 1, 3}, {4, 2, 2}, {3, 1, 2}} {
		m, tuner := newMachine(tt.cpus), New(tt.cpus)
		m.noise = 0.03
		m.decode(tuner, 20*time.Second)
		m.neighbour = tt.neighbour
		m.decode(tuner, 1200*time.Millisecond)
		if tuner.Count() != tt.want || !strings.Contains(tuner.Reason(), "a neighbour takes") {
			t.Errorf("%d processors, %v taken, after 1.2 s: %d threads (%s), want %d", tt.cpus, tt.neighbour, tuner.Count(), tuner.Reason(), tt.want)
		}
		m.decode(tuner, 20*time.Second)
		if tuner.Count() != tt.want || len(m.changes) != 1 {
			t.Errorf("%d processors, %v taken, after 20 s: %d threads, want %d; changes %q", tt.cpus, tt.neighbour, tuner.Count(), tt.want, m.changes)
		}
		m.neighbour = 0
		m.decode(tuner, 3*time.Second)
		if tuner.Count() != tt.cpus || !strings.HasSuffix(tuner.Reason(), "free again") {
			t.Errorf("%d processors, 3 s after %v were given back: %d threads (%s)", tt.cpus, tt.neighbour, tuner.Count(), tuner.Reason())
		}
	}
}

// In quiet nothing changes in ten minutes, whatever the noise, the growth of
// the context and the number of replies.
func TestQuietNeverFlaps(t *testing.T) {
	for seed := range uint64(30) {
		m, tuner := newMachine(2+2*int(seed%2)), New(2+2*int(seed%2))
		m.rng = rand.New(rand.NewPCG(seed, 7))
		m.noise = 0.05 + 0.1*m.rng.Float64()
		m.base = time.Duration(10+m.rng.IntN(300)) * time.Millisecond
		for end := m.now + 10*time.Minute; m.now < end; {
			m.streams = 1 + m.rng.IntN(4)
			m.base += m.base / 50 // a longer context
			if m.rng.IntN(10) == 0 {
				m.base = time.Duration(10+m.rng.IntN(300)) * time.Millisecond // heat, or another chat
			}
			m.decode(tuner, time.Duration(1+m.rng.IntN(15))*time.Second)
			m.rest(tuner, time.Duration(m.rng.IntN(20_000))*time.Millisecond)
		}
		if len(m.changes) > 0 {
			t.Errorf("seed %d: %q", seed, m.changes)
		}
	}
}

// While a neighbour stays, adapting costs at most 2 % against the best fixed
// count, and is far better than all threads.
func TestCostBesideNeighbour(t *testing.T) {
	run := func(fixed int) int {
		m, tuner := newMachine(2), New(2)
		m.noise, m.neighbour = 0.05, 1
		if fixed > 0 {
			tuner.count, tuner.most = fixed, fixed
		}
		for range 12 {
			m.decode(tuner, 5*time.Second)
			m.rest(tuner, 500*time.Millisecond)
		}
		return m.tokens
	}
	one, two, adaptive := run(1), run(2), run(0)
	if float64(adaptive) < 0.98*float64(max(one, two)) {
		t.Errorf("one thread %d tokens, two %d, adaptive %d", one, two, adaptive)
	}
}

// A neighbour who comes and goes every second makes no flapping: after a rise
// that does not last, the next one waits longer.
func TestBackOff(t *testing.T) {
	m, tuner := newMachine(2), New(2)
	for range 150 {
		m.neighbour = 1
		m.decode(tuner, 2*time.Second)
		m.neighbour = 0
		m.decode(tuner, 2*time.Second)
	}
	if len(m.changes) > 20 {
		t.Errorf("%d changes in ten minutes: %q", len(m.changes), m.changes)
	}
}

// Where fewer threads turn out to be slower, they come back at once, and the
// next fall waits.
func TestFallIsTakenBack(t *testing.T) {
	m, tuner := newMachine(2), New(2)
	m.gain = func(n int) float64 { return math.Pow(8, float64(n-1)) } // one is far slower than two, even held up
	m.decode(tuner, 5*time.Second)
	m.neighbour = 1
	m.decode(tuner, 60*time.Second)
	if tuner.Count() != 2 || !strings.HasSuffix(tuner.Reason(), "fewer threads were slower") {
		t.Errorf("%d threads (%s), want 2 again", tuner.Count(), tuner.Reason())
	}
	if len(m.changes) > 8 {
		t.Errorf("%d changes in a minute: %q", len(m.changes), m.changes)
	}
}

// Where more threads turn out to be slower, as on boards whose memory is the
// limit, they go again.
func TestRiseIsTakenBack(t *testing.T) {
	m, tuner := newMachine(4), New(4)
	m.neighbour = 1
	m.decode(tuner, 5*time.Second)
	m.neighbour = 0
	m.gain = func(n int) float64 { return 1 - 0.1*float64(n) }
	m.decode(tuner, 3*time.Second)
	if tuner.Count() != 3 || !strings.HasSuffix(tuner.Reason(), "more threads were slower") {
		t.Errorf("%d threads (%s), want 3", tuner.Count(), tuner.Reason())
	}
}

// A disk that holds the threads up is no neighbour: the processors idle.
func TestWaitingForDiskIsNoNeighbour(t *testing.T) {
	m, tuner := newMachine(2), New(2)
	for range 400 {
		m.now += 50 * time.Millisecond
		m.own += 20 * time.Millisecond
		m.idle += 80 * time.Millisecond
		tuner.Observe(Step{Tokens: 1, Wall: 50 * time.Millisecond})
		m.read(tuner)
	}
	if tuner.Count() != 2 {
		t.Errorf("%d threads: %s", tuner.Count(), tuner.Reason())
	}
}

// Where fewer threads were chosen than there are processors, a neighbour who
// takes one of the others is in nobody's way.
func TestSpareProcessors(t *testing.T) {
	m, tuner := newMachine(4), New(2)
	m.noise, m.neighbour = 0.05, 1.5
	m.decode(tuner, time.Minute)
	if len(m.changes) > 0 {
		t.Errorf("two threads on four processors: %q", m.changes)
	}
	m.neighbour = 3
	m.decode(tuner, 2*time.Second)
	if tuner.Count() != 1 {
		t.Errorf("with three of four taken: %d threads", tuner.Count())
	}
}

// What the neighbour did while a prompt was read, or between two replies, is
// known before the first token.
func TestKnowsBeforeTheFirstStep(t *testing.T) {
	m, tuner := newMachine(2), New(2)
	m.neighbour = 1
	m.rest(tuner, time.Second)
	m.rest(tuner, time.Second)
	if tuner.Count() != 1 {
		t.Errorf("a second beside a neighbour: %d threads", tuner.Count())
	}
	m.neighbour = 0
	m.rest(tuner, 3*time.Second)
	if tuner.Count() != 2 {
		t.Errorf("three seconds without: %d threads", tuner.Count())
	}
	m.neighbour = 1
	m.rest(tuner, time.Minute)
	if tuner.Count() != 2 {
		t.Errorf("a minute's average decided: %d threads (%s)", tuner.Count(), tuner.Reason())
	}
}

func TestOneThread(t *testing.T) {
	tuner := New(0)
	if tuner.Count() != 1 || tuner.Due(time.Hour) {
		t.Error("there is something to choose with one thread")
	}
}

// Readings that make no sense change nothing.
func TestNonsense(t *testing.T) {
	tuner := New(4)
	for _, l := range []Load{{}, {At: -time.Second, CPUs: 4}, {At: time.Second}, {At: 2 * time.Second, CPUs: 4, Process: -time.Hour, Idle: time.Hour}, {At: 2 * time.Second, CPUs: 4}} {
		tuner.Read(l)
		if n := tuner.Count(); n != 4 {
			t.Fatalf("after %+v: %d threads (%s)", l, n, tuner.Reason())
		}
	}
}
