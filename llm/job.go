package llm

import (
	"sync/atomic"
	"time"
)

// job is one request on its way through the engine. Its fields belong to the
// engine's goroutine once the job is in the inbox, but for cancelled.
type job struct {
	request   Request
	prompt    []Token
	leftOut   int // messages of the chat that were too many
	maxTokens int
	stream    *Stream
	arrival   time.Time
	cancelled atomic.Bool
	unwatch   func() bool // stops waiting for the caller's context

	place    int           // last place in the queue that was told, 0 for none
	estimate time.Duration // likewise the predicted wait
	memory   uint64        // schedule.memory + 1 when toRead was found
	toRead   int           // prompt tokens to evaluate
	unshared bool          // a copy of another slot's memory failed: it reads for itself

	order   uint64
	started time.Time // when a slot began its prefill
	sampler Sampler
	reply   reply
	next    Token // sampled, not yet evaluated; valid while decoding
	sampled int   // tokens of the reply, end-of-generation left out
}

// slot is a serving place. It holds at most one job, and keeps its sequence's
// KV memory when the job is done.
type slot struct {
	seq      int
	job      *job
	decoding bool
	kept     []Token // what the sequence's KV memory holds, from position 0
	lastUsed uint64  // order of the job that used it last
}

// left is how many prompt tokens are still to be evaluated.
func (s *slot) left() int {
	if s.job == nil || s.decoding {
		return 0
	}
	return len(s.job.prompt) - len(s.kept)
}
