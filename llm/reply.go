package llm

import "time"

// reply turns sampled tokens into the events and timings of one request.
type reply struct {
	stream  *Stream
	arrival time.Time
	hold    holdback
	split   thoughtSplitter
	pending int // tokens sampled whose text has not left yet
	timings Timings
}

// add takes the bytes of a sampled token and sends the text that is free to
// go. It reports whether a stop string ended the reply.
func (r *reply) add(piece []byte, now time.Time) (stopped bool) {
	r.pending++
	text, stopped := r.hold.push(piece)
	thought, answer := r.split.push(text)
	r.send(thought, answer, now)
	return stopped
}

// end sends what was held back, and the Done event.
func (r *reply) end(finish Finish, err error, now time.Time) {
	if finish != FinishStopText { // else the text from the stop string on is gone
		thought, answer := r.split.push(r.hold.flush())
		r.send(thought, answer, now)
	}
	thought, answer := r.split.flush()
	r.send(thought, answer, now)
	r.count(r.pending, r.split.thinking(), now)
	r.timings.E2E = now.Sub(r.arrival)
	if n := len(r.timings.Arrivals); n > 0 {
		r.timings.E2E = r.timings.Arrivals[n-1]
	}
	r.stream.Send(Done{Finish: finish, Err: err, Timings: r.timings})
}

// send delivers text. Tokens that are all tag go with the reasoning.
func (r *reply) send(thought, answer string, now time.Time) {
	if thought != "" {
		tokens := 0
		if answer == "" {
			tokens = r.pending
		}
		r.deliver(thought, true, tokens, now)
	}
	switch {
	case answer != "":
		r.deliver(answer, false, r.pending, now)
	case thought == "" && r.split.thinking():
		r.count(r.pending, true, now)
	}
}

func (r *reply) deliver(text string, thought bool, tokens int, now time.Time) {
	r.count(tokens, thought, now)
	r.stream.Send(Delta{Text: text, Thought: thought, Tokens: tokens, At: now.Sub(r.arrival)})
}

// count notes the arrival of tokens.
func (r *reply) count(tokens int, thought bool, now time.Time) {
	at := now.Sub(r.arrival)
	for range tokens {
		r.timings.Arrivals = append(r.timings.Arrivals, at)
	}
	if thought {
		r.timings.ThoughtTokens += tokens
	}
	r.pending -= tokens
}
