package paired

import (
	"math"
	"testing"
)

func TestIntervalRank(t *testing.T) {
	// Published tables of the sign-test interval for the median.
	for n, want := range map[int]int{5: 0, 6: 1, 7: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6} {
		if got := intervalRank(n); got != want {
			t.Errorf("n=%d: rank %d, want %d", n, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	r := NewRatio([]float64{1.02, 0.97, 1.00, 0.99, 1.01, 0.98, 1.03})
	if r.Median != 1.00 || r.Low != 0.97 || r.High != 1.03 {
		t.Errorf("got %v", r)
	}
	for _, tt := range []struct {
		bar  Bar
		want string
	}{
		{AtLeast(0.90), "holds"}, {AtLeast(0.98), "undecided"}, {AtLeast(1.10), "misses"},
		{AtMost(1.10), "holds"}, {AtMost(1.01), "undecided"}, {AtMost(0.90), "misses"},
	} {
		if got := r.Verdict(tt.bar); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.bar, got, tt.want)
		}
	}
	if r := NewRatio([]float64{1, 1, 1}); !math.IsInf(r.High, 1) || r.Verdict(AtLeast(0.5)) != "undecided" {
		t.Errorf("three pairs decide: %v", r)
	}
}

func TestOf(t *testing.T) {
	r := Of([]float64{2, 3, 0, 5}, []float64{1, 2, 0, 0})
	if r.Pairs != 3 || r.Median != 2 {
		t.Errorf("a pair of zeros counts, or infinity does not: %v", r)
	}
	if r := Of(nil, nil); !math.IsNaN(r.Median) || r.Verdict(AtLeast(1)) != "undecided" {
		t.Errorf("nothing measured decides: %v", r)
	}
	if m := Median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median %v", m)
	}
}
