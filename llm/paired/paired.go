// Package paired is the statistics of comparing two programs by alternating
// runs: the median of the pairs' ratios, an interval for it that assumes
// nothing of the distribution, and whether it reaches a bar.
package paired

import (
	"fmt"
	"math"
	"slices"
)

// Ratio is the outcome of a paired comparison: the median of the pairs'
// ratios and an interval that holds the true median with at least 95 %
// confidence, whatever the distribution (order statistics, the sign test).
type Ratio struct {
	Median, Low, High float64
	Pairs             int
}

// NewRatio takes the ratios of n pairs. Fewer than 6 pairs give no 95 %
// interval: then it is unbounded. NaN ratios, of pairs that tell nothing, are
// left out.
func NewRatio(ratios []float64) Ratio {
	s := slices.DeleteFunc(slices.Clone(ratios), math.IsNaN)
	slices.Sort(s)
	n := len(s)
	r := Ratio{Median: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Pairs: n}
	if n == 0 {
		return r
	}
	r.Median = median(s)
	if k := intervalRank(n); k > 0 {
		r.Low, r.High = s[k-1], s[n-k]
	}
	return r
}

// Of returns the ratio of pairs of measurements, a[i]/b[i]. Both have the same
// length.
func Of(a, b []float64) Ratio {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i] // 0/0 is NaN: such a pair tells nothing
	}
	return NewRatio(ratios)
}

// Median returns the median of values, NaN without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return median(slices.Sorted(slices.Values(values)))
}

func median(sorted []float64) float64 {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	if low == high {
		return low // infinities too
	}
	return (low + high) / 2
}

// intervalRank is the largest k for which [x(k), x(n+1-k)] holds the median
// with 95 % confidence; 0 when n is too small for any.
func intervalRank(n int) int {
	tail, term := 0.0, math.Pow(0.5, float64(n)) // P(X = 0), X ~ Binomial(n, 1/2)
	k := 0
	for i := 0; i <= n/2; i++ {
		tail += term
		if 2*tail > 0.05 {
			break
		}
		k = i + 1
		term *= float64(n-i) / float64(i+1)
	}
	return k
}

// Bar is what a ratio should reach.
type Bar struct {
	Value  float64
	AtMost bool // the ratio should not be above it, rather than not below
}

// AtLeast is a bar from below.
func AtLeast(value float64) Bar { return Bar{Value: value} }

// AtMost is a bar from above.
func AtMost(value float64) Bar { return Bar{Value: value, AtMost: true} }

// Verdict compares the interval with a bar: "holds", "misses", or "undecided"
// when the interval straddles it.
func (r Ratio) Verdict(bar Bar) string {
	holds, misses := r.Low >= bar.Value, r.High < bar.Value
	if bar.AtMost {
		holds, misses = r.High <= bar.Value, r.Low > bar.Value
	}
	switch {
	case holds:
		return "holds"
	case misses:
		return "misses"
	}
	return "undecided"
}

func (b Bar) String() string {
	if b.AtMost {
		return fmt.Sprintf("at most %.2f", b.Value)
	}
	return fmt.Sprintf("at least %.2f", b.Value)
}

func (r Ratio) String() string {
	return fmt.Sprintf("median %.3f, 95 %% interval %.3f to %.3f over %d pairs", r.Median, r.Low, r.High, r.Pairs)
}
