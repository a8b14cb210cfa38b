package enginebench

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
// interval: then it is unbounded.
func NewRatio(ratios []float64) Ratio {
	s := slices.Sorted(slices.Values(ratios))
	n := len(s)
	r := Ratio{Median: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Pairs: n}
	if n == 0 {
		return r
	}
	r.Median = (s[(n-1)/2] + s[n/2]) / 2
	if k := intervalRank(n); k > 0 {
		r.Low, r.High = s[k-1], s[n-k]
	}
	return r
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

// Verdict compares the interval with a bar that the ratio should reach:
// "holds", "fails", or "undecided" when the interval straddles it.
func (r Ratio) Verdict(bar float64) string {
	switch {
	case r.Low >= bar:
		return "holds"
	case r.High < bar:
		return "fails"
	}
	return "undecided"
}

func (r Ratio) String() string {
	return fmt.Sprintf("median %.3f, 95 %% interval %.3f to %.3f over %d pairs", r.Median, r.Low, r.High, r.Pairs)
}
