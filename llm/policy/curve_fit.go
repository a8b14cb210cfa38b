package policy

import "math"

// block is a run of sizes that share one time, because their own contradict
// each other.
type block struct {
	seconds, weight float64
	first, last     int // streams, the smallest and largest that were seen
}

// refit makes the monotone curve from what the sizes say: neighbours of which
// the smaller seems slower are averaged by weight (isotonic regression).
func (c *Curve) refit() {
	blocks := c.blocks[:0]
	for i := range c.sizes {
		s := &c.sizes[i]
		if s.seen == 0 {
			continue
		}
		b := block{math.Exp(c.common + s.own), float64(min(s.seen, fullWeight)), i + 1, i + 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].seconds >= b.seconds {
			a := blocks[len(blocks)-1]
			weight := a.weight + b.weight
			b = block{(a.seconds*a.weight + b.seconds*b.weight) / weight, weight, a.first, b.last}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	c.blocks = blocks
	c.fit = c.fit[:0]
	if len(blocks) == 0 {
		return
	}
	for streams, at := 1, 0; streams <= len(c.sizes); streams++ {
		for at < len(blocks)-1 && streams > blocks[at].last {
			at++
		}
		c.fit = append(c.fit, between(blocks, at, streams))
	}
}

// between is the time for a number of streams that is in block at or before it,
// or beyond the last.
func between(blocks []block, at, streams int) float64 {
	b := blocks[at]
	switch {
	case streams > b.last:
		return b.seconds + slope(blocks)*float64(streams-b.last)
	case streams >= b.first || at == 0:
		return b.seconds
	}
	a := blocks[at-1]
	part := float64(streams-a.last) / float64(b.first-a.last)
	return a.seconds + part*(b.seconds-a.seconds)
}

// slope is what each stream beyond the largest size seen is presumed to cost,
// in seconds.
func slope(blocks []block) float64 {
	last := blocks[len(blocks)-1]
	if len(blocks) == 1 {
		return last.seconds / 2 / float64(last.last)
	}
	first, before := blocks[0], blocks[len(blocks)-2]
	whole := (last.seconds - first.seconds) / float64(last.last-first.first)
	piece := (last.seconds - before.seconds) / float64(last.first-before.last)
	return max(whole, piece)
}
