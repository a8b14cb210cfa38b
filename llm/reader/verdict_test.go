package reader

import (
	"math"
	"testing"
	"time"
)

// stream returns n arrivals from first on, at a rate in tokens/s.
func stream(first time.Duration, n int, rate float64) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = first + time.Duration(float64(i)/rate*float64(time.Second))
	}
	return out
}

func TestSentence(t *testing.T) {
	stalled := stream(time.Second, 100, 30)
	for i := 50; i < 100; i++ {
		stalled[i] += 6 * time.Second
	}
	at := func(a []time.Duration) Answer { return Answer{Arrivals: a, E2E: a[len(a)-1]} }
	thinking := append(stream(500*time.Millisecond, 300, 5), stream(62*time.Second, 60, 5)...)
	tests := []struct {
		name   string
		answer Answer
		want   string
	}{
		{"below", at(stream(3*time.Second, 200, 5.03)), "3 s to start, then 5.1 tok/s: below the 11 target; over a 200-token answer a reader waits about 21 s"},
		{"between the two readers", at(stream(3*time.Second, 200, 8)), "3 s to start, then 8.2 tok/s: below the 11 target, ahead of an average reader; over a 200-token answer a reader waits about 7 s"},
		{"ahead after a long wait", at(stream(14*time.Second, 100, 24)), "14 s to start, then 24 tok/s: ahead of you"},
		{"very fast", at(stream(200*time.Millisecond, 30, 100)), "0.2 s to start, then faster than can be told: ahead of you"},
		{"short", at(stream(time.Second, 10, 10)), "answered in 1.9 s"},
		{"one token", at(stream(1234*time.Millisecond, 1, 1)), "answered in 1.2 s"},
		{"nineteen and twenty", at(stream(time.Second, 19, 5)), "answered in 4.6 s"},
		{"none", Answer{E2E: time.Second}, "no answer"},
		{"buffered", at(stream(4*time.Second, 50, 1e7)), "4 s to start, then pace n/a (buffered)"},
		{"a mean above the target that stalls", at(stalled), "1 s to start, then 7 tok/s: below the 11 target, ahead of an average reader; a reader waited 3.1 s in all"},
		{"thinking", Answer{Arrivals: thinking, Thought: 300, E2E: 80 * time.Second}, "0.5 s to start, thought 62 s, then 5.2 tok/s: below the 11 target, ahead of an average reader; over a 200-token answer a reader waits about 22 s"},
		{"only thought", Answer{Arrivals: thinking[:300], Thought: 300, E2E: 61 * time.Second}, "thought 61 s, no answer"},
		{"thought, then a word", Answer{Arrivals: thinking[:303], Thought: 300, E2E: 63 * time.Second}, "thought 62 s, answered in 63 s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Judge(tt.answer, DefaultReaders).Sentence(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A stall in a fast answer: the mean is above the target, the verdict is not.
func TestJudgeMeanIsNotTheVerdict(t *testing.T) {
	a := stream(0, 300, 30)
	for i := 20; i < len(a); i++ {
		a[i] += 5 * time.Second
	}
	v := Judge(Answer{Arrivals: a}, DefaultReaders)
	if v.TPS < 11 || v.Ahead || v.SustainedTPS >= 11 {
		t.Errorf("mean %.1f, r* %.1f, ahead %v", v.TPS, v.SustainedTPS, v.Ahead)
	}
	if got, want := v.Sentence(), "0 s to start, then 3.9 tok/s: below the 11 target; a reader waited 3.8 s in all"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The verdict and r* are two views of one thing.
func TestAheadIffSustained(t *testing.T) {
	for rate := 5.0; rate < 20; rate += 0.37 {
		v := Judge(Answer{Arrivals: stream(0, 150, rate)}, DefaultReaders)
		if v.Ahead != (v.Unbounded || v.SustainedTPS >= 11) {
			t.Errorf("rate %.2f: ahead %v, r* %.3f", rate, v.Ahead, v.SustainedTPS)
		}
	}
}

func TestBelowNeverReadsAsTheTarget(t *testing.T) {
	v := Verdict{Tokens: 50, Paced: true, SustainedTPS: 10.97, Readers: DefaultReaders, Wait: 510 * time.Millisecond, Start: time.Second}
	if got, want := v.Sentence(), "1 s to start, then 10.9 tok/s: below the 11 target; a reader waited 0.5 s in all"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestTextSpeed(t *testing.T) {
	a := stream(0, 61, 10) // 6 s between the first and the last
	tests := []struct {
		text         string
		words, chars float64
	}{
		{"It's a well-known fact, isn't it? 42 times.", 8, 0},
		{"你好，世界 ok", 0, 4},
		{"", 0, 0},
		{"— … !", 0, 0},
	}
	for _, tt := range tests {
		v := Judge(Answer{Arrivals: a, Text: tt.text}, DefaultReaders)
		scale := 60.0 / 61 / 6 * 60
		if math.Abs(v.WordsPerMinute-tt.words*scale) > 1e-6 || math.Abs(v.CharsPerMinute-tt.chars*scale) > 1e-6 {
			t.Errorf("%q: %.1f words/min, %.1f characters/min", tt.text, v.WordsPerMinute, v.CharsPerMinute)
		}
	}
}

func TestSeconds(t *testing.T) {
	tests := map[time.Duration]string{
		0: "0 s", 40 * time.Millisecond: "0 s", 1900 * time.Millisecond: "1.9 s", 3 * time.Second: "3 s",
		9960 * time.Millisecond: "10 s", 21700 * time.Millisecond: "22 s", 125 * time.Second: "2 min 5 s",
		119600 * time.Millisecond: "2 min 0 s",
	}
	for d, want := range tests {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestSizeNote(t *testing.T) {
	if SizeNote(135e6) == "" || SizeNote(999_999_999) == "" || SizeNote(1e9) != "" || SizeNote(0) != "" {
		t.Error("the note stands at the wrong sizes")
	}
}
