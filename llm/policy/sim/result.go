package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pichat/llm/policy"
	"pichat/llm/reader"
)

// outcome is what became of a request.
type outcome struct {
	request
	predicted time.Duration // wait, when it arrived
	started   time.Duration
	tokens    []time.Duration // arrivals
	running   bool            // has been started
	finished  bool
	refused   bool
}

func (o *outcome) token(now time.Duration) { o.tokens = append(o.tokens, now) }

// Result sums up a run.
type Result struct {
	Scenario  Scenario
	Contender Contender
	TTFT      Sample // seconds
	Script    Sample // that of the client that floods; TTFT has it too
	Others    Sample // that of all others
	TPOT      Sample
	E2E       Sample
	Queue     Sample // queue waits
	// Met counts requests with a first token within Limit whose reader waited
	// 0.5 s at most; Missed the others, refused ones included; Undecided those
	// that were neither when the run ended.
	Met, Missed, Undecided, Refused int
	// Errors is how far Adaptive's predicted waits were off, of those that were
	// told one above 0 or waited for longer than 1 s, and Waited their waits.
	Errors, Waited Sample
	Streams        float64 // mean number of streams while any ran
	Busy           float64 // part of the time
}

// N is how many requests count so far.
func (r *Result) N() int { return r.Met + r.Missed + r.Undecided }

// Goodput is requests/s that met both limits.
func (r *Result) Goodput() float64 {
	return float64(r.Met) / (r.Scenario.During - r.Scenario.WarmUp).Seconds()
}

// Attainment is the part of the requests that met both limits; false if there
// were none.
func (r *Result) Attainment() (float64, bool) {
	n := r.Met + r.Missed
	return float64(r.Met) / float64(max(n, 1)), n > 0
}

// add counts a request that ended, was refused, or still ran when now was the
// end: then it counts with at least this long.
func (r *Result) add(o outcome, now time.Duration) {
	if o.refused {
		r.Refused++
		r.Missed++
		return
	}
	end := now
	if o.finished {
		end = o.tokens[len(o.tokens)-1]
	}
	r.E2E.add(end-o.arrival, !o.finished)
	if o.running {
		r.Queue.add(o.started-o.arrival, false)
	} else {
		r.Queue.add(now-o.arrival, true)
	}
	if o.running && o.predicted != policy.Unknown && (o.predicted > 0 || o.started > o.arrival+time.Second) {
		r.Errors.add(max(o.predicted-(o.started-o.arrival), o.started-o.arrival-o.predicted), false)
		r.Waited.add(o.started-o.arrival, false)
	}
	if len(o.tokens) == 0 {
		r.first(o.client, now-o.arrival, true)
		r.decide(now-o.arrival > Limit, false)
		return
	}
	first := o.tokens[0] - o.arrival
	r.first(o.client, first, false)
	if n := len(o.tokens); n > 1 {
		r.TPOT.add((o.tokens[n-1]-o.tokens[0])/time.Duration(n-1), false)
	}
	late := first > Limit || !reader.KeepsAhead(o.tokens, Pace, reader.Patience)
	r.decide(late, o.finished)
}

func (r *Result) first(client string, d time.Duration, open bool) {
	r.TTFT.add(d, open)
	if client == script {
		r.Script.add(d, open)
	} else {
		r.Others.add(d, open)
	}
}

func (r *Result) decide(missed, finished bool) {
	switch {
	case missed:
		r.Missed++
	case finished:
		r.Met++
	default:
		r.Undecided++
	}
}

func (r *Result) finish(e *engine) {
	for _, sample := range []*Sample{&r.TTFT, &r.Script, &r.Others, &r.TPOT, &r.E2E, &r.Queue, &r.Errors, &r.Waited} {
		sample.sort()
	}
	r.Busy = e.busy.Seconds() / e.now.Seconds()
	r.Streams = e.streams.Seconds() / max(e.busy.Seconds(), 1e-9)
}

// Sample is durations, some of which are only known to be at least that long.
type Sample struct {
	values []value
	sum    time.Duration
	open   int
}

type value struct {
	d    time.Duration
	open bool // at least this long
}

func (s *Sample) add(d time.Duration, open bool) {
	s.values = append(s.values, value{d, open})
	s.sum += d
	if open {
		s.open++
	}
}

func (s *Sample) sort() {
	slices.SortFunc(s.values, func(a, b value) int { return int(a.d - b.d) })
}

// N is how many there are.
func (s *Sample) N() int { return len(s.values) }

// Mean is their mean; 0 of none.
func (s *Sample) Mean() time.Duration { return s.sum / time.Duration(max(len(s.values), 1)) }

// MeanText is the mean in seconds, with "≥" where one is only known to be at
// least that; "n/a (n=0)" of none.
func (s *Sample) MeanText() string {
	switch {
	case len(s.values) == 0:
		return "n/a (n=0)"
	case s.open > 0:
		return "≥" + format(s.Mean())
	}
	return format(s.Mean())
}

// Percentile is the text of a percentile in seconds, 0 < p < 1: "n/a (n=17)"
// where fewer than ln 0.05/ln p values bound it with 95 % confidence, and with
// "≥" where a value up to it is only known to be at least that.
func (s *Sample) Percentile(p float64) string {
	n := len(s.values)
	if float64(n) < math.Log(0.05)/math.Log(p) {
		return fmt.Sprintf("n/a (n=%d)", n)
	}
	at := min(int(math.Ceil(p*float64(n)))-1, n-1)
	text := format(s.values[at].d)
	if slices.ContainsFunc(s.values[:at+1], func(v value) bool { return v.open }) {
		text = "≥" + text
	}
	return text
}

// format is seconds to two or three figures.
func format(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 99.5:
		return fmt.Sprintf("%.0f", s)
	case s >= 9.95:
		return fmt.Sprintf("%.1f", s)
	case s >= 0.0995:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.3f", s)
	}
}
