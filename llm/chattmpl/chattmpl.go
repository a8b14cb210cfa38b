// Package chattmpl renders a chat with the model's own chat template: the
// Jinja source that a GGUF file carries, or a plain format for a model that
// carries none.
//
// What a person types never becomes a control token. The rendered chat comes
// as parts; a tokenizer recognises special tokens inside a part, as the
// template means them, and never across the cut between two parts. Wherever a
// content spells a special token, there is a cut inside it.
//
// A template is a program from a stranger's file. It cannot read files, but it
// can loop for ever, and nothing in the process can stop it: run [Template.Trial]
// in a child process with limits of time and memory before trusting one.
package chattmpl

import (
	"errors"
	"time"
)

// Sentinel errors; the text that wraps them says what is wrong, where, and
// what to do.
var (
	// ErrRole marks a message whose role is none of the Role constants.
	ErrRole = errors.New("unknown role")
	// ErrNoMessages marks a chat without messages.
	ErrNoMessages = errors.New("no messages")
	// ErrBlank marks a message without text.
	ErrBlank = errors.New("blank message")
	// ErrTemplate marks a chat that the template refuses, with the template's
	// own words, or a fault of the template in rendering it.
	ErrTemplate = errors.New("chat template refuses the chat")
	// ErrUnsupported marks a template that cannot be used at all.
	ErrUnsupported = errors.New("chat template cannot be used")
)

// The roles that may speak in a chat.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a chat.
type Message struct {
	Role    string // RoleSystem, RoleUser or RoleAssistant
	Content string
	Thought string // an assistant's reasoning, where the turn had any
}

// Options says how to render a chat. The zero value renders it as it is, with
// the template's own defaults.
type Options struct {
	// AddGenerationPrompt appends what opens the assistant's reply.
	AddGenerationPrompt bool
	// Thinking switches reasoning on or off where the template knows how
	// (Info.CanSwitchThinking); nil leaves the template's default.
	Thinking *bool
	// Now is the time that a template may print; zero means the present.
	Now time.Time
	// Extra holds further variables of the template, trusted as the template
	// is: bool, int, float64, string, and maps and slices of them.
	Extra map[string]any
}

// Rendered is a chat as text for the tokenizer.
type Rendered struct {
	// Parts are to be tokenized in order, with special tokens recognised
	// inside a part and never across two. Joined they are the prompt. The
	// slice is the caller's.
	Parts []string
	// ThinkOpen is set when the prompt ends inside a block of reasoning, so
	// that the reply begins with it.
	ThinkOpen bool
}

// Source is what a model file says about its chat format.
type Source struct {
	// Template is the Jinja source. It must not be empty: see Fallback.
	Template string
	// BOS and EOS are the texts of those tokens, which templates may print.
	BOS, EOS string
	// Specials are the texts that the tokenizer turns into tokens of its own
	// when it meets them: every control token, and the user-defined ones that
	// must not be forged. In contents they stay text.
	Specials []string
	// Name names the model in errors.
	Name string
}

// Info describes a chat format.
type Info struct {
	// Fallback is set for the plain format of a model without a template.
	Fallback bool
	// Stop holds the strings that end a turn in the fallback format; the
	// templates of chat models end it by a control token.
	Stop []string
	// ThinkOpen and ThinkClose enclose reasoning; both "" when the template
	// knows none.
	ThinkOpen, ThinkClose string
	// CanSwitchThinking is set when reasoning can be switched on and off.
	CanSwitchThinking bool
	// System is set when the template has a place for a system message;
	// otherwise it goes in front of the first user message.
	System bool
}
