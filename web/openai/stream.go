package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pichat/llm"
	"pichat/web/fault"
	"pichat/web/wire"
)

// chunkDoc is one event of a streamed answer.
type chunkDoc struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	// Usage is null but in the last chunk, and left out where it was not
	// asked for.
	Usage   *json.RawMessage `json:"usage,omitempty"`
	Timings *wire.Timings    `json:"timings,omitempty"`
}

type chunkChoice struct {
	Index        int       `json:"index"`
	Delta        deltaDoc  `json:"delta"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type deltaDoc struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
}

// sendStream answers with server-sent events. An error before the first event
// of the engine is returned and becomes a plain answer with its own status.
func (c *completion) sendStream(ctx context.Context, w http.ResponseWriter) error {
	out := &eventStream{w: w, rc: http.NewResponseController(w), timeout: c.api.config.WriteTimeout}
	var texts frames
	for {
		texts.wait(ctx)
		wait, stop := context.WithTimeout(ctx, c.api.config.Ping)
		events, err := c.stream.Next(wait)
		stop()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return c.fail(out, orCause(ctx, ctx.Err()))
		default:
			events = []llm.Event{nil} // nothing for a while: show life
		}
		for _, e := range texts.join(events) {
			if done, ok := e.(llm.Done); ok {
				return c.finish(ctx, out, done)
			}
			if err := c.event(out, e); err != nil {
				c.api.config.Logger.Debug("stream not written", "request_id", c.stream.ID(), "err", err)
				return nil // the client is gone or does not read
			}
		}
	}
}

// event writes one event of the engine, nil being none.
func (c *completion) event(out *eventStream, e llm.Event) error {
	if !out.begun {
		out.begin()
		empty := ""
		if err := out.data(c.chunk(deltaDoc{Role: "assistant", Content: &empty})); err != nil {
			return err
		}
	}
	switch e := e.(type) {
	case nil:
		return out.comment("ping")
	case llm.Queued:
		return out.comment(fmt.Sprintf("queued, place %d", e.Place))
	case llm.Prefilling:
		return out.comment(fmt.Sprintf("prefill %d of %d", e.Done, e.PromptTokens))
	case llm.Delta:
		switch {
		case e.Text == "":
			return nil
		case e.Thought:
			return out.data(c.chunk(deltaDoc{Reasoning: e.Text}))
		}
		return out.data(c.chunk(deltaDoc{Content: &e.Text}))
	}
	return nil
}

// finish writes the last chunks, or tells the error.
func (c *completion) finish(ctx context.Context, out *eventStream, done llm.Done) error {
	reason, err := finishReason(ctx, done)
	if err != nil {
		return c.fail(out, err)
	}
	if err := c.event(out, llm.Delta{}); err != nil { // a reply without text still begins
		return nil
	}
	last := c.chunk(deltaDoc{})
	last.Choices[0].FinishReason = &reason
	timings := wire.TimingsOf(done.Timings, c.api.config.TargetTPS)
	last.Timings = &timings
	chunks := []chunkDoc{last}
	if c.request.includeUsage {
		data, err := json.Marshal(usageOf(done.Timings))
		if err != nil {
			return err
		}
		tail := c.chunk(deltaDoc{})
		tail.Choices, tail.Usage = []chunkChoice{}, (*json.RawMessage)(&data)
		chunks = append(chunks, tail)
	}
	for _, chunk := range chunks {
		if out.data(chunk) != nil {
			return nil // the client is gone
		}
	}
	_ = out.write("data: [DONE]\n\n")
	return nil
}

// fail tells an error: as an answer of its own if nothing was sent yet, else
// as the stream's last event.
func (c *completion) fail(out *eventStream, err error) error {
	if !out.begun {
		return err
	}
	f := fault.Of(err)
	if f.Hidden && f.Code != fault.CodeGone && !errors.Is(err, llm.ErrClosed) {
		c.api.config.Logger.Error("stream failed", "request_id", c.stream.ID(), "err", err)
	}
	_ = out.data(docOf(f)) // the client may be gone
	return nil
}

func (c *completion) chunk(delta deltaDoc) chunkDoc {
	doc := chunkDoc{
		ID: c.id(), Object: "chat.completion.chunk", Created: c.created, Model: c.model,
		Choices: []chunkChoice{{Delta: delta}},
	}
	if c.request.includeUsage {
		null := json.RawMessage("null")
		doc.Usage = &null
	}
	return doc
}

// eventStream writes server-sent events, each at once and with a deadline.
type eventStream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool
}

func (s *eventStream) begin() {
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the stream back
	s.w.WriteHeader(http.StatusOK)
}

func (s *eventStream) data(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write("data: " + string(data) + "\n\n")
}

func (s *eventStream) comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *eventStream) write(text string) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}
