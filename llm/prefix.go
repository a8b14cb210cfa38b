package llm

// commonPrefix is the number of tokens with which both begin.
func commonPrefix(a, b []Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// idleSlot is what the choice of a slot needs to know of one that is free.
type idleSlot struct {
	slot     int
	kept     []Token // what its KV memory holds
	lastUsed uint64  // smaller was used longer ago
}

// chooseSlot picks the idle slot for a prompt: the one with the longest common
// prefix among those that would reuse at least half of what they keep, so that
// a shared greeting does not throw another chat out; else the one that was
// used longest ago, an empty one first. It returns -1 when none is idle.
func chooseSlot(idle []idleSlot, prompt []Token) int {
	best, bestPrefix := -1, 0
	oldest := -1
	for i, s := range idle {
		if p := commonPrefix(s.kept, prompt); p > bestPrefix && 2*p >= len(s.kept) {
			best, bestPrefix = i, p
		}
		if oldest < 0 || olderThan(s, idle[oldest]) {
			oldest = i
		}
	}
	switch {
	case best >= 0:
		return idle[best].slot
	case oldest >= 0:
		return idle[oldest].slot
	}
	return -1
}

func olderThan(a, b idleSlot) bool {
	if (len(a.kept) == 0) != (len(b.kept) == 0) {
		return len(a.kept) == 0
	}
	return a.lastUsed < b.lastUsed
}

// reusable is how many of a sequence's first positions serve a new prompt,
// given the common prefix. At least the prompt's last token is evaluated
// again, since its logits are needed. A sliding window drops old cells: a
// prefix can be continued only while every cell that its next token attends to
// is there (llama-kv-cache-iswa.cpp reports success either way). Recurrent
// memory cannot be cut: it serves only a prompt that goes on where it ended.
func reusable(prefix, kept, prompt int, info ModelInfo, first int) int {
	p := min(prefix, prompt-1)
	switch {
	case p <= 0:
		return 0
	case info.Recurrent && p != kept:
		return 0
	case first > 0 && (info.SlidingWindow == 0 || first >= p-info.SlidingWindow):
		return 0
	}
	return p
}

// minShare is how many prompt tokens sharing must save: a copy is cheap, but
// it replaces what the slot has.
const minShare = 16

// sharePrefix saves a slot the reading of what another slot's memory holds
// already, such as a system prompt that many chats begin with. It reports
// whether the slot should wait, because a prompt that is being read, and was
// admitted before, begins as its own does for longer than it has read.
func (e *Engine) sharePrefix(s *slot) (follows bool) {
	if !e.info.CanShare() || s.job.request.Exclusive || s.job.unshared {
		return false
	}
	source, prefix := -1, len(s.kept)+minShare-1
	for i := range e.slots {
		o := &e.slots[i]
		if o == s {
			continue
		}
		if n := min(commonPrefix(o.kept, s.job.prompt), len(s.job.prompt)-1); n > prefix {
			source, prefix = i, n
		}
	}
	if source >= 0 {
		e.copyPrefix(s, &e.slots[source], prefix)
	}
	for i := range e.slots {
		o := &e.slots[i]
		if o.left() > 0 && o.job.order < s.job.order &&
			min(commonPrefix(o.job.prompt, s.job.prompt), len(s.job.prompt)-1) >= len(s.kept)+minShare {
			return true
		}
	}
	return false
}

// copyPrefix makes s begin with the first n positions of another slot. When
// that fails s has nothing, and reads its prompt to the end: to try again would
// throw away what it has read.
func (e *Engine) copyPrefix(s, from *slot, n int) {
	evaluated := len(s.kept) - s.job.reply.timings.CachedTokens
	kept := from.kept[:n]
	err := e.trim(s, 0)
	if err == nil {
		err = e.config.Backend.CopySequence(from.seq, s.seq, n)
	}
	if err != nil {
		s.job.unshared, s.job.reply.timings.CachedTokens = true, 0
		return
	}
	s.kept = append(s.kept[:0], kept...)
	s.job.reply.timings.CachedTokens = n - evaluated
	e.sendProgress(s)
}

// boundIdle forgets what idle slots keep beyond the bound, the longest unused
// first and as a whole: every decode step looks at these cells too.
func (e *Engine) boundIdle() {
	for {
		total, oldest := 0, -1
		for i := range e.slots {
			s := &e.slots[i]
			if s.job != nil || len(s.kept) == 0 {
				continue
			}
			total += len(s.kept)
			if oldest < 0 || s.lastUsed < e.slots[oldest].lastUsed {
				oldest = i
			}
		}
		if total <= e.config.IdleTokens || total == len(e.slots[max(oldest, 0)].kept) {
			return
		}
		if e.trim(&e.slots[oldest], 0) != nil {
			return
		}
	}
}
