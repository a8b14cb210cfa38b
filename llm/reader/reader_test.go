package reader

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

// steady is n tokens at a rate, the first after 3 s.
func steady(n int, rate float64) []time.Duration {
	a := make([]time.Duration, n)
	for i := range a {
		a[i] = 3*time.Second + time.Duration(float64(i)/rate*float64(time.Second))
	}
	return a
}

func TestWait(t *testing.T) {
	tests := []struct {
		name     string
		arrivals []time.Duration
		pace     float64
		want     time.Duration
	}{
		{"no token", nil, 11, 0},
		{"one token", steady(1, 5), 11, 0},
		{"ahead of the reader", steady(200, 20), 11, 0},
		{"at the reader's pace", steady(200, 11), 11, 0},
		{"the issue's example: 200 tokens at 5", steady(200, 5), 11, 21709 * ms},
		{"one late token in a fast stream", []time.Duration{0, 50 * ms, 2000 * ms, 2050 * ms}, 10, 1800 * ms},
		{"a late start is made up for", []time.Duration{0, 1000 * ms, 1010 * ms, 1020 * ms}, 2, 500 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Wait(tt.arrivals, tt.pace); got.Round(ms) != tt.want {
				t.Errorf("Wait = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestProjectedAgreesWithWait(t *testing.T) {
	got, want := Projected(200, 5, 11), Wait(steady(200, 5), 11)
	if d := got - want; d > ms || d < -ms {
		t.Errorf("Projected = %v, Wait = %v", got, want)
	}
	if got := Projected(200, 12, 11); got != 0 {
		t.Errorf("a rate above the pace waits %v", got)
	}
}

func TestSustained(t *testing.T) {
	if r, ok := Sustained(steady(200, 5), Patience); !ok || math.Abs(r-5.06) > 0.01 {
		t.Errorf("steady 5/s sustains %v, %v; want 5.06", r, ok)
	}
	if r, ok := Sustained(steady(5, 20), Patience); ok {
		t.Errorf("an answer within patience sustains %v, want: cannot be told", r)
	}
	// A 150 ms gap at the start of a fast stream does not decide.
	first := append([]time.Duration{0}, steady(200, 20)...)
	for i := 1; i < len(first); i++ {
		first[i] += 150*ms - 3*time.Second
	}
	r, _ := Sustained(first, Patience)
	if r < 19 {
		t.Errorf("one slow first gap gives %v, want about 20", r)
	}
	// r* is where the wait is the patience.
	if w := Wait(steady(200, 5), 5.0629); w.Round(10*ms) > 510*ms || w < 480*ms {
		t.Errorf("at r* the reader waits %v, want %v", w, Patience)
	}
}

func TestKeepsAhead(t *testing.T) {
	if !KeepsAhead(steady(200, 11), Target, Patience) {
		t.Error("11 tokens/s does not keep ahead of 11")
	}
	if KeepsAhead(steady(200, 10), Target, Patience) {
		t.Error("10 tokens/s keeps ahead of 11 over 200 tokens")
	}
	// A mean above the target with a long stop does not keep ahead.
	a := steady(200, 30)
	for i := 20; i < len(a); i++ {
		a[i] += 5 * time.Second
	}
	if KeepsAhead(a, Target, Patience) {
		t.Error("a stop of 5 s counts as keeping ahead")
	}
}

func TestStallsAt(t *testing.T) {
	got := StallsAt([]time.Duration{0, 100 * ms, 500 * ms, 600 * ms, 1000 * ms}, 10)
	if got.Count != 2 || got.Longest != 300*ms {
		t.Errorf("StallsAt = %+v, want 2 stalls, the longest 300ms", got)
	}
	if got := StallsAt(steady(50, 30), 11); got.Count != 0 {
		t.Errorf("a fast stream stalls %d times", got.Count)
	}
}

func TestBuffered(t *testing.T) {
	same := make([]time.Duration, 40)
	if !Buffered(same) {
		t.Error("forty tokens in one instant are not called buffered")
	}
	if Buffered(steady(40, 20)) || Buffered(same[:5]) {
		t.Error("a stream, or a few tokens, are called buffered")
	}
}
