package llm

import (
	"context"
	"time"
)

// Generator answers requests: the Engine, and later other servers behind the
// same page. Its methods may be called from any goroutine and none of them
// waits for a decode step.
type Generator interface {
	// Generate accepts a request and returns its stream at once. When ctx
	// ends the reply is cancelled, in the queue, in prefill or in decode. The
	// error is one of this package's sentinels, before anything was evaluated.
	Generate(ctx context.Context, r Request) (*Stream, error)
	// Info describes the model.
	Info() ModelInfo
	// Template describes the chat format.
	Template() TemplateInfo
	// Status says how busy the generator is.
	Status() Status
}

// Status is a snapshot of an engine, published after every step.
type Status struct {
	Running int // slots that prefill or decode
	Waiting int // requests in the queue
	Slots   int
	// KVTokens is how many tokens the slots hold, kept prefixes included, of
	// Slots x Window.
	KVTokens int
	// Steps counts evaluated batches: the sign of life.
	Steps uint64
	// Ticks moves while a batch is computed, so that a long one can be told from
	// one that hangs; it wraps around. It is read at the call of Status. 0 for a
	// backend that is no Ticker.
	Ticks uint32
	// Compute is the CPU time of the engine's own thread inside the backend: at
	// one compute thread, all that the model costs. 0 when unknown.
	Compute time.Duration
	// Threads are the compute threads of now; the zero value when the backend's
	// cannot be changed.
	Threads ThreadStatus
}

// Template renders a chat into the prompt that a model was trained on. It is
// implemented in package chattmpl and may be called from any goroutine.
type Template interface {
	Render(messages []Message, thinking *bool) (Prompt, error)
	Info() TemplateInfo
}

// Prompt is a rendered chat.
type Prompt struct {
	// Parts is the text, cut where contents spelled a special token: see Text.
	Parts []string
	// InThought is set when the prompt ends inside a block of reasoning, so
	// that the reply begins with it.
	InThought bool
}

// TemplateInfo describes a chat template.
type TemplateInfo struct {
	// Fallback is set for a model that brings no template (a base model).
	Fallback bool
	// Stop holds strings that end a turn in the fallback format.
	Stop []string
	// ThinkOpen and ThinkClose enclose reasoning; both "" when the template
	// knows none.
	ThinkOpen, ThinkClose string
	// CanSwitchThinking is set when reasoning can be switched on and off.
	CanSwitchThinking bool
}
