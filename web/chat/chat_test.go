package chat

import (
	"reflect"
	"testing"

	"pichat/llm"
	"pichat/web/fault"
)

func say(pairs ...string) []llm.Message {
	var out []llm.Message
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, llm.Message{Role: llm.Role(pairs[i]), Content: pairs[i+1]})
	}
	return out
}

func TestArrange(t *testing.T) {
	tests := []struct {
		name     string
		in, want []llm.Message
		param    string // of the refusal
	}{
		{"as it should be", say("system", "s", "user", "a", "assistant", "b", "user", "c"), say("system", "s", "user", "a", "assistant", "b", "user", "c"), ""},
		{"two users", say("user", "a", "user", "b"), say("user", "a\n\nb"), ""},
		{"two systems", say("system", "a", "system", "b", "user", "c"), say("system", "a\n\nb", "user", "c"), ""},
		{"two assistants", say("user", "a", "assistant", "b", "assistant", "c", "user", "d"), say("user", "a", "assistant", "b\n\nc", "user", "d"), ""},
		{"blank system", say("system", " ", "user", "a"), say("user", "a"), ""},
		{"assistant first", say("assistant", "hello", "user", "a"), say("assistant", "hello", "user", "a"), ""},
		{"empty", nil, nil, "messages"},
		{"only system", say("system", "a"), nil, "messages"},
		{"system last", say("user", "a", "system", "b"), nil, "messages[1].role"},
		{"system in the middle", say("user", "a", "system", "b", "user", "c"), nil, "messages[1].role"},
		{"assistant last", say("user", "a", "assistant", "b"), nil, "messages[1].role"},
		{"blank user", say("user", "a", "user", " \n\t"), nil, "messages[1].content"},
		{"blank assistant", say("user", "a", "assistant", "", "user", "b"), nil, "messages[1].content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := append([]llm.Message(nil), tt.in...)
			got, err := Arrange(tt.in)
			if tt.param != "" {
				if err == nil || fault.Of(err).Param != tt.param || fault.Of(err).Status != 400 {
					t.Errorf("got %v, %v; want a refusal of %s", got, err, tt.param)
				}
			} else if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
			if !reflect.DeepEqual(before, append([]llm.Message(nil), tt.in...)) {
				t.Error("the input was changed")
			}
		})
	}
}
