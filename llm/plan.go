package llm

import "slices"

// slotView is what planning needs to know of a slot.
type slotView struct {
	// decoding is set once the prompt is read and a token waits to be evaluated.
	decoding bool
	// left is how many prompt tokens are still to be evaluated; 0 with
	// decoding unset means that the slot is idle.
	left int
	// order is the admission number: a smaller one came first.
	order uint64
}

// chunkLimits bounds the prompt tokens of one step.
type chunkLimits struct {
	batch  int // most tokens a step takes in all
	shared int // most prompt tokens beside a running stream
	alone  int // most prompt tokens when no stream runs
}

// part is a slot's share of one step.
type part struct {
	slot    int
	tokens  int // 1 for a decoding slot, else the size of the prompt chunk
	prefill bool
}

// planStep decides what the next step evaluates. Running streams come first,
// one token each; what the limits leave goes to prompts, first come first
// served. An empty plan means that nothing is to be done. It is a pure
// function of its arguments; parts is reused for the result.
func planStep(parts []part, slots []slotView, limits chunkLimits) []part {
	parts = parts[:0]
	for i, s := range slots {
		if s.decoding {
			parts = append(parts, part{slot: i, tokens: 1})
		}
	}
	budget := limits.alone
	if len(parts) > 0 {
		budget = limits.shared
	}
	budget = min(budget, limits.batch-len(parts))
	streams := len(parts)
	for i, s := range slots {
		if !s.decoding && s.left > 0 {
			parts = append(parts, part{slot: i, tokens: s.left, prefill: true})
		}
	}
	prompts := parts[streams:]
	slices.SortFunc(prompts, func(a, b part) int {
		if slots[a.slot].order < slots[b.slot].order {
			return -1
		}
		return 1
	})
	if streams == 0 && len(prompts) == 1 && prompts[0].tokens <= budget*5/4 {
		budget = min(prompts[0].tokens, limits.batch) // a small last chunk costs more than it takes
	}
	for i := range prompts {
		prompts[i].tokens = min(prompts[i].tokens, budget)
		budget -= prompts[i].tokens
		if prompts[i].tokens == 0 {
			return parts[:streams+i]
		}
	}
	return parts
}

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
