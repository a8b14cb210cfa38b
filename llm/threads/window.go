package threads

import (
	"slices"
	"time"
)

// Step is a step that was computed.
type Step struct {
	Tokens int // in its batch: only steps of as many are likes
	Wall   time.Duration
}

// Load is a reading of the machine. Its times count from any fixed moment.
type Load struct {
	At      time.Duration // when it was taken
	CPUs    int           // processors that the process may use
	Process time.Duration // CPU time of this process
	Idle    time.Duration // CPU time that nobody used, of these processors
	// Threads computed most of the time since the reading before; 0 for none.
	Threads int
}

// processors is how many processors there are for this process: all but those
// that neighbours take or would take if nobody held them back. Own is how many
// it used.
func processors(last, now Load) (room, own float64) {
	elapsed, all := (now.At - last.At).Seconds(), float64(now.CPUs)
	own = (now.Process - last.Process).Seconds() / elapsed
	idle := (now.Idle - last.Idle).Seconds() / elapsed
	theirs := max(0, all-own-idle)
	if idle > 0.15 {
		return all - theirs, own // nobody had to wait: it is what they want
	}
	// All were busy, and shared by as many as wanted to run: n of ours and k of
	// theirs, who got all x k/(n+k).
	n := max(float64(now.Threads), own)
	if left := all - theirs; left > 0.05 {
		theirs = max(theirs, n*theirs/left)
	}
	return max(0, all-theirs), own
}

// stepTimes are the steps of a window.
type stepTimes struct {
	total  time.Duration
	tokens int
	mixed  bool // not all have as many tokens
	walls  []time.Duration
}

// kept bounds the memory of a window.
const kept = 256

func (s *stepTimes) add(step Step) {
	if len(s.walls) > 0 && step.Tokens != s.tokens {
		s.mixed = true
	}
	s.tokens = step.Tokens
	s.total += step.Wall
	if len(s.walls) < kept {
		s.walls = append(s.walls, step.Wall)
	}
}

// median is 0 where the steps are no likes, or none.
func (s *stepTimes) median() time.Duration {
	if s.mixed || len(s.walls) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.walls))
	return sorted[len(sorted)/2]
}
