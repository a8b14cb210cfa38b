package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// at makes arrivals of milliseconds.
func at(ms ...int) []time.Duration {
	out := make([]time.Duration, len(ms))
	for i, m := range ms {
		out[i] = time.Duration(m) * time.Millisecond
	}
	return out
}

func TestOverlap(t *testing.T) {
	// The second was sent 50 ms later: all run from 150 to 400 ms of the first's
	// clock, in which 2 and 3 frames came, the second's of two tokens each.
	replies := []reply{
		{arrivals: at(100, 200, 300, 400), tokens: 4},
		{arrivals: at(100, 150, 250, 300, 500), tokens: 10},
	}
	tps, window := overlap(replies, at(0, 50))
	// frames after 150 ms: 200 300 400, and 200 300 350
	if want := (3 + 2*3) / 0.25; window != 250*time.Millisecond || math.Abs(tps-want) > 1e-9 {
		t.Errorf("%v tokens/s over %v, want %v over 250ms", tps, window, want)
	}
	if tps, window := overlap([]reply{{arrivals: at(1, 2), tokens: 2}, {arrivals: at(5, 6), tokens: 2}}, at(0, 0)); tps != 0 || window != 0 {
		t.Errorf("replies that never ran together: %v over %v", tps, window)
	}
}

func TestLongestGap(t *testing.T) {
	arrivals := at(0, 100, 110, 160, 170, 500)
	for _, tt := range []struct{ from, to, want int }{
		{120, 165, 50},  // the gap that began before counts, those after do not
		{105, 165, 50},  // 100-110 overlaps, 110-160 is longer
		{50, 60, 100},   // within one gap
		{165, 170, 330}, // the gap that begins at the end counts
		{600, 700, 0},
	} {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		if got := longestGap(arrivals, ms(tt.from), ms(tt.to)); got != ms(tt.want) {
			t.Errorf("%d to %d: %v, want %d ms", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestVisits(t *testing.T) {
	const rate, over = 20.0, 100 * time.Second
	a, b := visits(seeded(7), rate, over), visits(seeded(7), rate, over)
	if len(a) != len(b) || a[5].at != b[5].at || a[5].ask.messages[1] != b[5].ask.messages[1] {
		t.Error("one seed gives two loads")
	}
	// 2,000 arrivals are expected, with a deviation of 45.
	if n := len(a); n < 1800 || n > 2200 {
		t.Errorf("%d arrivals", n)
	}
	spread := 0.0 // of the gaps, which is their mean where arrivals are Poisson
	for i := 1; i < len(a); i++ {
		d := (a[i].at - a[i-1].at).Seconds() - 1/rate
		spread += d * d
	}
	if sd := math.Sqrt(spread / float64(len(a)-1)); sd < 0.9/rate || sd > 1.1/rate {
		t.Errorf("the gaps deviate by %v s, their mean is %v s", sd, 1/rate)
	}
	if a[len(a)-1].at >= over {
		t.Error("an arrival after the end")
	}
}

func TestMet(t *testing.T) {
	even := func(first, step, n int) (out []time.Duration) {
		for i := range n {
			out = append(out, at(first+i*step)...)
		}
		return out
	}
	for _, tt := range []struct {
		name string
		v    visited
		want bool
	}{
		{"good", visited{arrivals: even(1900, 90, 50)}, true},
		{"late", visited{arrivals: even(2100, 10, 50)}, false},
		{"slow", visited{arrivals: even(100, 120, 50)}, false},
		{"slow but short", visited{arrivals: even(100, 120, 10)}, true}, // waits 0.26 s in all
		{"refused", visited{refused: true, failed: true}, false},
		{"cut off", visited{arrivals: even(100, 10, 5), failed: true}, false},
	} {
		if got := tt.v.met(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestPrompts(t *testing.T) {
	a, b := prompt(seeded(1), 30), prompt(seeded(2), 30)
	if n := len(strings.Fields(a[1].Content)) - len(strings.Fields(request)); n != 31 {
		t.Errorf("%d words, want The and 30", n)
	}
	first := func(m []message) string { return strings.Join(strings.Fields(m[0].Content)[:3], " ") }
	if first(a) == first(b) {
		t.Errorf("two prompts begin alike: %q", first(a))
	}
	if again := prompt(seeded(1), 30); again[1] != a[1] {
		t.Error("one seed gives two prompts")
	}
	seen := map[string]bool{}
	for _, w := range words {
		seen[w] = true
	}
	if len(seen) < 90 {
		t.Errorf("%d words are too few", len(seen))
	}
}

func TestParseBench(t *testing.T) {
	if v, err := parseBench([]byte(`[{"n_gen":128,"avg_ts":113.5}]`)); err != nil || v != 113.5 {
		t.Errorf("%v %v", v, err)
	}
	for _, bad := range []string{``, `{}`, `[]`, `[{}]`, `[{"avg_ts":1},{"avg_ts":2}]`} {
		if v, err := parseBench([]byte(bad)); err == nil {
			t.Errorf("%q gives %v", bad, v)
		}
	}
}

func TestPeerArguments(t *testing.T) {
	l := config{model: "m.gguf"}.peer(shape{slots: 4, window: 2048}, peerFlags{Threads: 1, UBatch: 512, Unified: true})
	got := strings.Join(l.args, " ")
	if want := "--model m.gguf --parallel 4 --ctx-size 8192 --threads 1 --ubatch-size 512 --kv-unified"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
