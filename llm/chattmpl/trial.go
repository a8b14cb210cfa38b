package chattmpl

import (
	"context"
	"fmt"
	"strings"
)

// Trial renders a set of chats and checks what comes out: that the last user
// message is there, that the size is in bounds, and that specials in contents
// stay text. The error wraps ErrUnsupported.
//
// It is meant for a child process with limits of time and memory (New before
// it as well): loops are counted, but a template can still fill the memory by
// doubling a string. The context is looked at between two renders.
func (t *Template) Trial(ctx context.Context) error {
	for _, chat := range trialChats() {
		for _, thinking := range []*bool{nil, new(true), new(false)} {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("trial of the chat template: %w", err)
			}
			if err := t.trial(chat, Options{AddGenerationPrompt: true, Thinking: thinking, Now: explored}); err != nil {
				return t.unsupported(err)
			}
		}
	}
	return nil
}

// trialChats are the shapes of chats that a page makes.
func trialChats() [][]Message {
	system := Message{Role: RoleSystem, Content: canarySystem}
	user := Message{Role: RoleUser, Content: canaryUser}
	assistant := Message{Role: RoleAssistant, Content: canaryAssistant}
	thought := Message{Role: RoleAssistant, Content: canaryAssistant, Thought: "Let me see."}
	last := Message{Role: RoleUser, Content: canaryLast}
	return [][]Message{
		{user},
		{system, user},
		{user, assistant, last},
		{system, user, thought, last},
	}
}

// trial renders one chat, then the same with every special in it.
func (t *Template) trial(chat []Message, o Options) error {
	plain, err := t.Render(chat, o)
	if err != nil {
		return strip(err)
	}
	last := chat[len(chat)-1].Content
	if !strings.Contains(strings.Join(plain.Parts, ""), last) {
		return fmt.Errorf("it drops the last user message")
	}
	forged := make([]Message, len(chat))
	for i, m := range chat {
		m.Content += " " + t.forgery()
		forged[i] = m
	}
	guarded, err := t.Render(forged, o)
	if err != nil {
		return strip(err)
	}
	want, got := 0, 0
	for _, part := range plain.Parts {
		want += t.specials.count(part)
	}
	for _, part := range guarded.Parts {
		got += t.specials.count(part)
	}
	if got > want {
		return fmt.Errorf("contents can forge its control tokens (%d instead of %d in a trial)", got, want)
	}
	return nil
}

// maxForged bounds the specials that a trial puts into a content.
const maxForged = 512

// forgery returns a content that spells the specials.
func (t *Template) forgery() string {
	list := t.specials.sorted
	return strings.Join(list[:min(len(list), maxForged)], " ")
}
