package boot

import (
	"pichat/llm"
	"pichat/llm/chattmpl"
	"pichat/llm/llamacpp"
)

// template is a chattmpl.Template in the engine's terms.
type template struct{ format *chattmpl.Template }

// Render implements llm.Template.
func (t template) Render(messages []llm.Message, thinking *bool) (llm.Prompt, error) {
	chat := make([]chattmpl.Message, len(messages))
	for i, m := range messages {
		chat[i] = chattmpl.Message{Role: string(m.Role), Content: m.Content, Thought: m.Thought}
	}
	r, err := t.format.Render(chat, chattmpl.Options{AddGenerationPrompt: true, Thinking: thinking})
	return llm.Prompt{Parts: r.Parts, InThought: r.ThinkOpen}, err
}

// Info implements llm.Template.
func (t template) Info() llm.TemplateInfo {
	i := t.format.Info()
	return llm.TemplateInfo{
		Fallback: i.Fallback, Stop: i.Stop,
		ThinkOpen: i.ThinkOpen, ThinkClose: i.ThinkClose, CanSwitchThinking: i.CanSwitchThinking,
	}
}

// templateOf returns the chat format of a loaded model: its own template, or
// the plain format where the file has none.
func templateOf(m *llamacpp.Model) (*chattmpl.Template, error) {
	meta := m.Meta()
	if meta.ChatTemplate == "" {
		return chattmpl.Fallback(m.Specials()), nil
	}
	return chattmpl.New(chattmpl.Source{
		Template: meta.ChatTemplate,
		BOS:      meta.BOS,
		EOS:      meta.EOS,
		Specials: m.Specials(),
		Name:     m.Info().Name,
	})
}
