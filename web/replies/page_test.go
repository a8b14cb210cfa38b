package replies

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pichat/llm"
	"pichat/web/markdown"
	"pichat/web/wire"
)

// script plays events to a stream, one each interval, and ends as the engine
// does: with a Done in any case.
func script(every time.Duration, events ...llm.Event) func(context.Context) (*llm.Stream, error) {
	return func(ctx context.Context) (*llm.Stream, error) {
		s := llm.NewStream("r")
		go func() {
			for _, e := range events {
				select {
				case <-time.After(every):
					s.Send(e)
				case <-ctx.Done():
					s.Send(llm.Done{Finish: llm.FinishCancelled})
					return
				}
			}
			s.Send(llm.Done{Finish: llm.FinishStop})
		}()
		return s, nil
	}
}

// words is a reply of n tokens at a steady rate, queue and prefill before it.
func words(n int, every time.Duration) []llm.Event {
	events := []llm.Event{
		llm.Queued{Place: 2}, llm.Queued{Place: 1},
		llm.Prefilling{PromptTokens: 40, Done: 20}, llm.Prefilling{PromptTokens: 40, Done: 40},
		llm.Delta{Text: "Hm, ", Thought: true, Tokens: 1, At: every}, llm.Delta{Text: "well.", Thought: true, Tokens: 2, At: every},
	}
	for i := range n {
		text := fmt.Sprintf("w%d ", i)
		if i%10 == 9 {
			text += "\n\n- "
		}
		events = append(events, llm.Delta{Text: text, Tokens: 1, At: time.Duration(i+2) * every})
	}
	return events
}

// page applies frames as a browser does and fails on one that does not fit.
type page struct {
	t               *testing.T
	serial, tokens  int
	answer, thought string
	blocks          []string
	done            *wire.Done
	kinds           []string
}

func (p *page) apply(frames []any) {
	for _, f := range frames {
		p.one(f)
	}
}

func (p *page) one(frame any) {
	p.t.Helper()
	serial := 0
	switch f := frame.(type) {
	case *wire.Queued:
		serial = f.Serial
		p.kinds = append(p.kinds, f.Type)
	case *wire.Prefilling:
		serial = f.Serial
		p.kinds = append(p.kinds, f.Type)
	case *wire.Text:
		serial = f.Serial
		if len(f.Tokens) != len(f.AtS) {
			p.t.Errorf("%d token groups, %d times", len(f.Tokens), len(f.AtS))
		}
		for _, n := range f.Tokens {
			p.tokens += n
		}
		if f.Thought {
			p.thought += f.Delta
			break
		}
		p.answer += f.Delta
		if f.From > len(p.blocks) {
			p.t.Fatalf("text frame %d begins at block %d of %d", serial, f.From, len(p.blocks))
		}
		p.blocks = append(p.blocks[:f.From:f.From], f.Blocks...)
	case *wire.Done:
		serial, p.done = f.Serial, f
	}
	if serial <= p.serial {
		p.t.Errorf("serial %d after %d", serial, p.serial)
	}
	p.serial = serial
}

// follow watches a reply from the page's serial on until it ends, or for at
// most frames frames.
func (p *page) follow(r *Reply, most int) {
	wake := make(chan struct{}, 1)
	w := r.Watch(p.serial, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	defer w.Close()
	for n := 0; n < most; {
		<-wake
		frames, done := w.Frames()
		if n+len(frames) > most { // the socket is cut in the middle
			frames, done = frames[:most-n], false
		}
		n += len(frames)
		p.apply(frames)
		if done {
			return
		}
	}
}

const all = 1 << 30

func (p *page) check(answer string) {
	p.t.Helper()
	if p.answer != answer {
		p.t.Errorf("answer %q, want %q", p.answer, answer)
	}
	if got, want := strings.Join(p.blocks, ""), markdown.Document(answer); got != want {
		p.t.Errorf("HTML %s, want %s", got, want)
	}
	if p.thought != "Hm, well." || p.done == nil {
		p.t.Errorf("thought %q, done %v", p.thought, p.done)
	}
}

func answerOf(events []llm.Event) (text string, tokens int) {
	for _, e := range events {
		if d, ok := e.(llm.Delta); ok {
			tokens += d.Tokens
			if !d.Thought {
				text += d.Text
			}
		}
	}
	return text, tokens
}
