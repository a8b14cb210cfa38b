package fakellm

import (
	"fmt"
	"strings"

	"pichat/llm"
)

// Template renders chats in the ChatML format that the scripted backend's
// special tokens are made for. The zero value knows no reasoning.
type Template struct {
	// Thinking lets a request switch reasoning on; the reply then begins inside
	// of <think>.
	Thinking bool
}

var _ llm.Template = Template{}

const thinkOpen, thinkClose = "<think>", "</think>"

// Info implements llm.Template.
func (t Template) Info() llm.TemplateInfo {
	if !t.Thinking {
		return llm.TemplateInfo{}
	}
	return llm.TemplateInfo{ThinkOpen: thinkOpen, ThinkClose: thinkClose, CanSwitchThinking: true}
}

// Render implements llm.Template.
func (t Template) Render(messages []llm.Message, thinking *bool) (llm.Prompt, error) {
	if len(messages) == 0 {
		return llm.Prompt{}, fmt.Errorf("%w: messages is empty: send at least one user message", llm.ErrInvalidRequest)
	}
	var p parts
	for _, m := range messages {
		p.markup(specials[TokenStart] + string(m.Role) + "\n")
		if m.Thought != "" && t.Thinking {
			p.markup(thinkOpen + "\n")
			p.content(m.Thought)
			p.markup("\n" + thinkClose + "\n\n")
		}
		p.content(m.Content)
		p.markup(specials[TokenEnd] + "\n")
	}
	p.markup(specials[TokenStart] + string(llm.RoleAssistant) + "\n")
	in := t.Thinking && thinking != nil && *thinking
	if in {
		p.markup(thinkOpen + "\n")
	}
	return llm.Prompt{Parts: p.list, InThought: in}, nil
}

// parts is a prompt in the making.
type parts struct {
	list []string
	open bool // the last part may be appended to
}

// markup appends text of the template.
func (p *parts) markup(text string) {
	if !p.open {
		p.list = append(p.list, "")
		p.open = true
	}
	p.list[len(p.list)-1] += text
}

// content appends what somebody wrote, cut inside of every special token that
// it spells, or that its first characters complete.
func (p *parts) content(text string) {
	for text != "" {
		cut := len(text)
		for _, s := range specials {
			if i := strings.Index(text, s); i >= 0 {
				cut = min(cut, i+1)
			}
		}
		p.markup(text[:cut])
		text = text[cut:]
		p.open = text == ""
	}
}
