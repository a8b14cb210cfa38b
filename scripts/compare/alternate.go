package main

import (
	"cmp"
	"context"
	"slices"

	"pichat/llm/paired"
)

// quiet is how much of a core other programs may use while something is
// measured. What was disturbed more is measured again, as often as it was
// wanted; if that does not help, the least disturbed count. How much others
// did says nothing of the outcome, so leaving pairs out does not favour a side.
const quiet = 0.1

// measured is a measurement and how much of a core others used meanwhile.
type measured[T any] struct {
	value     T
	elsewhere float64
}

// leastDisturbed is n of the measurements, in their order.
func leastDisturbed[T any](all []measured[T], n int) []T {
	index := make([]int, len(all))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(all[a].elsewhere, all[b].elsewhere) })
	index = index[:min(n, len(index))]
	slices.Sort(index)
	var out []T
	for _, i := range index {
		out = append(out, all[i].value)
	}
	return out
}

// repeat measures until n measurements were not disturbed, 2n at most, after
// one that does not count.
func repeat[T any](s *session, n int, measure func(i int) (T, error)) (kept []T, took int, err error) {
	var all []measured[T]
	undisturbed := 0
	for i := 0; undisturbed < n && i <= 2*n; i++ {
		m := s.meter()
		value, err := measure(i)
		if err != nil {
			return nil, i, err
		}
		if i == 0 {
			continue
		}
		all = append(all, measured[T]{value, m.stop().elsewhere})
		if m.elsewhere <= quiet {
			undisturbed++
		}
	}
	return leastDisturbed(all, n), len(all), nil
}

// alternate measures two sides n times in turn, each first as often as the
// other, after a pair that does not count. Both get the same seed for the same
// pair. It also returns how the machine was used meanwhile.
func alternate[T any](ctx context.Context, s *session, n int, a, b func(context.Context, uint64) (T, error)) (as, bs []T, m *meter, err error) {
	sides := [2]func(context.Context, uint64) (T, error){a, b}
	m = s.meter()
	pairs, took, err := repeat(s, n, func(pair int) (got [2]T, err error) {
		seed := s.rand.Uint64()
		for i := range 2 {
			side := (pair + i) % 2
			if err := s.pause(ctx); err != nil {
				return got, err
			}
			if got[side], err = sides[side](ctx, seed); err != nil {
				return got, err
			}
		}
		return got, nil
	})
	if err != nil {
		return nil, nil, m, err
	}
	m.stop()
	m.pairs = took
	for _, p := range pairs {
		as, bs = append(as, p[0]), append(bs, p[1])
	}
	return as, bs, m, nil
}

// tries is the median of a few measurements, after one that does not count.
func (s *session) tries(ctx context.Context, try func() (float64, error)) (float64, error) {
	figures, _, err := repeat(s, s.sweepTries, func(int) (float64, error) {
		if err := s.pause(ctx); err != nil {
			return 0, err
		}
		return try()
	})
	return paired.Median(figures), err
}
