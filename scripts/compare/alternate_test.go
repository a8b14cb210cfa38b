package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestLeastDisturbed(t *testing.T) {
	all := []measured[string]{{"a", 0.3}, {"b", 0.01}, {"c", 0.2}, {"d", 0.01}, {"e", 0.9}}
	if got := leastDisturbed(all, 3); !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Errorf("got %v", got)
	}
	if got := leastDisturbed(all[:1], 3); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v", got)
	}
}

// Each side is first in every other pair, the first pair does not count, and
// both get one seed.
func TestAlternate(t *testing.T) {
	s := &session{config: config{rest: time.Nanosecond}, rand: seeded(1), running: map[int]bool{}}
	var order []string
	var seeds []uint64
	side := func(name string) func(context.Context, uint64) (string, error) {
		return func(_ context.Context, seed uint64) (string, error) {
			order, seeds = append(order, name), append(seeds, seed)
			return name, nil
		}
	}
	as, bs, m, err := alternate(t.Context(), s, 4, side("a"), side("b"))
	if err != nil || len(as) != 4 || len(bs) != 4 || as[0] != "a" || bs[3] != "b" || m.pairs < 4 || m.pairs > 8 {
		t.Fatalf("%v %v %+v %v", as, bs, m, err)
	}
	if !slices.Equal(order[:8], []string{"a", "b", "b", "a", "a", "b", "b", "a"}) || len(order) != 2*(m.pairs+1) {
		t.Errorf("order %v", order)
	}
	for i := 0; i < len(seeds); i += 2 {
		if seeds[i] != seeds[i+1] || i > 0 && seeds[i] == seeds[i-1] {
			t.Errorf("seeds %v", seeds)
		}
	}
	broken := errors.New("broken")
	if _, _, _, err := alternate(t.Context(), s, 4, side("a"), func(context.Context, uint64) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
