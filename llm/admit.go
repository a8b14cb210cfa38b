package llm

import (
	"slices"
	"time"
)

// dropCancelled ends the replies whose caller is gone, and those that nobody
// reads, in the queue and in the slots.
func (e *Engine) dropCancelled(now time.Time) {
	waiting := e.queue[:0]
	for _, j := range e.queue {
		if j.cancelled.Load() {
			e.end(j, FinishCancelled, nil, now)
			continue
		}
		waiting = append(waiting, j)
	}
	clear(e.queue[len(waiting):])
	e.queue = waiting
	for i := range e.slots {
		s := &e.slots[i]
		switch {
		case s.job == nil:
		case s.job.cancelled.Load():
			e.release(s, FinishCancelled, nil, now)
		case s.job.stream.unreadFor(now) > e.config.SlowReader:
			e.release(s, FinishError, ErrSlowReader, now)
		}
	}
}

// admit gives slots to those whom the policy lets run, and tells the others
// their place. It reports whether a slot was taken.
func (e *Engine) admit(now time.Time) (taken bool) {
	for len(e.queue) > 0 {
		d := e.plan.policy.Next(e.look(now))
		e.plan.last = d.Reason
		if d.Admit < 0 {
			break
		}
		j := e.queue[d.Admit]
		e.queue = slices.Delete(e.queue, d.Admit, d.Admit+1)
		e.start(&e.slots[chooseSlot(e.idleSlots(), j.prompt)], j)
		taken = true
	}
	e.tellQueue(now)
	return taken
}

func (e *Engine) idleSlots() []idleSlot {
	e.scratch.idle = e.scratch.idle[:0]
	for i := range e.slots {
		if s := &e.slots[i]; s.job == nil {
			e.scratch.idle = append(e.scratch.idle, idleSlot{slot: i, kept: s.kept, lastUsed: s.lastUsed})
		}
	}
	return e.scratch.idle
}

// start begins a job on an idle slot, keeping what its memory has in common
// with the prompt.
func (e *Engine) start(s *slot, j *job) {
	now := time.Now()
	sampler, err := e.config.Backend.NewSampler(j.request.Sampling, j.prompt[max(0, len(j.prompt)-64):])
	if err != nil {
		e.end(j, FinishError, err, now)
		return
	}
	e.orders++
	j.order, j.started, j.sampler = e.orders, now, sampler
	j.reply.timings.Queue = now.Sub(j.arrival)
	if err := e.keepPrefix(s, j); err != nil {
		s.job = j
		e.release(s, FinishError, err, now)
		return
	}
	s.job, s.decoding, s.lastUsed = j, false, j.order
	e.plan.memory++
	j.reply.timings.CachedTokens = len(s.kept)
	e.sendProgress(s)
}

// keepPrefix leaves in a slot's memory what serves the job.
func (e *Engine) keepPrefix(s *slot, j *job) error {
	if j.request.Exclusive {
		return e.emptySlots()
	}
	first, _ := e.config.Backend.SequenceSpan(s.seq)
	keep := reusable(commonPrefix(s.kept, j.prompt), len(s.kept), len(j.prompt), e.info, first)
	return e.trim(s, keep)
}

// trim cuts a slot's memory to its first n positions; where the model cannot,
// to nothing.
func (e *Engine) trim(s *slot, n int) error {
	if n == len(s.kept) && n > 0 {
		return nil
	}
	err := e.config.Backend.TrimSequence(s.seq, n)
	if err != nil && n > 0 {
		n = 0
		err = e.config.Backend.TrimSequence(s.seq, 0)
	}
	s.kept = s.kept[:min(n, len(s.kept))]
	return err
}

// sendProgress tells how far the prompt is read.
func (e *Engine) sendProgress(s *slot) {
	j := s.job
	j.stream.Send(Prefilling{
		PromptTokens: len(j.prompt),
		CachedTokens: j.reply.timings.CachedTokens,
		Done:         len(s.kept),
		Estimate:     estimate(e.plan.curve, len(j.prompt)-len(s.kept)),
		LeftOut:      j.leftOut,
	})
}

// release ends a slot's job; what its memory holds stays for the next one.
func (e *Engine) release(s *slot, finish Finish, err error, now time.Time) {
	j := s.job
	s.job, s.decoding = nil, false
	if finish != FinishError && finish != FinishCancelled {
		e.plan.replies.Observe(j.sampled)
		e.plan.prompts.Observe(len(j.prompt) - j.reply.timings.CachedTokens)
	}
	e.cached += uint64(j.reply.timings.CachedTokens)
	e.plan.memory++
	e.end(j, finish, err, now)
	e.boundIdle()
}

// end closes a job wherever it was.
func (e *Engine) end(j *job, finish Finish, err error, now time.Time) {
	if j.sampler != nil {
		j.sampler.Close()
		j.sampler = nil
	}
	j.unwatch()
	j.reply.end(finish, err, now)
	e.gate.leave(j.request.Client)
	e.record(j, finish, err)
}
