package llm

import (
	"reflect"
	"testing"
)

func TestPlanStep(t *testing.T) {
	limits := chunkLimits{batch: 512, shared: 48, alone: 256}
	tests := []struct {
		name   string
		slots  []slotView
		limits chunkLimits
		want   []part
	}{
		{"nothing to do", []slotView{{}, {}}, limits, []part{}},
		{"one stream", []slotView{{decoding: true}}, limits, []part{{0, 1, false}}},
		{"streams step together", []slotView{{decoding: true}, {}, {decoding: true}}, limits,
			[]part{{0, 1, false}, {2, 1, false}}},
		{"a prompt alone takes the large chunk", []slotView{{left: 1000, order: 1}}, limits,
			[]part{{0, 256, true}}},
		{"a small rest of a prompt goes with its last chunk", []slotView{{left: 320, order: 1}}, limits, []part{{0, 320, true}}},
		{"a larger rest does not", []slotView{{left: 321, order: 1}}, limits, []part{{0, 256, true}}},
		{"the end of a prompt", []slotView{{left: 3, order: 1}}, limits, []part{{0, 3, true}}},
		{"a prompt beside a stream takes the small chunk", []slotView{{left: 1000, order: 2}, {decoding: true}}, limits,
			[]part{{1, 1, false}, {0, 48, true}}},
		{"the shorter prompt first", []slotView{{left: 1000, order: 7}, {left: 100, order: 3}}, limits,
			[]part{{1, 100, true}, {0, 156, true}}},
		{"a short prompt passes a long one, which moves on too", []slotView{{left: 1000, order: 1}, {left: 10, order: 2}}, limits,
			[]part{{0, 246, true}, {1, 10, true}}},
		{"the one that came first has a quarter", []slotView{{left: 1000, order: 1}, {left: 400, order: 2}}, limits,
			[]part{{0, 64, true}, {1, 192, true}}},
		{"of two alike the first is read first", []slotView{{left: 300, order: 4}, {left: 300, order: 2}}, limits,
			[]part{{1, 256, true}}},
		{"a quarter is 8 at least", []slotView{{left: 1000, order: 1}, {left: 400, order: 2}, {decoding: true}}, chunkLimits{batch: 512, shared: 16, alone: 256},
			[]part{{2, 1, false}, {0, 8, true}, {1, 8, true}}},
		{"a prompt whose beginning another one reads waits", []slotView{{left: 1000, order: 1}, {left: 10, order: 2, follows: true}}, limits,
			[]part{{0, 256, true}}},
		{"never more than a batch", []slotView{{decoding: true}, {decoding: true}, {left: 99, order: 1}},
			chunkLimits{batch: 4, shared: 48, alone: 256},
			[]part{{0, 1, false}, {1, 1, false}, {2, 2, true}}},
		{"a batch that the streams fill", []slotView{{decoding: true}, {decoding: true}, {left: 99, order: 1}},
			chunkLimits{batch: 2, shared: 48, alone: 256},
			[]part{{0, 1, false}, {1, 1, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := planStep(nil, tt.slots, tt.limits); !reflect.DeepEqual(got, tt.want) && len(got)+len(tt.want) > 0 {
				t.Errorf("planStep = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestChooseSlot(t *testing.T) {
	prompt := []Token{1, 2, 3, 4, 5, 6}
	tests := []struct {
		name string
		idle []idleSlot
		want int
	}{
		{"none is free", nil, -1},
		{"the empty one before one in use", []idleSlot{{0, []Token{9, 9}, 5}, {1, nil, 9}}, 1},
		{"the one used longest ago", []idleSlot{{0, []Token{9}, 5}, {1, []Token{8}, 2}}, 1},
		{"the chat that goes on", []idleSlot{{0, nil, 0}, {1, []Token{1, 2, 3}, 9}, {2, []Token{1, 2, 3, 4, 7}, 3}}, 2},
		{"a shared greeting does not throw another chat out", []idleSlot{{0, []Token{1, 2, 7, 7, 7, 7, 7}, 1}, {1, nil, 0}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := chooseSlot(tt.idle, prompt); got != tt.want {
				t.Errorf("chooseSlot = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestReusable(t *testing.T) {
	tests := []struct {
		name                         string
		prefix, kept, prompt, window int
		recurrent                    bool
		first, want                  int
	}{
		{name: "nothing in common", prefix: 0, kept: 9, prompt: 9, want: 0},
		{name: "the common beginning", prefix: 5, kept: 9, prompt: 9, want: 5},
		{name: "the last token is always evaluated", prefix: 9, kept: 9, prompt: 9, want: 8},
		{name: "sliding window, all there", prefix: 600, kept: 900, prompt: 1000, window: 512, first: 0, want: 600},
		{name: "sliding window, cells gone", prefix: 600, kept: 900, prompt: 1000, window: 512, first: 300, want: 0},
		{name: "sliding window, far enough", prefix: 880, kept: 900, prompt: 1000, window: 512, first: 300, want: 880},
		{name: "sliding window, one cell short", prefix: 812, kept: 900, prompt: 1000, window: 512, first: 300, want: 0},
		{name: "cells gone without a known window", prefix: 880, kept: 900, prompt: 1000, first: 300, want: 0},
		{name: "recurrent goes on where it ended", prefix: 9, kept: 9, prompt: 20, recurrent: true, want: 9},
		{name: "recurrent cannot go back", prefix: 8, kept: 9, prompt: 20, recurrent: true, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := ModelInfo{SlidingWindow: tt.window, Recurrent: tt.recurrent}
			if got := reusable(tt.prefix, tt.kept, tt.prompt, info, tt.first); got != tt.want {
				t.Errorf("reusable = %d, want %d", got, tt.want)
			}
		})
	}
}
