package enginebench

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

func TestRatio(t *testing.T) {
	r := NewRatio([]float64{1.02, 0.97, 1.00, 0.99, 1.01, 0.98, 1.03})
	if r.Median != 1.00 || r.Low != 0.97 || r.High != 1.03 {
		t.Errorf("got %v", r)
	}
	for bar, want := range map[float64]string{0.90: "holds", 0.98: "undecided", 1.10: "fails"} {
		if got := r.Verdict(bar); got != want {
			t.Errorf("bar %v: %s, want %s", bar, got, want)
		}
	}
	if r := NewRatio([]float64{1, 1, 1}); !math.IsInf(r.High, 1) || r.Verdict(0.5) != "undecided" {
		t.Errorf("three pairs decide: %v", r)
	}
}
