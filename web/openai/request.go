package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pichat/llm"
	"pichat/web/chat"
	"pichat/web/fault"
)

// chatRequest is a checked request.
type chatRequest struct {
	llm.Request
	stream       bool
	includeUsage bool
}

// parse reads the body of POST /v1/chat/completions. Its errors are faults
// that name the parameter.
func parse(body []byte) (chatRequest, error) {
	fields, err := object(body)
	if err != nil {
		return chatRequest{}, err
	}
	req := chatRequest{Request: llm.Request{Sampling: llm.DefaultSampling()}}
	var messages []message
	p := params{fields: fields}
	p.read("messages", &messages)
	p.read("stream", &req.stream)
	p.read("max_tokens", &req.MaxTokens)
	p.read("max_completion_tokens", &req.MaxTokens)
	p.read("temperature", &req.Sampling.Temperature)
	p.read("top_p", &req.Sampling.TopP)
	p.read("top_k", &req.Sampling.TopK)
	p.read("min_p", &req.Sampling.MinP)
	p.read("repeat_penalty", &req.Sampling.RepeatPenalty)
	p.read("seed", &req.Sampling.Seed)
	p.read("exclusive", &req.Exclusive)
	p.read("ignore_eos", &req.Sampling.IgnoreEOG)
	p.read("stop", (*stopList)(&req.Stop))
	p.streamOptions(&req.includeUsage, req.stream)
	p.templateArguments(&req.Thinking)
	p.refuse()
	if p.err != nil {
		return chatRequest{}, p.err
	}
	if _, given := fields["max_tokens"]; req.MaxTokens < 1 && (given || fields["max_completion_tokens"] != nil) {
		return chatRequest{}, fault.Invalid("max_tokens", "max_tokens %d is below 1: give 1 or more, or leave it out", req.MaxTokens)
	}
	if req.Messages, err = turns(messages); err != nil {
		return chatRequest{}, err
	}
	return req, nil
}

// object parses a JSON object and drops the fields that are null, which
// clients send for "not set".
func object(body []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&fields); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault.Invalid("", "the body is not complete JSON: it ends after %d bytes", len(body))
		}
		return nil, fault.Invalid("", "the body is not a JSON object: %v", plainJSON(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.Invalid("", "the body goes on after its JSON object, at byte %d", dec.InputOffset())
	}
	maps.DeleteFunc(fields, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return fields, nil
}

// params takes parameters out of a request one by one and keeps the first
// fault.
type params struct {
	fields map[string]json.RawMessage
	taken  []string
	err    error
}

// read decodes the parameter name into to, if it is there.
func (p *params) read(name string, to any) {
	p.taken = append(p.taken, name)
	raw, ok := p.fields[name]
	if !ok || p.err != nil {
		return
	}
	if err := json.Unmarshal(raw, to); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			p.err = fault.Invalid(name, "%s", f.Message)
			return
		}
		p.err = fault.Invalid(name, "%s %s: %v", name, shorten(raw), plainJSON(err))
	}
}

func (p *params) streamOptions(includeUsage *bool, stream bool) {
	var options struct {
		IncludeUsage *bool `json:"include_usage"`
	}
	p.read("stream_options", &options)
	if p.fields["stream_options"] != nil && !stream && p.err == nil {
		p.err = fault.Invalid("stream_options", "stream_options is for stream: true only: leave it out, or stream")
	}
	if options.IncludeUsage != nil {
		*includeUsage = *options.IncludeUsage
	}
}

// templateArguments takes the one argument that a chat template gets here.
func (p *params) templateArguments(thinking **bool) {
	var arguments map[string]json.RawMessage
	p.read("chat_template_kwargs", &arguments)
	for name, raw := range arguments {
		if p.err != nil {
			return
		}
		if name != "enable_thinking" {
			p.err = fault.Invalid("chat_template_kwargs", "chat_template_kwargs.%.40s is not supported: only enable_thinking is", name)
		} else if err := json.Unmarshal(raw, thinking); err != nil {
			p.err = fault.Invalid("chat_template_kwargs", "enable_thinking %s: %v", shorten(raw), plainJSON(err))
		}
	}
}

// harmless parameters do not change the answer, or not in the value given.
var harmless = map[string][]string{
	"model": nil, "user": nil, "metadata": nil, "store": nil, "service_tier": nil,
	"prompt_cache_key": nil, "safety_identifier": nil, "parallel_tool_calls": nil,
	"n": {"1"}, "logprobs": {"false"}, "top_logprobs": {"0"}, "frequency_penalty": {"0", "0.0"},
	"presence_penalty": {"0", "0.0"}, "logit_bias": {"{}"}, "tools": {"[]"}, "functions": {"[]"},
	"tool_choice": {`"none"`, `"auto"`}, "function_call": {`"none"`, `"auto"`},
	"response_format": {`{"type":"text"}`}, "modalities": {`["text"]`},
}

// refuse names the first parameter that would change the answer and is not
// served.
func (p *params) refuse() {
	for _, name := range slices.Sorted(maps.Keys(p.fields)) {
		if p.err != nil {
			return
		}
		values, known := harmless[name]
		if slices.Contains(p.taken, name) || known && values == nil {
			continue
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, p.fields[name]) // it has been parsed once
		switch {
		case known && slices.Contains(values, compact.String()):
		case known:
			p.err = fault.Invalid(name, "%s %s is not supported here: leave it out, or give %s", name, shorten(p.fields[name]), values[0])
		default:
			p.err = fault.Invalid(name, "the parameter %.60q is not known here: leave it out. Known are %s", name, strings.Join(p.taken, ", "))
		}
	}
}

// stopList is a string or a list of strings.
type stopList []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *stopList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = stopList{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fault.Invalid("stop", "stop %s is neither a string nor a list of strings", shorten(data))
	}
	*s = many
	return nil
}

// message is one message as clients send it.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// turns checks messages and brings them into the order that templates take.
func turns(messages []message) ([]llm.Message, error) {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		role, err := roleOf(i, m.Role)
		if err != nil {
			return nil, err
		}
		if calls := string(m.ToolCalls); calls != "" && calls != "null" && calls != "[]" {
			return nil, fault.Invalid(fmt.Sprintf("messages[%d].tool_calls", i), "messages[%d].tool_calls is not supported here: send text", i)
		}
		text, err := contentOf(i, m.Content)
		if err != nil {
			return nil, err
		}
		out[i] = llm.Message{Role: role, Content: text, Thought: m.Reasoning}
	}
	return chat.Arrange(out)
}

func roleOf(i int, role string) (llm.Role, error) {
	switch role {
	case "system", "developer":
		return llm.RoleSystem, nil
	case "user":
		return llm.RoleUser, nil
	case "assistant":
		return llm.RoleAssistant, nil
	}
	return "", fault.Invalid(fmt.Sprintf("messages[%d].role", i),
		"messages[%d].role %.40q is not one of system, developer, user, assistant", i, role)
}

// contentOf takes a string or a list of text parts.
func contentOf(i int, raw json.RawMessage) (string, error) {
	param := fmt.Sprintf("messages[%d].content", i)
	if len(raw) == 0 || string(raw) == "null" {
		return "", fault.Invalid(param, "%s is missing: give it text", param)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fault.Invalid(param, "%s %s is neither a string nor a list of text parts", param, shorten(raw))
	}
	var b strings.Builder
	for j, part := range parts {
		if part.Type != "text" || part.Text == nil {
			return "", fault.Invalid(param, "%s[%d] has the type %.40q: only text parts are supported here", param, j, part.Type)
		}
		b.WriteString(*part.Text)
	}
	return b.String(), nil
}

// plainJSON words a decoding error without Go's names.
func plainJSON(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	kind := wrong.Type.Kind().String()
	switch {
	case strings.HasPrefix(kind, "int"):
		kind = "a whole number"
	case strings.HasPrefix(kind, "uint"):
		kind = "a whole number from 0 to 4294967295"
	case strings.HasPrefix(kind, "float"):
		kind = "a number"
	case kind == "bool":
		kind = "true or false"
	case kind == "slice":
		kind = "a list"
	case kind == "struct", kind == "map":
		kind = "an object"
	}
	if wrong.Field != "" {
		return fmt.Sprintf("%s is %s, it must be %s", wrong.Field, wrong.Value, kind)
	}
	return fmt.Sprintf("it is %s and must be %s", wrong.Value, kind)
}

// shorten is a value as an error may repeat it.
func shorten(raw json.RawMessage) string {
	const most = 60
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}
