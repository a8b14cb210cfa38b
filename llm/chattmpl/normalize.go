package chattmpl

import (
	"fmt"
	"strings"
)

// normalize brings a chat into the shape that every template takes: one system
// message, in front, and turns that alternate. Neighbours of one role become
// one turn, with a blank line between; system messages from further down move
// to the front. An assistant's turn without an answer (a reply that was
// stopped early) is left out.
func normalize(messages []Message) ([]Message, error) {
	if len(messages) == 0 {
		return nil, fmt.Errorf("%w: send at least one user message", ErrNoMessages)
	}
	var system []string
	out := make([]Message, 0, len(messages)+1)
	for i, m := range messages {
		blank := strings.TrimSpace(m.Content) == ""
		switch m.Role {
		case RoleSystem, RoleUser:
			if blank {
				return nil, fmt.Errorf("%w: messages[%d] (%s) has no text: write something, or leave it out", ErrBlank, i, m.Role)
			}
		case RoleAssistant:
			if blank {
				continue
			}
		default:
			return nil, fmt.Errorf("%w: messages[%d].role is %q: use system, user or assistant", ErrRole, i, m.Role)
		}
		m.Content = strings.ToValidUTF8(m.Content, "\uFFFD")
		m.Thought = strings.ToValidUTF8(m.Thought, "\uFFFD")
		if m.Role == RoleSystem {
			system = append(system, m.Content)
			continue
		}
		m.Thought = thoughtOf(m)
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Content = join(out[n-1].Content, m.Content)
			out[n-1].Thought = join(out[n-1].Thought, m.Thought)
			continue
		}
		out = append(out, m)
	}
	if len(system) > 0 {
		out = append([]Message{{Role: RoleSystem, Content: strings.Join(system, "\n\n")}}, out...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: all %d are empty turns of the assistant: send at least one user message", ErrNoMessages, len(messages))
	}
	return out, nil
}

// thoughtOf returns an assistant's reasoning; the others have none.
func thoughtOf(m Message) string {
	if m.Role != RoleAssistant || strings.TrimSpace(m.Thought) == "" {
		return ""
	}
	return m.Thought
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// foldSystem moves a leading system message into the first user message, for
// templates that have no place for it.
func foldSystem(messages []Message) []Message {
	if len(messages) == 0 || messages[0].Role != RoleSystem {
		return messages
	}
	system, rest := messages[0].Content, messages[1:]
	if len(rest) == 0 || rest[0].Role != RoleUser {
		return append([]Message{{Role: RoleUser, Content: system}}, rest...)
	}
	out := append([]Message(nil), rest...)
	out[0].Content = join(system, out[0].Content)
	return out
}
