package openai

import (
	"context"
	"time"

	"pichat/llm"
)

// frameEvery is the least time between two chunks of text of one stream. At the
// pace of a reader, or of a small board, each token leaves at once; a model that
// writes more than 40 tokens/s gives several a chunk, since a writer that wakes
// for each takes the processor from the threads that compute the next.
const frameEvery = 25 * time.Millisecond

// frames spaces the chunks of a stream.
type frames struct{ last time.Time }

// wait waits until the next text may leave, or ctx ends.
func (f *frames) wait(ctx context.Context) {
	rest := time.Until(f.last.Add(frameEvery))
	if f.last.IsZero() || rest <= 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// join makes one of successive texts of a kind, and notes that text leaves now.
func (f *frames) join(events []llm.Event) []llm.Event {
	joined := events[:0]
	for _, e := range events {
		d, text := e.(llm.Delta)
		if text {
			f.last = time.Now()
		}
		if n := len(joined); text && n > 0 {
			if before, ok := joined[n-1].(llm.Delta); ok && before.Thought == d.Thought {
				before.Text += d.Text
				before.Tokens += d.Tokens
				joined[n-1] = before
				continue
			}
		}
		joined = append(joined, e)
	}
	return joined
}
