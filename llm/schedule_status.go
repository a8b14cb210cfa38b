package llm

import (
	"time"

	"pichat/llm/policy"
)

// Scheduler is a Generator that shows how it decides.
type Scheduler interface {
	// Schedule may be called from any goroutine; the result is the caller's to
	// read only.
	Schedule() ScheduleStatus
}

// ScheduleStatus is what an engine has learned and decided.
type ScheduleStatus struct {
	// StepTimes is T(B) for 1 to Slots streams; empty while nothing is known.
	StepTimes []StepTime
	// Learned is what a later run on the same machine can begin with.
	Learned policy.Snapshot
	// Decision says why the last request was admitted or has to wait.
	Decision string
	// CachedTokens counts prompt tokens that needed no evaluation, of all
	// requests so far.
	CachedTokens uint64
	Slots        []SlotStatus
}

// StepTime is the time of a step that writes one token for each stream.
type StepTime struct {
	Streams  int
	Time     time.Duration
	Measured uint64 // steps it was learned from; 0 is a guess from the others
}

// SlotStatus is what a slot does.
type SlotStatus struct {
	Request      string // id of what it serves; "" when idle
	Prefilling   bool
	PromptTokens int
	CachedTokens int
	Tokens       int // of the reply so far
	Kept         int // tokens that its memory holds
}
