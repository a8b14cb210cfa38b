// Package chat brings a conversation into the order that chat templates take:
// one system message at most and first, then turns that alternate.
package chat

import (
	"fmt"
	"strings"

	"pichat/llm"
	"pichat/web/fault"
)

// Arrange merges what can be merged without changing what was said: leading
// system messages, and neighbours of the same role, parted by a blank line. A
// blank system message is dropped. It refuses, by index, a blank message, a
// system message after the first turn, and a chat whose last message is not
// the user's. The input is not changed.
func Arrange(messages []llm.Message) ([]llm.Message, error) {
	if len(messages) == 0 {
		return nil, fault.Invalid("messages", "messages is empty: send at least one user message")
	}
	var out []llm.Message
	turns := false
	for i, m := range messages {
		blank := strings.TrimSpace(m.Content) == ""
		switch {
		case m.Role == llm.RoleSystem && turns:
			return nil, fault.Invalid(field(i, "role"),
				"messages[%d] is a system message after the first turn: put it first", i)
		case m.Role == llm.RoleSystem && blank:
			continue
		case m.Role != llm.RoleSystem:
			turns = true
		}
		if blank && strings.TrimSpace(m.Thought) == "" {
			return nil, fault.Invalid(field(i, "content"), "messages[%d].content is blank: give it text, or leave the message out", i)
		}
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Content = join(out[n-1].Content, m.Content)
			out[n-1].Thought = join(out[n-1].Thought, m.Thought)
			continue
		}
		out = append(out, m)
	}
	if !turns {
		return nil, fault.Invalid("messages", "messages holds no user message: send at least one")
	}
	if last := out[len(out)-1]; last.Role != llm.RoleUser {
		return nil, fault.Invalid(field(len(messages)-1, "role"),
			"the last message is from the role %q: it must be the user's, which is what gets answered", last.Role)
	}
	return out, nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func field(i int, name string) string { return fmt.Sprintf("messages[%d].%s", i, name) }
