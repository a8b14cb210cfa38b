package llm

import (
	"errors"
	"fmt"
	"time"
)

// Sentinel errors; callers compare with errors.Is and map them to an answer
// in one place (see package web).
var (
	// ErrInvalidRequest marks a request that no model could serve. The text
	// says which field, its value and what is allowed.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrContextFull marks a prompt that does not fit a slot's window.
	// Errors carrying it are of type *ContextError.
	ErrContextFull = errors.New("context window full")
	// ErrQueueFull means that too many wait already, in all or from one client,
	// or that the wait would be too long. Errors carrying it are of type
	// *QueueError.
	ErrQueueFull = errors.New("queue full")
	// ErrLoading means that the model is still being loaded.
	ErrLoading = errors.New("model is loading")
	// ErrUnavailable means that no model could be loaded, or that it was lost.
	ErrUnavailable = errors.New("no model available")
	// ErrClosed means that the engine is shutting down.
	ErrClosed = errors.New("shutting down")
	// ErrInterrupted is returned by Backend.Evaluate when its context ended
	// before the batch was done.
	ErrInterrupted = errors.New("evaluation interrupted")
	// ErrSlowReader ends a stream whose consumer did not read for longer than
	// the engine's limit.
	ErrSlowReader = errors.New("client reads too slowly")
	// ErrBackend marks a failure inside the backend.
	ErrBackend = errors.New("backend failed")
)

// ContextError says by how much a prompt misses the window. It matches
// ErrContextFull.
type ContextError struct {
	PromptTokens int // tokens of the rendered prompt
	Window       int // tokens that one slot holds, prompt and reply together
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("the prompt has %d tokens, but a slot's context window holds %d (prompt and reply together): shorten the chat, or start with a larger --context",
		e.PromptTokens, e.Window)
}

// QueueError says why a request may not wait. It matches ErrQueueFull.
type QueueError struct {
	Reason string
	// OfClient is set when the limit is that of one client, and not of all.
	OfClient bool
	// RetryAfter is when to try again; at least 1 s.
	RetryAfter time.Duration
}

func (e *QueueError) Error() string {
	return fmt.Sprintf("%v: %s: try again in %v", ErrQueueFull, e.Reason, e.RetryAfter.Round(time.Second))
}

// Is makes errors.Is(err, ErrQueueFull) true.
func (e *QueueError) Is(target error) bool { return target == ErrQueueFull }

// Is makes errors.Is(err, ErrContextFull) true.
func (e *ContextError) Is(target error) bool { return target == ErrContextFull }
