package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pichat/llm/policy"
)

const (
	// stallBudget and alone are the engine's defaults: how long prompts may
	// hold up running streams in a step, and how long a step of prompts alone
	// may last.
	stallBudget = 2 * time.Second / 11
	alone       = time.Second
	minChunk    = 8
	// usualNoise is the spread of step times around the curve; a few take
	// three times as long.
	usualNoise, hiccups, hiccup = 0.05, 0.005, 3.0
	replyCap                    = replyMost
)

// slot is a request that runs.
type slot struct {
	outcome
	left int // prompt tokens to be evaluated
	part int // prompt tokens of the present step
}

// engine is the simulated machine.
type engine struct {
	curve    Curve
	policy   policy.Policy
	adaptive *policy.Adaptive // nil for the others
	learned  *policy.Curve    // likewise
	replies  policy.Replies
	random   *rand.Rand
	noise    float64 // 0 takes the curve as it is

	now     time.Duration
	steps   int           // without prompts, since the policy was told the pace
	most    int           // streams in these
	paced   time.Duration // their time
	slots   []slot
	waiting []outcome
	view    policy.View // its Waiting goes with waiting
	changed bool        // since the policy was asked
	busy    time.Duration
	streams time.Duration // sum over decode steps of streams x time
}

// step lets everything that runs go on by one step; false if nothing runs.
func (e *engine) step(end func(outcome)) bool {
	decoding, prompts := e.plan()
	if decoding == 0 && prompts == 0 {
		return false
	}
	took := 0.0
	switch {
	case decoding == 0:
		took = float64(prompts) / e.curve.PrefillTokensPerSecond
	default:
		took = e.curve.StepSeconds[decoding-1] + float64(prompts)/e.curve.SharedPrefillTokensPerSecond
	}
	if e.noise > 0 {
		took *= math.Exp(e.noise * e.random.NormFloat64())
		if e.random.Float64() < hiccups {
			took *= hiccup
		}
	}
	d := seconds(took)
	e.now += d
	e.busy += d
	e.streams += time.Duration(decoding) * d
	e.learn(decoding, prompts, d)
	kept := e.slots[:0]
	for i := range e.slots {
		s := &e.slots[i]
		switch {
		case s.left > 0:
			if s.left -= s.part; s.left == 0 {
				s.token(e.now) // the end of the prompt gives the first token
			}
		default:
			s.token(e.now)
		}
		if len(s.tokens) == s.reply {
			e.replies.Observe(s.reply)
			for i := range e.view.Waiting {
				e.view.Waiting[i].Reply = e.replies.Expected(replyCap)
			}
			s.finished, e.changed = true, true
			end(s.outcome)
			continue
		}
		kept = append(kept, *s)
	}
	clear(e.slots[len(kept):])
	e.slots = kept
	return true
}

// plan gives out the prompt tokens of a step as the engine does: a quarter to
// the prompt that came first, the rest to those with the least left.
func (e *engine) plan() (decoding, prompts int) {
	for i := range e.slots {
		e.slots[i].part = 0
		if e.slots[i].left == 0 {
			decoding++
		}
	}
	budget := int(e.curve.PrefillTokensPerSecond * alone.Seconds())
	if decoding > 0 {
		budget = int(e.curve.SharedPrefillTokensPerSecond * stallBudget.Seconds())
	}
	budget = min(max(budget, minChunk), 512)
	give := func(s *slot, tokens int) {
		tokens = min(tokens, s.left-s.part, budget)
		s.part += tokens
		budget -= tokens
		prompts += tokens
	}
	for i := range e.slots {
		if e.slots[i].left > 0 {
			give(&e.slots[i], max(budget/4, minChunk))
			break
		}
	}
	for budget > 0 {
		var least *slot
		for i := range e.slots {
			s := &e.slots[i]
			if s.left > s.part && (least == nil || s.left-s.part < least.left-least.part) {
				least = s
			}
		}
		if least == nil {
			break
		}
		give(least, budget)
	}
	return decoding, prompts
}

// learn tells the policy what was measured.
func (e *engine) learn(decoding, prompts int, d time.Duration) {
	if e.adaptive == nil {
		return
	}
	switch {
	case prompts == 0:
		e.learned.ObserveDecode(decoding, d)
	case decoding == 0:
		e.learned.ObservePrefill(prompts, d)
	}
	if prompts == 0 {
		e.steps++
		e.paced += d
		e.most = max(e.most, decoding)
		if e.paced >= time.Second {
			e.adaptive.ObservePace(e.most, float64(e.steps)/e.paced.Seconds(), e.paced)
			e.steps, e.paced, e.most = 0, 0, 0
		}
	}
}

// see looks at who runs; who waits is kept in the view all along.
func (e *engine) see() policy.View {
	e.view.Now = e.now
	e.view.Running = e.view.Running[:0]
	for i := range e.slots {
		s := &e.slots[i]
		e.view.Running = append(e.view.Running, policy.Running{
			Client: s.client, PromptLeft: s.left, ReplyLeft: e.replies.Left(replyCap - len(s.tokens))})
	}
	return e.view
}

func (e *engine) asWaiting(o *outcome) policy.Waiting {
	return policy.Waiting{Client: o.client, Arrival: o.arrival, Prompt: o.prompt, Reply: e.replies.Expected(replyCap)}
}

// admit starts whom the policy wants.
func (e *engine) admit() {
	if e.adaptive == nil && !e.changed {
		return // the answer would be the same
	}
	e.changed = false
	for len(e.waiting) > 0 {
		d := e.policy.Next(e.see())
		if d.Admit < 0 {
			return
		}
		o := e.waiting[d.Admit]
		e.waiting = slices.Delete(e.waiting, d.Admit, d.Admit+1)
		e.view.Waiting = slices.Delete(e.view.Waiting, d.Admit, d.Admit+1)
		o.started, o.running = e.now, true
		e.slots = append(e.slots, slot{outcome: o, left: o.prompt})
	}
}

// arrive takes a request in, or refuses it.
func (e *engine) arrive(r request, end func(outcome)) {
	o := outcome{request: r, predicted: policy.Unknown}
	if e.adaptive != nil {
		wait, _, ok := e.adaptive.Accept(e.see(), e.asWaiting(&o))
		o.predicted = wait
		if !ok {
			o.refused = true
			end(o)
			return
		}
	}
	e.waiting = append(e.waiting, o)
	e.view.Waiting = append(e.view.Waiting, e.asWaiting(&o))
	e.changed = true
}
