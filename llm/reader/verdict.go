package reader

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Answer is what a Verdict is about.
type Answer struct {
	// Arrivals [n] is when each token of the reply came, reasoning included,
	// since the request's arrival.
	Arrivals []time.Duration
	// Thought is how many of them, the first ones, were reasoning: 0..n.
	Thought int
	// E2E is the time until the reply's end.
	E2E time.Duration
	// Text is the answer, reasoning left out; its words are counted.
	Text string
}

// Readers are the paces, tokens/s, that a verdict looks at; both positive.
type Readers struct {
	Target, Average float64
}

// DefaultReaders are Target and Average.
var DefaultReaders = Readers{Target: Target, Average: Average}

// Verdict says in two parts how an answer was to read: the wait before and
// the pace after. The pace's fields count only where Paced is true.
type Verdict struct {
	Tokens  int           // of the answer
	Start   time.Duration // until the reply's first token
	Thought time.Duration // from there to the answer's first token; 0 without reasoning
	E2E     time.Duration

	// Short is set below MinTokens answer tokens, where only the time counts.
	Short bool
	// Buffered is set where the tokens came at once and no pace can be told.
	Buffered bool
	// Paced is set where neither is.
	Paced bool

	Readers      Readers
	TPS          float64 // of the answer, (n-1)/(last-first); 0 when undefined
	SustainedTPS float64 // r*; 0 with Unbounded
	Unbounded    bool    // faster than can be told
	Wait         time.Duration
	WaitAverage  time.Duration
	Ahead        bool // the target reader waited at most Patience
	AheadAverage bool
	// Wait200 projects the target reader's wait over 200 tokens at TPS.
	Wait200 time.Duration
	// WordsPerMinute is the speed of the text produced, CharsPerMinute stands
	// in its place for Chinese, Japanese and Korean. The other is 0, and both
	// are where the answer has no duration.
	WordsPerMinute, CharsPerMinute float64
}

// projectedTokens is the length of answer that a projection speaks of.
const projectedTokens = 200

// Judge applies the rules of docs/glossary.md, "The reader", to an answer. It
// is pure.
func Judge(a Answer, r Readers) Verdict {
	v := Verdict{E2E: a.E2E, Readers: r}
	if len(a.Arrivals) == 0 {
		v.Short = true
		return v
	}
	v.Start = a.Arrivals[0]
	answer := a.Arrivals[min(a.Thought, len(a.Arrivals)):]
	v.Tokens = len(answer)
	switch {
	case a.Thought == 0:
	case len(answer) > 0:
		v.Thought = answer[0] - v.Start
	default:
		v.Thought = a.E2E - v.Start
	}
	v.Short = len(answer) < MinTokens
	v.Buffered = Buffered(answer)
	v.Paced = !v.Short && !v.Buffered
	if v.Paced {
		v.pace(answer, a.Text)
	}
	return v
}

func (v *Verdict) pace(answer []time.Duration, text string) {
	r, n := v.Readers, len(answer)
	span := (answer[n-1] - answer[0]).Seconds()
	if span > 0 {
		v.TPS = float64(n-1) / span
		words, chars := count(text)
		// The span lies between n tokens, so the first one's share is left out.
		perMinute := float64(n-1) / float64(n) / span * 60
		v.WordsPerMinute, v.CharsPerMinute = float64(words)*perMinute, float64(chars)*perMinute
	}
	pace, bounded := Sustained(answer, Patience)
	v.SustainedTPS, v.Unbounded = pace, !bounded
	v.Wait, v.WaitAverage = Wait(answer, r.Target), Wait(answer, r.Average)
	v.Ahead, v.AheadAverage = v.Wait <= Patience, v.WaitAverage <= Patience
	v.Wait200 = Projected(projectedTokens, v.TPS, r.Target)
}

// Sentence is the verdict in plain words, such as "3 s to start, then
// 5.1 tok/s: below the 11 target; over a 200-token answer a reader waits
// about 21 s". It has no capital and no full stop.
func (v Verdict) Sentence() string {
	thought := ""
	if v.Thought > 0 {
		thought = "thought " + Seconds(v.Thought) + ", "
	}
	if v.Tokens == 0 {
		if thought == "" {
			return "no answer"
		}
		return thought + "no answer"
	}
	if v.Short {
		return thought + "answered in " + Seconds(v.E2E)
	}
	lead := Seconds(v.Start) + " to start, " + thought + "then "
	if v.Buffered {
		return lead + "pace n/a (buffered)"
	}
	switch {
	case v.Ahead && v.Unbounded:
		return lead + "faster than can be told: ahead of you"
	case v.Ahead:
		// In a short answer the patience makes r* far larger than any rate that
		// was seen: what is said to be the pace never exceeds the mean.
		return lead + Pace(min(v.SustainedTPS, v.TPS)) + " tok/s: ahead of you"
	}
	below := fmt.Sprintf("%s%s tok/s: below the %s target", lead, v.belowTarget(), Pace(v.Readers.Target))
	if v.AheadAverage {
		below += ", ahead of an average reader"
	}
	below += "; "
	// A stall is not the rate's doing: it is told as it was, not projected.
	if 2*Projected(v.Tokens, v.TPS, v.Readers.Target) >= v.Wait {
		return below + fmt.Sprintf("over a %d-token answer a reader waits about %s", projectedTokens, aboutSeconds(v.Wait200))
	}
	return below + "a reader waited " + Seconds(v.Wait) + " in all"
}

// belowTarget prints r* so that it never reads as the target it misses.
func (v Verdict) belowTarget() string {
	if s := Pace(v.SustainedTPS); s != Pace(v.Readers.Target) {
		return s
	}
	return strconv.FormatFloat(math.Floor(v.SustainedTPS*10)/10, 'f', 1, 64)
}

// SmallBelow is the number of parameters below which a pace says nothing of
// usefulness.
const SmallBelow = 1_000_000_000

// SizeNote is what has to stand beside every verdict of a model with that
// many parameters; "" for a large one and when the number is 0, unknown.
func SizeNote(parameters uint64) string {
	if parameters == 0 || parameters >= SmallBelow {
		return ""
	}
	return "pace only: too small a model to judge usefulness by"
}

// Pace prints tokens/s for people: one decimal below 20.
func Pace(tps float64) string {
	if tps >= 20 {
		return strconv.FormatFloat(tps, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(tps, 'f', 1, 64), ".0")
}

// Seconds prints a duration for people: "0.4 s", "3 s", "21 s", "2 min 5 s".
func Seconds(d time.Duration) string {
	if s := d.Seconds(); s < 9.95 {
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 1, 64), ".0") + " s"
	}
	return aboutSeconds(d)
}

// aboutSeconds prints whole seconds.
func aboutSeconds(d time.Duration) string {
	d = d.Round(time.Second)
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}
