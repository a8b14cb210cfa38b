package llm

import "time"

// Event is what a Stream delivers: any number of Queued, then Prefilling,
// then Delta events, and one Done, always the last.
type Event interface{ event() }

// Queued says that the request waits for a slot.
type Queued struct {
	Place    int           // 1 is next
	Estimate time.Duration // until its prefill starts; 0 when unknown
}

// Prefilling says how much of the prompt has been read.
type Prefilling struct {
	PromptTokens int           // in all
	CachedTokens int           // kept from an earlier request of the slot
	Done         int           // evaluated or cached so far
	Estimate     time.Duration // until the first token; 0 when unknown
	// LeftOut is how many messages at the beginning of the chat were left out,
	// because the window has no room for them.
	LeftOut int
}

// Delta carries text that has left the scheduler. Its text is valid UTF-8.
type Delta struct {
	Text string
	// Thought is set while the text is the model's reasoning.
	Thought bool
	// Tokens is how many tokens Text stands for: more than 1 when characters
	// or a possible stop string were held back, 0 for the rest of a cut
	// character at the end.
	Tokens int
	// At is the time since the request's arrival.
	At time.Duration
}

// Done ends a stream.
type Done struct {
	Finish  Finish
	Err     error // set iff Finish is FinishError
	Timings Timings
}

func (Queued) event()     {}
func (Prefilling) event() {}
func (Delta) event()      {}
func (Done) event()       {}

// Finish says why a reply ended.
type Finish string

// The ways in which a reply ends.
const (
	FinishStop      Finish = "stop"        // the model ended it (end-of-generation token)
	FinishStopText  Finish = "stop_string" // one of Request.Stop appeared
	FinishLength    Finish = "length"      // the token cap was reached
	FinishWindow    Finish = "window"      // the slot's context window is full
	FinishCancelled Finish = "cancelled"   // the caller went away or pressed Stop
	FinishError     Finish = "error"       // something failed, see Done.Err
)
