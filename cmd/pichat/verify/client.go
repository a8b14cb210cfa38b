package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"pichat/sysmon"
	"pichat/web"
	"pichat/web/openai"
	"pichat/web/wire"
)

const (
	// lookTimeout bounds a question about the service's state, replyTimeout a
	// reply; one of 4096 tokens at 5 a second takes 14 minutes.
	lookTimeout  = 10 * time.Second
	replyTimeout = 20 * time.Minute
	// answerLimit bounds what is read of an answer.
	answerLimit = 4 << 20
)

// client speaks to the service.
type client struct {
	base string
	http *http.Client
}

// status is what is taken of the answer of /status.
type status struct {
	Host   string    `json:"host"`
	Build  web.Build `json:"build"`
	Engine struct {
		Running int `json:"running"`
		Waiting int `json:"waiting"`
	} `json:"engine"`
	Model  *openai.ModelDoc `json:"model"`
	Vitals *sysmon.Snapshot `json:"vitals"`
}

func (c client) version(ctx context.Context) (string, error) {
	var health struct{ Version string }
	if _, err := c.get(ctx, "/healthz", &health); err != nil {
		return "", err
	}
	if health.Version == "" {
		return "", fmt.Errorf("what answers at %s is not pichat: name the service's address with --url", c.base)
	}
	return health.Version, nil
}

func (c client) status(ctx context.Context) (*status, error) {
	var s status
	if _, err := c.get(ctx, "/status", &s); err != nil {
		return nil, err
	}
	if s.Vitals == nil {
		return nil, fmt.Errorf("%s/status says nothing of the board", c.base)
	}
	return &s, nil
}

// awaitModel returns once the service has its model loaded.
func (c client) awaitModel(ctx context.Context, limit time.Duration, progress func(string)) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	deadline := time.After(limit)
	for {
		var state struct {
			Ready       bool
			Phase       string
			Note, Error string
		}
		if _, err := c.get(ctx, "/readyz", &state); err != nil {
			return err
		}
		switch {
		case state.Ready:
			return nil
		case state.Error != "":
			return fmt.Errorf("the service at %s has no model: %s", c.base, state.Error)
		case state.Phase == "stopping":
			return fmt.Errorf("the service at %s is being stopped", c.base)
		}
		progress("waiting for the model: " + state.Note)
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("the service at %s has no model after %v (%s: %s): look with 'journalctl -u pichat'", c.base, limit, state.Phase, state.Note)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer is what is taken of a completion.
type answer struct {
	Timings wire.Timings `json:"timings"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// ask has one question answered, always by the likeliest tokens, so that two
// runs are of the same text.
func (c client) ask(ctx context.Context, question string, tokens int) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"messages":    []map[string]string{{"role": "user", "content": question}},
		"max_tokens":  tokens,
		"temperature": 0,
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, c.wrongURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	var a answer
	code, err := c.do(request, &a)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the service at %s gave no whole reply within %v", c.base, replyTimeout)
	case err != nil:
		return nil, err
	case code != http.StatusOK || len(a.Choices) == 0:
		return nil, fmt.Errorf("%s/v1/chat/completions answers with the status %d", c.base, code)
	}
	return &a, nil
}

// get fetches JSON of any status.
func (c client) get(ctx context.Context, path string, to any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, c.wrongURL(err)
	}
	return c.do(request, to)
}

func (c client) wrongURL(err error) error {
	return fmt.Errorf("--url %s is no address such as http://127.0.0.1:8080: %w", c.base, err)
}

// do sends a request and decodes its answer. An error of the API is returned
// in its own words.
func (c client) do(request *http.Request, to any) (int, error) {
	response, err := c.http.Do(request)
	if err != nil {
		if request.Context().Err() != nil {
			return 0, request.Context().Err()
		}
		return 0, fmt.Errorf("no service answers at %s (%w): is it running? 'systemctl status pichat' says", c.base, errors.Unwrap(err))
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return 0, fmt.Errorf("%s: the answer broke off: %w", request.URL, err)
	}
	var refusal struct {
		Error *struct{ Message string } `json:"error"`
	}
	if request.Method == http.MethodPost && json.Unmarshal(data, &refusal) == nil && refusal.Error != nil {
		return 0, fmt.Errorf("the service refuses the question: %s", refusal.Error.Message)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return 0, fmt.Errorf("%s answers with what is not pichat's JSON (status %d): name the service's address with --url", request.URL, response.StatusCode)
	}
	return response.StatusCode, nil
}
