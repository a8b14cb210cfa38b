package llm

import (
	"testing"
	"time"

	"pichat/llm/policy"
)

func TestChunk(t *testing.T) {
	tests := []struct {
		rate   float64 // 0: nothing measured yet
		within time.Duration
		limit  int
		want   int
	}{
		{0, time.Second, 512, firstChunk},
		{0, time.Second, 16, 16},
		{11, 2 * time.Second / 11, 512, minChunk}, // a Pi 4 with a large model
		{250, 2 * time.Second / 11, 512, 32},
		{250, time.Second, 512, 240},
		{5000, time.Second, 512, 512},
	}
	for _, tt := range tests {
		c := policy.NewCurve(1)
		if tt.rate > 0 {
			c.ObservePrefill(1000, time.Duration(1000/tt.rate*float64(time.Second)))
		}
		if got := chunk(c, tt.within, tt.limit); got != tt.want {
			t.Errorf("%v tok/s within %v: chunk %d, want %d", tt.rate, tt.within, got, tt.want)
		}
	}
}

func TestEstimate(t *testing.T) {
	c := policy.NewCurve(1)
	if estimate(c, 100) != 0 {
		t.Error("an unknown speed gives an estimate")
	}
	c.ObservePrefill(100, time.Second)
	if got := estimate(c, 50).Round(time.Millisecond); got != 500*time.Millisecond {
		t.Errorf("estimate = %v, want 500ms", got)
	}
}
