package llm

import (
	"fmt"
	"math"
	"strings"
)

// Role says who speaks in a chat.
type Role string

// The roles that chat templates know.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a chat.
type Message struct {
	Role    Role
	Content string
	Thought string // an assistant's reasoning, where the turn had any
}

// Request asks for one reply.
type Request struct {
	// ID names the request in logs and answers; "" lets the engine pick one.
	ID string
	// Client is whom it comes from, an address or the name of a key: one client
	// cannot take all there is while others wait. "" is nobody in particular.
	Client string
	// Messages is the chat, oldest first. Prompt is used when it is empty.
	Messages []Message
	// TrimHistory leaves out the oldest turns of a chat that has become too long
	// for the window, instead of refusing it: see Prefilling.LeftOut.
	TrimHistory bool
	// Prompt is a bare completion without a chat template. Special tokens
	// spelled in it stay text.
	Prompt string
	// MaxTokens caps the reply; 0 means the engine's default cap. The window
	// caps it in any case.
	MaxTokens int
	// Stop ends the reply before any of these strings; at most 16 of them.
	Stop []string
	// Thinking switches the reasoning of a model whose template knows it; nil
	// leaves the template's default.
	Thinking *bool
	// Exclusive serves the request alone, with fixed threads and prompt chunks
	// and nothing kept from before, so that the same request with the same seed
	// gives the same text each time. It empties what all slots keep.
	Exclusive bool
	Sampling  Sampling
}

// Sampling says how tokens are picked. The zero value is greedy.
type Sampling struct {
	Temperature   float64 // 0..2; 0 always takes the likeliest token
	TopK          int     // 0 = off
	TopP          float64 // 0..1; 0 and 1 = off
	MinP          float64 // 0..1; 0 = off
	RepeatPenalty float64 // 0.1..4; 0 and 1 = off; over the last 64 tokens
	Seed          *uint32 // nil picks one at random
	// IgnoreEOG never picks a token that ends a generation, so that a reply ends
	// at its cap, its window or a stop string: for benchmarks.
	IgnoreEOG bool
}

// DefaultSampling is what the page and the API use when nothing is asked.
// The values are llama.cpp's own defaults but for the temperature, where
// small models hold together better a little cooler.
func DefaultSampling() Sampling {
	return Sampling{Temperature: 0.7, TopK: 40, TopP: 0.95, MinP: 0.05}
}

// Limits of a request, checked before anything is evaluated.
const (
	maxStops     = 16
	maxStopBytes = 256
)

// Validate reports the first fault of a request; it wraps ErrInvalidRequest.
func (r *Request) Validate() error {
	if len(r.Messages) == 0 && strings.TrimSpace(r.Prompt) == "" {
		return fmt.Errorf("%w: messages is empty: send at least one user message", ErrInvalidRequest)
	}
	for i, m := range r.Messages {
		switch m.Role {
		case RoleSystem, RoleUser, RoleAssistant:
		default:
			return fmt.Errorf("%w: messages[%d].role %q is not one of system, user, assistant", ErrInvalidRequest, i, m.Role)
		}
	}
	if n := len(r.Messages); n > 0 {
		last := r.Messages[n-1]
		if last.Role == RoleUser && strings.TrimSpace(last.Content) == "" {
			return fmt.Errorf("%w: messages[%d].content is blank: write something to answer", ErrInvalidRequest, n-1)
		}
	}
	if r.MaxTokens < 0 {
		return fmt.Errorf("%w: max_tokens %d is negative: give 1 or more, or leave it out", ErrInvalidRequest, r.MaxTokens)
	}
	if len(r.Stop) > maxStops {
		return fmt.Errorf("%w: %d stop strings, at most %d are allowed", ErrInvalidRequest, len(r.Stop), maxStops)
	}
	for i, s := range r.Stop {
		if s == "" || len(s) > maxStopBytes {
			return fmt.Errorf("%w: stop[%d] has %d bytes, allowed are 1 to %d", ErrInvalidRequest, i, len(s), maxStopBytes)
		}
	}
	return r.Sampling.validate()
}

func (s Sampling) validate() error {
	ranges := []struct {
		name          string
		value, lo, hi float64
	}{
		{"temperature", s.Temperature, 0, 2},
		{"top_k", float64(s.TopK), 0, 1 << 20},
		{"top_p", s.TopP, 0, 1},
		{"min_p", s.MinP, 0, 1},
		{"repeat_penalty", s.RepeatPenalty, 0, 4},
	}
	for _, r := range ranges {
		if math.IsNaN(r.value) || r.value < r.lo || r.value > r.hi {
			return fmt.Errorf("%w: %s %v is outside %v to %v", ErrInvalidRequest, r.name, r.value, r.lo, r.hi)
		}
	}
	if s.RepeatPenalty > 0 && s.RepeatPenalty < 0.1 {
		return fmt.Errorf("%w: repeat_penalty %v is below 0.1: 1 switches it off", ErrInvalidRequest, s.RepeatPenalty)
	}
	return nil
}
