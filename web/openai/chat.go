package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"pichat/llm"
	"pichat/web/fault"
	"pichat/web/wire"
)

// readTimeout is how long a body may take to come in.
const readTimeout = 60 * time.Second

// ChatCompletions answers POST /v1/chat/completions. When the client goes
// away, or the server stops, the reply is cancelled and its slot is free.
func (a *API) ChatCompletions(w http.ResponseWriter, r *http.Request) error {
	if err := a.config.CheckOrigin(r); err != nil {
		return err
	}
	body, err := a.body(w, r)
	if err != nil {
		return err
	}
	request, err := parse(body)
	if err != nil {
		return err
	}
	request.Client = clientOf(r)
	// Ending this context frees the slot on every way out of here.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream, err := a.config.Service.Generate(ctx, request.Request)
	if err != nil {
		return orCause(ctx, err)
	}
	reply := &completion{api: a, request: request, stream: stream, created: time.Now().Unix(), model: ModelID(a.config.Service.Info())}
	if request.stream {
		return reply.sendStream(ctx, w)
	}
	return reply.sendWhole(ctx, w)
}

// clientOf names whom a request comes from: the address at the other end.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// body reads the whole body: only then does the server notice when the client
// goes away (https://go.dev/issue/23262).
func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(readTimeout)) // where the server has none, the client may take its time
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.config.MaxBodyBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Invalid("", "the body could not be read to its end: %v", err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	return body, nil
}

// orCause puts the reason of an ended context in the place of its bare error:
// a server that stops is something else than a client that went away.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// completion is one answer on its way. It belongs to one goroutine.
type completion struct {
	api     *API
	request chatRequest
	stream  *llm.Stream
	created int64
	model   string
}

type completionDoc struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []choice     `json:"choices"`
	Usage   usage        `json:"usage"`
	Timings wire.Timings `json:"timings"`
}

type choice struct {
	Index        int        `json:"index"`
	Message      messageDoc `json:"message"`
	Logprobs     *struct{}  `json:"logprobs"`
	FinishReason string     `json:"finish_reason"`
}

type messageDoc struct {
	Role      string  `json:"role"`
	Content   string  `json:"content"`
	Reasoning string  `json:"reasoning_content,omitempty"`
	Refusal   *string `json:"refusal"`
}

// usage counts tokens as the engine evaluated and sampled them.
type usage struct {
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	TotalTokens      int               `json:"total_tokens"`
	PromptDetails    promptDetails     `json:"prompt_tokens_details"`
	Details          completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

func usageOf(t llm.Timings) usage {
	return usage{
		PromptTokens: t.PromptTokens, CompletionTokens: t.Tokens(), TotalTokens: t.PromptTokens + t.Tokens(),
		PromptDetails: promptDetails{t.CachedTokens}, Details: completionDetails{t.ThoughtTokens},
	}
}

func (c *completion) id() string { return "chatcmpl-" + c.stream.ID() }

// sendWhole answers once the reply has ended.
func (c *completion) sendWhole(ctx context.Context, w http.ResponseWriter) error {
	var answer, thought strings.Builder
	for {
		events, err := c.stream.Next(ctx)
		if err != nil {
			return orCause(ctx, err)
		}
		for _, e := range events {
			switch e := e.(type) {
			case llm.Delta:
				if e.Thought {
					thought.WriteString(e.Text)
				} else {
					answer.WriteString(e.Text)
				}
			case llm.Done:
				finish, err := finishReason(ctx, e)
				if err != nil {
					return err
				}
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(c.api.config.WriteTimeout))
				return writeJSON(w, http.StatusOK, completionDoc{
					ID: c.id(), Object: "chat.completion", Created: c.created, Model: c.model,
					Choices: []choice{{
						Message:      messageDoc{Role: "assistant", Content: answer.String(), Reasoning: thought.String()},
						FinishReason: finish,
					}},
					Usage: usageOf(e.Timings), Timings: wire.TimingsOf(e.Timings, c.api.config.TargetTPS),
				})
			}
		}
	}
}

// finishReason is the API's word for a reply's end, or the error it ended in.
func finishReason(ctx context.Context, done llm.Done) (string, error) {
	switch done.Finish {
	case llm.FinishStop, llm.FinishStopText:
		return "stop", nil
	case llm.FinishLength, llm.FinishWindow:
		return "length", nil
	case llm.FinishError:
		return "", done.Err
	case llm.FinishCancelled:
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		return "", context.Canceled
	}
	return "", fmt.Errorf("unknown finish %q", done.Finish)
}
