package llm

import (
	"cmp"
	"slices"
	"time"

	"pichat/llm/policy"
)

// How often figures that change slowly are taken.
const (
	tellEvery    = time.Second            // predicted waits
	paceEvery    = time.Second            // the pace of running streams
	publishEvery = 250 * time.Millisecond // what the schedule is made from
)

// schedule is what decides who runs. It belongs to Run's goroutine.
type schedule struct {
	began   time.Time // the policy's time counts from here
	curve   *policy.Curve
	policy  *policy.Adaptive
	replies policy.Replies // lengths of replies
	prompts policy.Replies // and of prompts, as far as they were evaluated
	memory  uint64         // counts changes of what slots keep beyond their own growth
	last    policy.Reason

	view       policy.View
	predicted  []time.Duration
	told       time.Time // when those in the queue were last told
	toldMemory uint64    // memory at that time: a job has begun or ended since
	run        paceRun
	published  time.Time
}

// newSchedule restores what an earlier run has learned, as far as it is valid.
func newSchedule(c EngineConfig, slots int) (*schedule, error) {
	curve := policy.NewCurve(slots)
	restored := curve.Restore(c.Learned)
	p, err := policy.NewAdaptive(policy.Config{Slots: slots, Pace: c.Pace, Floor: c.Floor, StallBudget: c.StallBudget}, curve)
	if err != nil { // the configuration was checked: a slip of this package
		panic(err)
	}
	return &schedule{began: time.Now(), curve: curve, policy: p}, restored
}

// look brings the policy's view up to date.
func (e *Engine) look(now time.Time) policy.View {
	v := &e.plan.view
	v.Now = now.Sub(e.plan.began)
	v.Running, v.Waiting = v.Running[:0], v.Waiting[:0]
	for _, s := range e.inOrder() {
		j := s.job
		v.Running = append(v.Running, policy.Running{
			Client: j.request.Client, PromptLeft: s.left(), Exclusive: j.request.Exclusive,
			ReplyLeft: e.plan.left(j),
		})
	}
	for _, j := range e.queue {
		v.Waiting = append(v.Waiting, policy.Waiting{
			Client: j.request.Client, Arrival: j.arrival.Sub(e.plan.began), Prompt: e.toRead(j),
			Reply: e.plan.replies.Expected(j.maxTokens), Exclusive: j.request.Exclusive,
		})
	}
	return *v
}

// inOrder are the slots that serve, by admission.
func (e *Engine) inOrder() []*slot {
	busy := e.scratch.busy[:0]
	for i := range e.slots {
		if s := &e.slots[i]; s.job != nil {
			busy = append(busy, s)
		}
	}
	slices.SortFunc(busy, func(a, b *slot) int { return cmp.Compare(a.job.order, b.job.order) })
	e.scratch.busy = busy
	return busy
}

// left is how many more tokens a running reply is expected to have: at its
// beginning all of a usual one, later what one has that is met in its midst.
func (p *schedule) left(j *job) int {
	most := j.maxTokens - j.sampled
	return max(p.replies.Expected(j.maxTokens)-j.sampled, p.replies.Left(most))
}

// toRead is how many prompt tokens a waiting job will have to evaluate, as far
// as can be told now.
func (e *Engine) toRead(j *job) int {
	if j.memory == e.plan.memory+1 {
		return j.toRead
	}
	j.memory, j.toRead = e.plan.memory+1, len(j.prompt)
	if j.request.Exclusive {
		return j.toRead
	}
	for i := range e.slots {
		s := &e.slots[i]
		if s.job != nil && !e.info.CanShare() {
			continue
		}
		j.toRead = min(j.toRead, len(j.prompt)-min(commonPrefix(s.kept, j.prompt), len(j.prompt)-1))
	}
	return j.toRead
}

// tellQueue tells those who wait their place and how long it will take, and the
// gate how long a newcomer would wait.
func (e *Engine) tellQueue(now time.Time) {
	news := e.plan.memory != e.plan.toldMemory || len(e.queue) > 0 && e.queue[len(e.queue)-1].place == 0
	if !news && now.Sub(e.plan.told) < tellEvery {
		return
	}
	e.plan.told, e.plan.toldMemory = now, e.plan.memory
	v := e.look(now)
	e.plan.predicted = e.plan.policy.Waits(e.plan.predicted, v)
	for i, j := range e.queue {
		estimate := max(e.plan.predicted[i], 0) // unknown is 0 here
		place := placeOf(e.plan.predicted, i)
		if place == j.place && estimate.Round(time.Second) == j.estimate.Round(time.Second) {
			continue
		}
		j.place, j.estimate = place, estimate
		j.stream.Send(Queued{Place: place, Estimate: estimate})
	}
	e.predictNewcomer(v)
}

// placeOf is the place of one in the queue, by the predicted start.
func placeOf(waits []time.Duration, i int) int {
	place := 1
	for k, w := range waits {
		if w < waits[i] || w == waits[i] && k < i {
			place++
		}
	}
	return place
}

// predictNewcomer tells the gate when the queue moves on, and how long a usual
// request that comes now would wait.
func (e *Engine) predictNewcomer(v policy.View) {
	var w waits
	for _, d := range e.plan.predicted {
		if d > 0 && (w.next == 0 || d < w.next) {
			w.next = d
		}
	}
	typical := policy.Waiting{
		Arrival: v.Now, Prompt: e.plan.prompts.Expected(e.info.Window), Reply: e.plan.replies.Expected(e.config.MaxTokens),
	}
	if d, _, _ := e.plan.policy.Accept(v, typical); d > 0 {
		w.newcomer = d
	}
	e.gate.predict(w)
}

// learn takes T(B) from steps that only decode and the prefill speed from
// those that only read prompts.
func (e *Engine) learn(parts []part, took time.Duration, now time.Time) {
	switch {
	case parts[0].prefill: // running streams come first in a plan
		e.plan.curve.ObservePrefill(e.batch.Len(), took)
	case !e.batch.Prefill:
		e.plan.decoded(len(parts), took, now)
		return
	}
	e.plan.run = paceRun{}
}

// paceRun is a run of steps without prompt tokens, of as many streams each.
type paceRun struct {
	streams, steps int
	spent          time.Duration
	end            time.Time // of the last one
}

// decoded tells the curve the time of a step, and the policy the pace of a second
// or so, both with what goes on between two steps, such as sampling.
func (p *schedule) decoded(streams int, took time.Duration, now time.Time) {
	r := &p.run
	if r.streams != streams {
		*r = paceRun{streams: streams, end: now.Add(-took)}
	}
	whole := now.Sub(r.end)
	p.curve.ObserveDecode(streams, whole)
	r.steps++
	r.spent += whole
	r.end = now
	if r.spent >= paceEvery {
		p.policy.ObservePace(streams, float64(r.steps)/r.spent.Seconds(), r.spent)
		r.steps, r.spent = 0, 0
	}
}

// publishSchedule makes visible what the schedule is made from, now and then.
func (e *Engine) publishSchedule(now time.Time) {
	if now.Sub(e.plan.published) < publishEvery && e.scheduled.Load() != nil {
		return
	}
	e.plan.published = now
	st := &ScheduleStatus{Learned: e.plan.curve.Snapshot(), Decision: e.plan.last.String(), CachedTokens: e.cached}
	for n := 1; n <= len(e.slots); n++ {
		if t, ok := e.plan.curve.Step(n); ok {
			st.StepTimes = append(st.StepTimes, StepTime{Streams: n, Time: t, Measured: e.plan.curve.Observed(n)})
		}
	}
	for i := range e.slots {
		s := &e.slots[i]
		slot := SlotStatus{Kept: len(s.kept)}
		if j := s.job; j != nil {
			slot.Request, slot.PromptTokens, slot.CachedTokens, slot.Tokens = j.request.ID, len(j.prompt), j.reply.timings.CachedTokens, j.sampled
			slot.Prefilling = !s.decoding
		}
		st.Slots = append(st.Slots, slot)
	}
	e.scheduled.Store(st)
}

// Schedule returns what the engine has learned and decided, at most a quarter
// of a second old while it works. It may be called from any goroutine.
func (e *Engine) Schedule() ScheduleStatus { return *e.scheduled.Load() }
