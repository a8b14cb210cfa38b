package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// message is one turn of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ask is a request in the form that both sides take. Replies are greedy.
type ask struct {
	messages  []message
	maxTokens int
	// mayEnd lets the model end its reply; else it goes on to maxTokens.
	mayEnd bool
}

func (a ask) body() []byte {
	data, err := json.Marshal(map[string]any{
		"messages": a.messages, "max_tokens": a.maxTokens, "ignore_eos": !a.mayEnd,
		"temperature": 0, "stream": true, "stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		panic(err) // strings and numbers
	}
	return data
}

// reply is what came of a request. All times are since it was sent.
type reply struct {
	arrivals     []time.Duration // of frames with content that is not empty
	text         string
	promptTokens int // as the server counts, 0 until the reply has ended
	cachedTokens int
	tokens       int // of the reply, as the server counts
}

// perFrame is how many tokens came in a frame, on average.
func (r reply) perFrame() float64 {
	return float64(r.tokens) / float64(len(r.arrivals))
}

// ttft is the time to the first token.
func (r reply) ttft() time.Duration { return r.arrivals[0] }

// tps is tokens/s after the first token.
func (r reply) tps() float64 {
	return float64(r.tokens-1) / (r.arrivals[len(r.arrivals)-1] - r.arrivals[0]).Seconds()
}

// stream is a reply on its way. Its methods may be called from any goroutine.
type stream struct {
	sent   time.Time
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end

	mu    sync.Mutex
	reply reply
	err   error
	grown chan struct{} // closed and replaced with each frame
}

// statusError is an answer other than 200, such as a refusal.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %.200s", e.code, e.text) }

// open sends a request and reads its reply in the background.
func (s *server) open(ctx context.Context, a ask) *stream {
	ctx, cancel := context.WithCancel(ctx)
	st := &stream{cancel: cancel, ended: make(chan struct{}), grown: make(chan struct{})}
	body := a.body()
	st.sent = time.Now()
	go func() {
		defer close(st.ended)
		defer cancel()
		err := st.run(ctx, s, body)
		st.mu.Lock()
		defer st.mu.Unlock()
		st.err = err
	}()
	return st
}

func (st *stream) run(ctx context.Context, s *server, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return &statusError{resp.StatusCode, string(text)}
	}
	return st.read(resp.Body)
}

// frame is what is read of a server-sent event.
type frame struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// read takes events until the last. A line's time is taken before it is
// parsed; comments and frames without content are no tokens.
func (st *stream) read(body io.Reader) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		at := time.Since(st.sent)
		if err != nil {
			return fmt.Errorf("the stream ended early: %w", err)
		}
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if !ok {
			continue
		}
		if data = bytes.TrimSpace(data); bytes.Equal(data, []byte("[DONE]")) {
			_, _ = io.Copy(io.Discard, lines) // so that the connection is used again
			return st.check()
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("not understood: %.200s: %w", data, err)
		}
		if f.Error != nil {
			return fmt.Errorf("the server says %.300s", f.Error)
		}
		st.take(f, at)
	}
}

func (st *stream) take(f frame, at time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if u := f.Usage; u != nil {
		st.reply.promptTokens, st.reply.tokens = u.PromptTokens, u.CompletionTokens
		st.reply.cachedTokens = u.Details.CachedTokens
	}
	for _, c := range f.Choices {
		if c.Delta.Content == "" {
			continue
		}
		st.reply.arrivals = append(st.reply.arrivals, at)
		st.reply.text += c.Delta.Content
		close(st.grown)
		st.grown = make(chan struct{})
	}
}

// check refuses a reply from which no pace can be told.
func (st *stream) check() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch r := st.reply; {
	case r.tokens == 0 || r.promptTokens == 0:
		return errors.New("the server told no usage")
	case len(r.arrivals) == 0:
		return fmt.Errorf("%d tokens without any text", r.tokens)
	}
	return nil
}

// wait returns the whole reply. It may be called more than once.
func (st *stream) wait() (reply, error) {
	<-st.ended
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.reply, st.err
}

// frames waits until n frames have come. It fails when the reply ends before.
func (st *stream) frames(ctx context.Context, n int) error {
	for {
		st.mu.Lock()
		have, grown := len(st.reply.arrivals), st.grown
		st.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-grown:
		case <-st.ended:
			if _, err := st.wait(); err != nil {
				return err
			}
			return fmt.Errorf("the reply ended after %d frames, before the %d that were waited for", have, n)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// soFar returns when frames have come until now.
func (st *stream) soFar() []time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.Clone(st.reply.arrivals)
}

// stop ends the reply and waits for its end.
func (st *stream) stop() {
	st.cancel()
	<-st.ended
}

// say asks and waits for the whole reply.
func (s *server) say(ctx context.Context, a ask) (reply, error) {
	r, err := s.open(ctx, a).wait()
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.name, err)
	}
	return r, nil
}
