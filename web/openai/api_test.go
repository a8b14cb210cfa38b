package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/web/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// api is the API on a real listener, over an engine with a scripted backend.
type api struct {
	t       *testing.T
	service *llm.Service
	engine  *llm.Engine
	backend *fakellm.Backend
	url     string
}

func newAPI(t *testing.T, fake fakellm.Config, c Config) *api {
	t.Helper()
	a := &api{t: t, service: &llm.Service{}, backend: fakellm.New(fake)}
	a.engine = llm.NewEngine(llm.EngineConfig{Backend: a.backend, Template: fakellm.Template{}, QueueLimit: 4})
	a.service.SetReady(a.engine)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- a.engine.Run(ctx) }()
	c.Service = a.service
	served := New(c)
	mux := http.NewServeMux()
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				WriteError(w, fault.Of(err))
			}
		})
	}
	handle("POST /v1/chat/completions", served.ChatCompletions)
	handle("GET /v1/models", served.Models)
	handle("GET /v1/models/{id}", served.Model)
	srv := httptest.NewServer(mux)
	a.url = srv.URL
	t.Cleanup(func() {
		srv.Close()
		cancel()
		if err := <-ran; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("engine: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return a
}

func (a *api) post(ctx context.Context, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", a.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

// ask posts and reads the whole answer.
func (a *api) ask(body string) (int, string) {
	a.t.Helper()
	resp, err := a.post(a.t.Context(), body)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (a *api) until(what string, ok func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("waited %v for: %s", patience, what)
		}
	}
}

func (a *api) idle() bool {
	st := a.engine.Status()
	return st.Running == 0 && st.Waiting == 0
}

func TestWholeAnswer(t *testing.T) {
	a := newAPI(t, fakellm.Config{Script: fakellm.Say("Blue light scatters.")}, Config{})
	status, body := a.ask(`{"model":"any","messages":[{"role":"user","content":"Why?"}],"temperature":0,"n":1,"tools":null}`)
	var doc completionDoc
	if err := json.Unmarshal([]byte(body), &doc); err != nil || status != 200 {
		t.Fatalf("%d %q %v", status, body, err)
	}
	c := doc.Choices[0]
	if c.Message.Content != "Blue light scatters." || c.FinishReason != "stop" || c.Message.Role != "assistant" {
		t.Errorf("choice %+v", c)
	}
	u := doc.Usage
	if u.PromptTokens == 0 || u.CompletionTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage %+v", u)
	}
	if doc.Object != "chat.completion" || !strings.HasPrefix(doc.ID, "chatcmpl-") || doc.Timings.TTFTS == nil {
		t.Errorf("got %s", body)
	}
	// The same chat again: its prefix is kept, and said to be.
	_, body = a.ask(`{"messages":[{"role":"user","content":"Why?"}]}`)
	if err := json.Unmarshal([]byte(body), &doc); err != nil || doc.Usage.PromptDetails.CachedTokens == 0 {
		t.Errorf("cached tokens are not told: %s", body)
	}
}

func TestFinishReasons(t *testing.T) {
	a := newAPI(t, fakellm.Config{Script: fakellm.Say("The quick brown fox jumps.")}, Config{})
	tests := []struct{ extra, content, finish string }{
		{``, "The quick brown fox jumps.", "stop"},
		{`,"stop":"own fox"`, "The quick br", "stop"},
		{`,"stop":["zebra","quick"]`, "The ", "stop"},
		{`,"max_tokens":1`, "", "length"},
		{`,"max_completion_tokens":1`, "", "length"},
	}
	for _, tt := range tests {
		_, body := a.ask(`{"messages":[{"role":"user","content":"x"}]` + tt.extra + `}`)
		var doc completionDoc
		if err := json.Unmarshal([]byte(body), &doc); err != nil || len(doc.Choices) != 1 {
			t.Fatalf("%s: %q", tt.extra, body)
		}
		c := doc.Choices[0]
		if c.FinishReason != tt.finish || tt.content != "" && c.Message.Content != tt.content {
			t.Errorf("%s: %+v", tt.extra, c)
		}
		if tt.finish == "length" && doc.Usage.CompletionTokens != 1 {
			t.Errorf("%s: %+v", tt.extra, doc.Usage)
		}
	}
}

// events reads a stream: its data lines, and its comments apart.
func events(t *testing.T, body string) (data, comments []string) {
	t.Helper()
	for line := range strings.SplitSeq(body, "\n") {
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			data = append(data, d)
		} else if c, ok := strings.CutPrefix(line, ": "); ok {
			comments = append(comments, c)
		} else if line != "" {
			t.Errorf("line %q", line)
		}
	}
	return data, comments
}

// Case A5: usage comes last, without choices, and only when asked for.
func TestStreamAndUsage(t *testing.T) {
	a := newAPI(t, fakellm.Config{Script: fakellm.Say("One two three.")}, Config{})
	for _, usage := range []bool{false, true} {
		body := `{"messages":[{"role":"user","content":"x"}],"stream":true}`
		if usage {
			body = `{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`
		}
		resp, err := a.post(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		h := resp.Header
		if h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("headers %v", h)
		}
		data, _ := events(t, string(raw))
		if data[len(data)-1] != "[DONE]" {
			t.Fatalf("the last event is %q", data[len(data)-1])
		}
		text, finish, usages := "", "", 0
		for i, d := range data[:len(data)-1] {
			var c struct {
				Choices []struct {
					Delta  struct{ Role, Content string }
					Finish *string `json:"finish_reason"`
				}
				Usage   *usageDoc
				Timings map[string]any
			}
			if err := json.Unmarshal([]byte(d), &c); err != nil {
				t.Fatalf("%q: %v", d, err)
			}
			if usage != strings.Contains(d, `"usage":`) {
				t.Errorf("usage in %q", d)
			}
			if c.Usage != nil {
				usages++
				if len(c.Choices) != 0 || i != len(data)-2 || c.Usage.CompletionTokens == 0 {
					t.Errorf("usage event %q is number %d of %d", d, i, len(data))
				}
				continue
			}
			if i == 0 && c.Choices[0].Delta.Role != "assistant" {
				t.Errorf("the first event is %q", d)
			}
			text += c.Choices[0].Delta.Content
			if f := c.Choices[0].Finish; f != nil {
				finish = *f
				if c.Timings["ttft_s"] == nil {
					t.Errorf("no timings in %q", d)
				}
			}
		}
		if text != "One two three." || finish != "stop" || (usages == 1) != usage {
			t.Errorf("text %q, finish %q, %d usage events", text, finish, usages)
		}
	}
}

type usageDoc struct {
	CompletionTokens int `json:"completion_tokens"`
}

// A long wait shows life and progress in comments, which are no tokens.
func TestStreamShowsLifeInAPrefill(t *testing.T) {
	a := newAPI(t, fakellm.Config{PrefillSpeed: 2000, Script: fakellm.Say("ok")}, Config{Ping: 20 * time.Millisecond})
	_, body := a.ask(`{"messages":[{"role":"user","content":"` + strings.Repeat("much to read ", 90) + `"}],"stream":true}`)
	_, comments := events(t, body)
	if len(comments) < 3 || !strings.Contains(strings.Join(comments, "|"), "ping") {
		t.Errorf("comments %q", comments)
	}
}

func TestModels(t *testing.T) {
	a := newAPI(t, fakellm.Config{Slots: 3, Window: 256}, Config{})
	id := ModelID(a.service.Info())
	for _, path := range []string{"/v1/models", "/v1/models/" + id} {
		resp, err := http.Get(a.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		for _, part := range []string{`"id":"` + id + `"`, `"context_window":256`, `"slots":3`, `"kv_tokens":768`} {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: %q lacks %s", path, body, part)
			}
		}
	}
}

// Case N1: a client that goes away frees its slot, in queue, prefill and decode
// and in both forms.
func TestClientGoneFreesTheSlot(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		for _, state := range []string{"queued", "prefill", "decode"} {
			t.Run(state+" stream "+stream, func(t *testing.T) {
				fake := fakellm.Config{Pace: 50, Script: fakellm.Endless("x ")}
				if state == "prefill" {
					fake.PrefillSpeed = 5
				}
				a := newAPI(t, fake, Config{})
				ask := func(ctx context.Context) chan error {
					gone := make(chan error, 1)
					go func() {
						resp, err := a.post(ctx, `{"messages":[{"role":"user","content":"go on and on"}],"stream":`+stream+`}`)
						if err == nil {
							_, err = io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
						gone <- err
					}()
					return gone
				}
				holdCtx, release := context.WithCancel(t.Context())
				defer release()
				held := make(chan error, 1)
				close(held)
				if state == "queued" {
					held = ask(holdCtx)
					a.until("the slot is held", func() bool { return a.engine.Status().Running == 1 })
				}
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				gone := ask(ctx)
				a.until(state, func() bool {
					switch st := a.engine.Status(); state {
					case "queued":
						return st.Waiting == 1
					case "prefill":
						return a.backend.Counters().Evaluations > 0
					default:
						return a.backend.Counters().Samples > 3
					}
				})
				kill()
				if err := <-gone; !errors.Is(err, context.Canceled) {
					t.Errorf("the client got %v", err)
				}
				if state == "queued" {
					a.until("the queue is empty", func() bool { return a.engine.Status().Waiting == 0 })
					release()
					<-held
				}
				a.until("the slot is free", a.idle)
			})
		}
	}
}

// Case C2: an overflow is a 400 with both numbers, streamed or not.
func TestOverflowIsRefusedBeforeTheStream(t *testing.T) {
	a := newAPI(t, fakellm.Config{Window: 128}, Config{})
	for _, stream := range []string{"true", "false"} {
		status, body := a.ask(`{"messages":[{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}],"stream":` + stream + `}`)
		if status != 400 || !strings.Contains(body, "context_length_exceeded") || !strings.Contains(body, "holds 128") {
			t.Errorf("stream %s: %d %q", stream, status, body)
		}
	}
	if n := a.backend.Counters().Evaluations; n != 0 {
		t.Errorf("%d batches were evaluated", n)
	}
}

func TestQueueFullIs503(t *testing.T) {
	a := newAPI(t, fakellm.Config{Pace: 20, Script: fakellm.Endless("x ")}, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	for range 5 {
		go func() {
			if resp, err := a.post(ctx, `{"messages":[{"role":"user","content":"x"}]}`); err == nil {
				resp.Body.Close()
			}
			ended <- struct{}{}
		}()
	}
	a.until("the queue is full", func() bool { return a.engine.Status().Waiting == 4 })
	resp, err := a.post(t.Context(), `{"messages":[{"role":"user","content":"x"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "queue_full") {
		t.Errorf("%s %q", resp.Status, body)
	}
	cancel()
	for range 5 {
		<-ended
	}
}

// A failure in the middle of a stream is its last event, without [DONE].
func TestFailureInAStream(t *testing.T) {
	a := newAPI(t, fakellm.Config{Pace: 500, Script: fakellm.Endless("x "), Faults: fakellm.Faults{EvaluateCall: 10}}, Config{})
	status, body := a.ask(`{"messages":[{"role":"user","content":"x"}],"stream":true}`)
	data, _ := events(t, body)
	if last := data[len(data)-1]; status != 200 || !strings.Contains(last, `"server_error"`) || strings.Contains(body, "[DONE]") {
		t.Errorf("%d, last event %q", status, last)
	}
	a = newAPI(t, fakellm.Config{Faults: fakellm.Faults{EvaluateCall: 1}}, Config{})
	if status, body := a.ask(`{"messages":[{"role":"user","content":"x"}]}`); status != 500 || !strings.Contains(body, "the model failed") {
		t.Errorf("%d %q", status, body)
	}
}

// Case N2: a client that stops reading loses its stream, not the server.
func TestStreamOfASlowReader(t *testing.T) {
	a := newAPI(t, fakellm.Config{Window: 1 << 20, Pace: 0, Script: fakellm.Endless(strings.Repeat("word ", 100))}, Config{WriteTimeout: 100 * time.Millisecond})
	resp, err := a.post(t.Context(), `{"messages":[{"role":"user","content":"x"}],"stream":true,"max_tokens":200000}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	a.until("the slot is free", a.idle)
}
