package llm

import (
	"testing"
	"time"
)

func TestSpeedChunks(t *testing.T) {
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
		s := speed{tokensPerSecond: tt.rate}
		if got := s.chunk(tt.within, tt.limit); got != tt.want {
			t.Errorf("%v tok/s within %v: chunk %d, want %d", tt.rate, tt.within, got, tt.want)
		}
	}
}

func TestSpeedLearns(t *testing.T) {
	var s speed
	if s.estimate(100) != 0 {
		t.Error("an unknown speed gives an estimate")
	}
	s.observe(3, time.Second) // too few to tell
	if s.tokensPerSecond != 0 {
		t.Errorf("3 tokens taught %v", s.tokensPerSecond)
	}
	s.observe(100, time.Second)
	if got := s.estimate(50); got != 500*time.Millisecond {
		t.Errorf("estimate = %v, want 500ms", got)
	}
	for range 20 {
		s.observe(20, time.Second)
	}
	if s.tokensPerSecond < 19 || s.tokensPerSecond > 21 {
		t.Errorf("after a change it knows %v tok/s, want about 20", s.tokensPerSecond)
	}
}
