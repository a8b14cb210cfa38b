package llm

import (
	"testing"
	"time"
)

func TestTimingsUndefined(t *testing.T) {
	for name, arrivals := range map[string][]time.Duration{
		"no token":      nil,
		"one token":     {time.Second},
		"in an instant": {time.Second, time.Second, time.Second},
	} {
		tm := Timings{Arrivals: arrivals}
		if tps, ok := tm.TPS(); ok {
			t.Errorf("%s: TPS = %v, want undefined", name, tps)
		}
	}
	if _, ok := (Timings{}).TTFT(); ok {
		t.Error("TTFT without a token is defined")
	}
	if _, ok := (Timings{Arrivals: []time.Duration{1}}).TPOT(); ok {
		t.Error("TPOT of one token is defined")
	}
	if _, ok := (Timings{PromptTokens: 5, CachedTokens: 5, Prefill: 1}).PrefillSpeed(); ok {
		t.Error("the prefill speed of nothing evaluated is defined")
	}
}

// Case R1: the prefill is not charged to the pace.
func TestTimingsLeaveThePrefillOut(t *testing.T) {
	tm := Timings{PromptTokens: 100, CachedTokens: 20, Prefill: 4 * time.Second, Queue: time.Second, ThoughtTokens: 1}
	for i := range 11 {
		tm.Arrivals = append(tm.Arrivals, 5*time.Second+time.Duration(i)*100*time.Millisecond)
	}
	if tps, _ := tm.TPS(); tps != 10 {
		t.Errorf("TPS = %v, want 10", tps)
	}
	if tpot, _ := tm.TPOT(); tpot != 100*time.Millisecond {
		t.Errorf("TPOT = %v, want 100ms", tpot)
	}
	if ttft, _ := tm.TTFT(); ttft != 5*time.Second {
		t.Errorf("TTFT = %v, want 5s", ttft)
	}
	if first, _ := tm.FirstAnswer(); first != 5100*time.Millisecond {
		t.Errorf("first answer = %v, want 5.1s", first)
	}
	if pp, _ := tm.PrefillSpeed(); pp != 20 {
		t.Errorf("prefill speed = %v, want 20", pp)
	}
}
