// Package threads chooses how many threads compute, while they do.
//
// The engine's threads wait for each other spinning, many times in a step. So
// when another process takes a processor, a thread more than there are free
// processors makes a step slower, not faster. A [Tuner] is told what steps
// took and, a few times a second, what the processors did: whatever they did
// that was neither idleness nor this process is the neighbours' share. That
// share tells when to take fewer threads and, without trying, when they may be
// more again. What the steps then take, held against those just before with as
// many streams, confirms a change or takes it back.
//
// Everything here is pure: times come in as arguments, and nothing is read.
package threads

import (
	"fmt"
	"time"
)

// The pace of decisions.
const (
	window = 250 * time.Millisecond // between two readings
	// longGap ends what was known: what happened on average over a longer time
	// without steps says little about now.
	longGap = 10 * time.Second

	fallAfter = 750 * time.Millisecond // of starving; counts twice where it is plain
	riseAfter = time.Second            // of free processors, at first
	riseMost  = time.Minute            // at most, after rises that did not last
	lasting   = 15 * time.Second       // a rise that lasts as long was right

	holdFirst = 10 * time.Second // no fall for as long after one that was taken back
	holdMost  = 5 * time.Minute
)

// How many processors there must be, against the number of threads. Between
// falling and rising there is a gap, so that a neighbour who takes half of a
// processor changes nothing.
const (
	starving = 0.5  // fall below count - starving
	plainly  = 0.75 // plain below count - plainly
	roomy    = 0.7  // rise from count + roomy
	resting  = 0.25 // a process that uses less does nothing to speak of
)

// Tuner holds what is known for one kind of steps, decode or prefill. It
// belongs to one goroutine.
type Tuner struct {
	most, count int
	reason      string

	open  bool // last is a reading
	last  Load
	steps stepTimes // since last

	starved, free time.Duration // how long it has looked like that
	room          float64       // processors for us, where it looks like that
	riseAfter     time.Duration
	rose          time.Duration // when, by Load.At
	hold          time.Duration // of the next fall that is taken back
	heldUntil     time.Duration
	trial         trial
}

// New returns a tuner that begins with the most threads there may be, at
// least 1.
func New(most int) *Tuner {
	most = max(1, most)
	return &Tuner{most: most, count: most, riseAfter: riseAfter, hold: holdFirst, rose: -lasting}
}

// Count is how many threads to use now, 1 to the most.
func (t *Tuner) Count() int { return t.count }

// Reason says in words why the count last changed; "" when it never did.
func (t *Tuner) Reason() string { return t.reason }

// Observe takes a step of the tuner's kind, computed with Count threads.
func (t *Tuner) Observe(s Step) { t.steps.add(s) }

// Due reports whether it is time for a Read. There is nothing to choose with
// one thread, and then it never is.
func (t *Tuner) Due(at time.Duration) bool {
	return t.most > 1 && (!t.open || at-t.last.At >= window)
}

// Begin takes a reading after a pause: what others did in the pause says nothing
// about now, so that what comes is held against this one.
func (t *Tuner) Begin(now Load) {
	if now.At-t.last.At > longGap {
		t.trial = trial{}
	}
	t.last, t.open = now, true
	t.steps = stepTimes{walls: t.steps.walls[:0]}
	t.starved, t.free = 0, 0
}

// Read takes what the machine did since the reading before and decides.
func (t *Tuner) Read(now Load) {
	last, steps, open := t.last, t.steps, t.open
	t.last, t.open = now, true
	t.steps = stepTimes{walls: make([]time.Duration, 0, cap(steps.walls))}
	elapsed := now.At - last.At
	if !open || elapsed <= 0 || now.CPUs < 1 || now.Process < last.Process {
		return
	}
	if elapsed > longGap {
		t.forget()
		return
	}
	decoding := steps.total >= elapsed*8/10
	if t.trial.running() {
		t.judge(steps, decoding, now.At)
		return
	}
	room, own := processors(last, now)
	t.weigh(room, elapsed, own < resting)
	t.decide(steps, decoding, now)
}

// weigh adds a window to what speaks for a change.
func (t *Tuner) weigh(room float64, elapsed time.Duration, resting bool) {
	count := float64(t.count)
	switch plain := room < count-plainly; {
	case plain && resting:
		t.starved += fallAfter // nothing of ours blurs the view
	case plain:
		t.starved += 2 * elapsed
	case room < count-starving:
		t.starved += elapsed
	default:
		t.starved = 0
	}
	if room >= count+roomy {
		t.free += elapsed
	} else {
		t.free = 0
	}
	if t.starved > 0 || t.free > 0 {
		t.room = room
	}
}

// decide changes the count where enough speaks for it.
func (t *Tuner) decide(steps stepTimes, decoding bool, now Load) {
	before := steps
	if !decoding {
		before = stepTimes{} // nothing to hold the steps to come against
	}
	switch room := t.room; {
	case t.count > 1 && t.starved >= fallAfter && now.At >= t.heldUntil:
		if now.At-t.rose < lasting {
			t.riseAfter = min(2*t.riseAfter, riseMost)
		} else {
			t.riseAfter = riseAfter
		}
		to := min(max(int(room+0.5), 1), t.count-1)
		t.change(to, before, fmt.Sprintf("a neighbour takes %.1f of %d processors", float64(now.CPUs)-room, now.CPUs))
	case t.count < t.most && t.free >= t.riseAfter:
		t.rose = now.At
		to := min(max(int(room+1-roomy), t.count+1), t.most)
		t.change(to, before, "processors are free again")
	}
}

// judge holds the steps after a change against those before it.
func (t *Tuner) judge(steps stepTimes, decoding bool, at time.Duration) {
	from, rise := t.trial.from, t.count > t.trial.from
	switch t.trial.judge(steps, decoding) {
	case undecided, unknown:
	case worse:
		if rise {
			t.riseAfter = min(2*t.riseAfter, riseMost)
			t.change(from, stepTimes{}, "more threads were slower")
		} else {
			t.heldUntil = at + t.hold
			t.hold = min(2*t.hold, holdMost)
			t.change(from, stepTimes{}, "fewer threads were slower")
		}
	case good:
		if !rise {
			t.hold = holdFirst
		}
	}
}

// change sets the count; before are the steps that those to come are held
// against, if any.
func (t *Tuner) change(to int, before stepTimes, why string) {
	t.reason = fmt.Sprintf("%d → %d: %s", t.count, to, why)
	t.trial = newTrial(t.count, before)
	t.count = to
	t.starved, t.free = 0, 0
}

// forget drops what was seen, but not what was learned.
func (t *Tuner) forget() {
	t.starved, t.free = 0, 0
	t.trial = trial{}
}
