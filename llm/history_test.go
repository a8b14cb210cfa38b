package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// turns makes a chat of n questions with their answers but the last's, each
// message of that many bytes.
func turns(n, size int) []Message {
	var messages []Message
	for i := range n {
		text := fmt.Sprintf("%04d", i)
		text += strings.Repeat("q", size-len(text))
		messages = append(messages, Message{Role: RoleUser, Content: text})
		if i < n-1 {
			messages = append(messages, Message{Role: RoleAssistant, Content: text})
		}
	}
	return messages
}

func TestFitting(t *testing.T) {
	ones := func(n, size int) []int {
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = size
		}
		return sizes
	}
	system := append([]Message{{Role: RoleSystem, Content: "be brief"}}, turns(3, 12)...)
	tests := []struct {
		name     string
		messages []Message
		sizes    []int
		room     int
		want     int
	}{
		{"all fits", turns(3, 12), ones(5, 20), 100, 0},
		{"one token too many: cut to half", turns(3, 12), ones(5, 20), 99, 4},
		{"half is enough", turns(6, 12), ones(11, 20), 200, 6},
		{"the system message stays, and counts", system, ones(6, 20), 119, 5},
		{"the last turn stays", turns(2, 12), ones(3, 20), 10, 2},
		{"an answer at the beginning goes with the first turn", append([]Message{{Role: RoleAssistant}}, turns(2, 12)...), ones(4, 20), 70, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fitting(tt.messages, tt.sizes, tt.room); got != tt.want {
				t.Errorf("fitting = %d, want %d", got, tt.want)
			}
		})
	}
}

// The cut stays for several turns: a prompt then goes on where the last one
// ended.
func TestFittingIsStable(t *testing.T) {
	cuts := 0
	for n, last := 1, 0; n <= 100; n++ {
		chat := turns(n, 20)
		sizes := make([]int, len(chat))
		for i := range sizes {
			sizes[i] = 28
		}
		from := fitting(chat, sizes, 1000)
		if from < last {
			t.Fatalf("turn %d begins at message %d, the turn before at %d", n, from, last)
		}
		if from > last {
			cuts++
		}
		last = from
	}
	if cuts < 4 || cuts > 12 {
		t.Errorf("the beginning moved %d times in 100 turns, want about once in ten", cuts)
	}
}

// Case C3: a chat goes on for ever, each reply says what was left out, and most
// turns find the turn before in the slot's memory.
func TestLongChat(t *testing.T) {
	b := newStub(t, 1, 400, 400)
	e := start(t, EngineConfig{Backend: b, MaxTokens: 50})
	cut, reused := 0, 0
	const asked = 40
	for n := 1; n <= asked; n++ {
		r := generate(t, e, Request{Messages: turns(n, 20), TrimHistory: true})
		if r.done.Err != nil || r.text != "ok" {
			t.Fatalf("turn %d: %q, %v", n, r.text, r.done.Err)
		}
		if out := r.prefill[0].LeftOut; out > 0 {
			cut++
			if out%2 != 0 || out >= 2*n-1 {
				t.Errorf("turn %d: %d messages were left out, want whole turns and never the last", n, out)
			}
		}
		if r.done.Timings.CachedTokens > 0 {
			reused++
		}
	}
	if cut == 0 || reused < asked*7/10 {
		t.Errorf("of %d turns %d were cut and %d reused what was kept", asked, cut, reused)
	}
	var full *ContextError
	if _, err := e.Generate(context.Background(), Request{Messages: turns(asked, 20)}); !errors.As(err, &full) || full.Window != 400 || full.PromptTokens != 79*20 {
		t.Errorf("without leave to cut: %v", err)
	}
	if _, err := e.Generate(context.Background(), Request{Messages: turns(1, 500), TrimHistory: true}); !errors.Is(err, ErrContextFull) {
		t.Errorf("one message longer than the window: %v", err)
	}
}
