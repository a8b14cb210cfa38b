package threads

import "time"

// A change is judged by the steps of this many windows after it, and given up
// when it takes more than patience windows to see them.
const (
	trialWindows = 2
	patience     = 8
)

// slower is the ratio of step times from which a change was for the worse.
// Below it the difference is that of noise, and of a context that grows.
const slower = 1.05

// verdict is what a trial comes to.
type verdict int

const (
	undecided verdict = iota // go on
	good                     // not slower
	worse                    // slower
	unknown                  // no like steps came
)

// trial compares the steps after a change with those before. The zero value
// is none.
type trial struct {
	from   int           // count before the change; 0 when there is no trial
	tokens int           // of the steps before
	before time.Duration // their median
	after  time.Duration // the best window's since
	seen   int           // windows with like steps
	waited int           // windows
}

func newTrial(from int, before stepTimes) trial {
	median := before.median()
	if median == 0 {
		return trial{}
	}
	return trial{from: from, tokens: before.tokens, before: median}
}

func (t *trial) running() bool { return t.from > 0 }

// judge takes a window. Any verdict but undecided ends the trial.
func (t *trial) judge(steps stepTimes, decoding bool) verdict {
	t.waited++
	if median := steps.median(); decoding && median > 0 && steps.tokens == t.tokens {
		t.seen++
		if t.after == 0 || median < t.after {
			t.after = median
		}
	}
	v := undecided
	switch {
	case t.seen >= trialWindows && float64(t.after) > slower*float64(t.before):
		v = worse
	case t.seen >= trialWindows:
		v = good
	case t.waited >= patience:
		v = unknown
	}
	if v != undecided {
		*t = trial{}
	}
	return v
}
