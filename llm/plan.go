package llm

import (
	"cmp"
	"slices"
)

// slotView is what planning needs to know of a slot.
type slotView struct {
	// decoding is set once the prompt is read and a token waits to be evaluated.
	decoding bool
	// left is how many prompt tokens are still to be evaluated; 0 with
	// decoding unset means that the slot is idle.
	left int
	// follows is set while an earlier prompt is read that begins as this one
	// does, so that reading it here as well would be wasted.
	follows bool
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
// one token each. What the limits leave goes to prompts: a quarter of it to the
// one that came first, so that it moves on whatever comes after it, and the
// rest to those with the least left to read, so that a short question is not
// stuck behind a long document. An empty plan means that nothing is to be done.
// It is a pure function of its arguments; parts is reused for the result.
func planStep(parts []part, slots []slotView, limits chunkLimits) []part {
	parts = parts[:0]
	for i, s := range slots {
		if s.decoding {
			parts = append(parts, part{slot: i, tokens: 1})
		}
	}
	streams := len(parts)
	for i, s := range slots {
		if !s.decoding && s.left > 0 && !s.follows {
			parts = append(parts, part{slot: i, prefill: true})
		}
	}
	budget := limits.alone
	if streams > 0 {
		budget = limits.shared
	}
	prompts := parts[streams:]
	if streams == 0 && len(prompts) == 1 {
		if left := slots[prompts[0].slot].left; left <= budget*5/4 {
			budget = left // a small last chunk costs more than it takes
		}
	}
	share(prompts, slots, min(budget, limits.batch-streams))
	return slices.DeleteFunc(parts, func(p part) bool { return p.tokens == 0 })
}

// share gives out the prompt tokens of a step, and puts the prompts into the
// order in which they came.
func share(prompts []part, slots []slotView, budget int) {
	if len(prompts) == 0 {
		return
	}
	slices.SortFunc(prompts, func(a, b part) int { return cmp.Compare(slots[a.slot].order, slots[b.slot].order) })
	left := func(p part) int { return slots[p.slot].left - p.tokens }
	give := func(p *part, tokens int) {
		tokens = min(tokens, left(*p), budget)
		p.tokens += tokens
		budget -= tokens
	}
	give(&prompts[0], max(budget/4, minChunk))
	for budget > 0 {
		least := -1
		for i, p := range prompts {
			if left(p) > 0 && (least < 0 || left(p) < left(prompts[least])) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		give(&prompts[least], budget)
	}
}
