package openai

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm"
)

func TestFramesJoin(t *testing.T) {
	text := func(s string) llm.Event { return llm.Delta{Text: s, Tokens: 1} }
	thought := func(s string) llm.Event { return llm.Delta{Text: s, Tokens: 1, Thought: true} }
	var f frames
	got := f.join([]llm.Event{llm.Queued{Place: 1}, thought("a"), thought("b"), text("c"), text("d"), text("e"), llm.Done{}})
	want := []llm.Event{llm.Queued{Place: 1}, llm.Delta{Text: "ab", Tokens: 2, Thought: true}, llm.Delta{Text: "cde", Tokens: 3}, llm.Done{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The first text leaves at once, and so does each of a slow model.
func TestFramesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f frames
		waited := func(ctx context.Context) time.Duration {
			begin := time.Now()
			f.wait(ctx)
			return time.Since(begin)
		}
		f.join([]llm.Event{llm.Prefilling{}})
		if d := waited(t.Context()); d != 0 {
			t.Errorf("before any text it waited %v", d)
		}
		f.join([]llm.Event{llm.Delta{Text: "a"}})
		<-time.After(5 * time.Millisecond)
		if d := waited(t.Context()); d != 20*time.Millisecond {
			t.Errorf("5 ms after a text it waited %v, want 20 ms", d)
		}
		f.join([]llm.Event{llm.Delta{Text: "b"}})
		<-time.After(90 * time.Millisecond)
		if d := waited(t.Context()); d != 0 {
			t.Errorf("90 ms after a text it waited %v", d)
		}
		f.join([]llm.Event{llm.Delta{Text: "c"}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d := waited(ctx); d != 0 {
			t.Errorf("with the client gone it waited %v", d)
		}
	})
}
