package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// step plans and evaluates one batch. It reports whether there was anything
// to do.
func (e *Engine) step() bool {
	e.scratch.views = e.scratch.views[:0]
	for i := range e.slots {
		s := &e.slots[i]
		v := slotView{decoding: s.decoding}
		if s.job != nil {
			v.order = s.job.order
		}
		if s.left() > 0 {
			v.follows = e.sharePrefix(s)
			v.left = s.left()
		}
		e.scratch.views = append(e.scratch.views, v)
	}
	parts := planStep(e.scratch.parts, e.scratch.views, e.limits())
	e.scratch.parts = parts
	if len(parts) == 0 {
		return false
	}
	e.evaluate(parts)
	return true
}

// limits bounds the prompt tokens of the next step by time: beside running
// streams by the stall budget, alone by how often progress is told.
func (e *Engine) limits() chunkLimits {
	batch := e.info.BatchTokens
	if e.exclusive() {
		return chunkLimits{batch: batch, alone: min(exclusiveChunk, batch)}
	}
	return chunkLimits{
		batch:  batch,
		shared: chunk(e.plan.curve, e.config.StallBudget, batch),
		alone:  chunk(e.plan.curve, e.config.ProgressEvery, batch),
	}
}

// evaluate runs the parts as one batch and acts on the result. When it fails
// with several parts in it, each is tried by itself, so that the one at fault
// does not take the others with it.
func (e *Engine) evaluate(parts []part) {
	outputs := e.fill(parts)
	start := time.Now()
	err := e.runPaced(parts)
	e.steps++
	now := time.Now()
	if err == nil {
		e.learn(parts, now.Sub(start), now)
		for i, p := range parts {
			e.advance(&e.slots[p.slot], p, outputs[i], now)
		}
		return
	}
	kept := parts[:0:0]
	for _, p := range parts {
		if e.resync(&e.slots[p.slot], err, now) {
			kept = append(kept, p)
		}
	}
	switch {
	case errors.Is(err, ErrInterrupted): // the next round drops who is gone
	case len(parts) == 1 && len(kept) == 1:
		e.release(&e.slots[parts[0].slot], FinishError, err, now)
	default:
		for _, p := range kept {
			p.tokens = min(p.tokens, max(e.slots[p.slot].left(), 1))
			e.evaluate([]part{p})
		}
	}
}

// fill builds the batch; outputs[i] is the index to sample part i from, -1
// when its prompt is not read to the end yet.
func (e *Engine) fill(parts []part) (outputs []int) {
	e.batch.Reset()
	outputs = e.scratch.outputs[:0]
	for _, p := range parts {
		s := &e.slots[p.slot]
		if !p.prefill {
			outputs = append(outputs, e.batch.Add(s.job.next, len(s.kept), s.seq, true))
			continue
		}
		e.batch.Prefill = true
		output, from, to := -1, len(s.kept), len(s.kept)+p.tokens
		for at := from; at < to; at++ {
			last := at == len(s.job.prompt)-1
			index := e.batch.Add(s.job.prompt[at], at, s.seq, last)
			if last {
				output = index
			}
		}
		outputs = append(outputs, output)
	}
	e.scratch.outputs = outputs
	return outputs
}

// run evaluates the batch. Steps that only decode are short and are left to
// end; one that reads a prompt is interrupted when nobody waits for it.
func (e *Engine) run(parts []part) error {
	if !e.batch.Prefill {
		return e.config.Backend.Evaluate(context.Background(), &e.batch)
	}
	e.scratch.jobs = e.scratch.jobs[:0]
	for _, p := range parts {
		e.scratch.jobs = append(e.scratch.jobs, e.slots[p.slot].job)
	}
	ctx := e.interrupt.enter(e.scratch.jobs)
	defer e.interrupt.leave()
	return e.config.Backend.Evaluate(ctx, &e.batch)
}

// advance moves a slot on after its part has been evaluated.
func (e *Engine) advance(s *slot, p part, output int, now time.Time) {
	j := s.job
	if p.prefill {
		s.kept = append(s.kept, j.prompt[len(s.kept):len(s.kept)+p.tokens]...)
		e.sendProgress(s)
		if output < 0 {
			return
		}
		j.reply.timings.Prefill = now.Sub(j.started)
		s.decoding = true
	} else {
		s.kept = append(s.kept, j.next)
	}
	token, err := j.sampler.Sample(output)
	if err != nil {
		e.release(s, FinishError, fmt.Errorf("sampling: %w", err), now)
		return
	}
	e.accept(s, token, time.Now())
}

// accept takes a sampled token into the reply and ends it where it must end.
func (e *Engine) accept(s *slot, token Token, now time.Time) {
	j := s.job
	if e.config.Backend.IsEOG(token) {
		e.release(s, FinishStop, nil, now)
		return
	}
	j.next = token
	j.sampled++
	e.scratch.piece = e.config.Backend.AppendPiece(e.scratch.piece[:0], token)
	if len(e.scratch.piece) == 0 {
		e.scratch.piece = append(e.scratch.piece, e.tags[token]...)
	}
	switch stopped := j.reply.add(e.scratch.piece, now); {
	case stopped:
		e.release(s, FinishStopText, nil, now)
	case j.sampled >= j.maxTokens:
		e.release(s, FinishLength, nil, now)
	case len(s.kept) >= e.info.Window:
		e.release(s, FinishWindow, nil, now)
	}
}

// resync brings a slot's account of its memory back to what is known good
// after an evaluation that did not go through. A prompt whose memory is lost
// begins anew; a reply that was being written cannot, so its job ends with the
// cause, and resync returns false.
func (e *Engine) resync(s *slot, cause error, now time.Time) bool {
	known := len(s.kept)
	if _, last := e.config.Backend.SequenceSpan(s.seq); e.info.Recurrent || last+1 < known {
		known = 0
	}
	if err := e.config.Backend.TrimSequence(s.seq, known); err != nil {
		known = 0
		_ = e.config.Backend.TrimSequence(s.seq, 0) // always succeeds by contract
	}
	lost := known < len(s.kept)
	s.kept = s.kept[:known]
	if lost && s.decoding {
		e.release(s, FinishError, cause, now)
		return false
	}
	return true
}
