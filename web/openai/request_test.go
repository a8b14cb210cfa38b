package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/web/fault"
)

const hi = `"messages":[{"role":"user","content":"hi"}]`

// Cases A1, A2, A4 and their kind: refused by name, never a hang or a 500.
func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, body, param, says string }{
		{"nothing", ``, "", "not complete JSON"},
		{"cut short", `{"messages":`, "", "not complete JSON"},
		{"broken", `{"messages":}`, "", "not a JSON object"},
		{"a list", `[]`, "", "must be an object"},
		{"goes on", `{` + hi + `} x`, "", "goes on after"},
		{"no messages", `{}`, "messages", "empty"},
		{"null messages", `{"messages":null}`, "messages", "empty"},
		{"empty messages", `{"messages":[]}`, "messages", "empty"},
		{"messages are text", `{"messages":"hi"}`, "messages", "a list"},
		{"empty content", `{"messages":[{"role":"user","content":""}]}`, "messages[0].content", "blank"},
		{"blank content", `{"messages":[{"role":"user","content":" \n"}]}`, "messages[0].content", "blank"},
		{"null content", `{"messages":[{"role":"user","content":null}]}`, "messages[0].content", "missing"},
		{"no content", `{"messages":[{"role":"user"}]}`, "messages[0].content", "missing"},
		{"number content", `{"messages":[{"role":"user","content":7}]}`, "messages[0].content", "7"},
		{"no parts", `{"messages":[{"role":"user","content":[]}]}`, "messages[0].content", "blank"},
		{"image part", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, "messages[0].content", `"image_url"`},
		{"unknown role", `{"messages":[{"role":"wizard","content":"x"}]}`, "messages[0].role", `"wizard"`},
		{"tool role", `{"messages":[{"role":"tool","content":"x"}]}`, "messages[0].role", `"tool"`},
		{"system last", `{"messages":[{"role":"user","content":"x"},{"role":"system","content":"y"}]}`, "messages[1].role", "put it first"},
		{"assistant last", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, "messages[1].role", "must be the user's"},
		{"tool calls", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a","tool_calls":[{}]}]}`, "messages[1].tool_calls", "not supported"},
		{"negative max_tokens", `{` + hi + `,"max_tokens":-5}`, "max_tokens", "-5"},
		{"zero max_tokens", `{` + hi + `,"max_completion_tokens":0}`, "max_tokens", "0"},
		{"half a token", `{` + hi + `,"max_tokens":1.5}`, "max_tokens", "whole number"},
		{"hot", `{` + hi + `,"temperature":"hot"}`, "temperature", `"hot": it is string and must be a number`},
		{"stream", `{` + hi + `,"stream":"yes"}`, "stream", "true or false"},
		{"seed", `{` + hi + `,"seed":-1}`, "seed", "0 to 4294967295"},
		{"ignore_eos", `{` + hi + `,"ignore_eos":1}`, "ignore_eos", "true or false"},
		{"stop", `{` + hi + `,"stop":7}`, "stop", "neither a string nor a list"},
		{"stop list", `{` + hi + `,"stop":["a",1]}`, "stop", "neither a string nor a list"},
		{"two answers", `{` + hi + `,"n":2}`, "n", "give 1"},
		{"tools", `{` + hi + `,"tools":[{"type":"function"}]}`, "tools", "not supported"},
		{"json", `{` + hi + `,"response_format":{"type":"json_object"}}`, "response_format", "json_object"},
		{"logprobs", `{` + hi + `,"logprobs":true}`, "logprobs", "not supported"},
		{"penalty", `{` + hi + `,"frequency_penalty":0.5}`, "frequency_penalty", "0.5"},
		{"bias", `{` + hi + `,"logit_bias":{"5":1}}`, "logit_bias", "not supported"},
		{"misspelt", `{` + hi + `,"temprature":1}`, "temprature", "not known"},
		{"usage without a stream", `{` + hi + `,"stream_options":{"include_usage":true}}`, "stream_options", "stream: true"},
		{"template argument", `{` + hi + `,"chat_template_kwargs":{"x":1}}`, "chat_template_kwargs", "enable_thinking"},
		{"thinking", `{` + hi + `,"chat_template_kwargs":{"enable_thinking":"maybe"}}`, "chat_template_kwargs", "true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse([]byte(tt.body))
			if err == nil {
				t.Fatal("not refused")
			}
			f := fault.Of(err)
			if f.Status != 400 || f.Param != tt.param || !strings.Contains(f.Message, tt.says) || strings.Contains(f.Message, "Go ") {
				t.Errorf("%d %q %q", f.Status, f.Param, f.Message)
			}
		})
	}
}

func TestParse(t *testing.T) {
	r, err := parse([]byte(`{"messages":[
		{"role":"developer","content":"Be brief."},
		{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"user","content":"c"}],
		"model":"x","user":"u","stream":true,"stream_options":{"include_usage":true},
		"max_completion_tokens":7,"temperature":0,"top_p":0.5,"top_k":3,"min_p":0.1,"repeat_penalty":1.1,"seed":5,"ignore_eos":true,
		"stop":"END","tool_choice":"none","response_format":{ "type" : "text" },"frequency_penalty":0,
		"presence_penalty":null,"chat_template_kwargs":{"enable_thinking":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	seed, thinking := uint32(5), false
	want := chatRequest{stream: true, includeUsage: true, Request: llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleSystem, Content: "Be brief."}, {Role: llm.RoleUser, Content: "ab\n\nc"}},
		MaxTokens: 7, Stop: []string{"END"}, Thinking: &thinking,
		Sampling: llm.Sampling{Temperature: 0, TopP: 0.5, TopK: 3, MinP: 0.1, RepeatPenalty: 1.1, Seed: &seed, IgnoreEOG: true},
	}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	r, err = parse([]byte(`{` + hi + `}`))
	if err != nil || r.Sampling != llm.DefaultSampling() || r.stream || r.MaxTokens != 0 {
		t.Errorf("defaults: %+v %v", r, err)
	}
}

// What the engine refuses has the API's form too.
func TestSamplingOutOfRange(t *testing.T) {
	a := newAPI(t, fakellm.Config{}, Config{})
	status, body := a.ask(`{` + hi + `,"temperature":3}`)
	var doc errorDoc
	if err := json.Unmarshal([]byte(body), &doc); err != nil || status != 400 {
		t.Fatalf("%d %q", status, body)
	}
	if doc.Error.Type != "invalid_request_error" || !strings.Contains(doc.Error.Message, "temperature 3") {
		t.Errorf("got %+v", doc.Error)
	}
}

// Case A3: an oversized body is told to be that.
func TestBodyTooLarge(t *testing.T) {
	a := newAPI(t, fakellm.Config{}, Config{})
	status, body := a.ask(`{"messages":[{"role":"user","content":"` + strings.Repeat("a", 20<<20) + `"}]}`)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "4194304 bytes") {
		t.Errorf("%d %.200q", status, body)
	}
}

func TestBodyCutShort(t *testing.T) {
	a := newAPI(t, fakellm.Config{}, Config{})
	c := New(Config{Service: a.service})
	r := httptest.NewRequest("POST", "/v1/chat/completions", io.MultiReader(strings.NewReader(`{"messages"`), cut{}))
	if err := c.ChatCompletions(httptest.NewRecorder(), r); fault.Of(err).Status != 400 {
		t.Errorf("got %v", err)
	}
}

// cut is a body whose client went away.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func FuzzParse(f *testing.F) {
	f.Add(`{` + hi + `,"stop":["a"],"seed":1,"chat_template_kwargs":{"enable_thinking":true}}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := parse([]byte(body))
		if err != nil {
			if s := fault.Of(err).Status; s != 400 {
				t.Errorf("status %d for %q: %v", s, body, err)
			}
			return
		}
		if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != llm.RoleUser {
			t.Errorf("accepted %q as %+v", body, r.Messages)
		}
	})
}
