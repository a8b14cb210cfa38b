package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// lookAhead is how many admissions are played through; the waits of those
// after them follow from their place and the mean time between admissions.
const lookAhead = 100

// forecast plays what the policy would do from a view on. Its memory is used
// anew each time.
type forecast struct {
	entries []entry  // by client, then key
	clients []client // of entries
	streams []stream
	rest    []entry
	now     float64 // seconds from the view's time
	asked   []Waiting
	waits   []time.Duration
}

// entry is a waiting request.
type entry struct {
	name    string
	key     time.Duration
	waiting int // index in View.Waiting
	ahead   int // of the same client, running or before it
}

// client is a run of entries: those from next to end still wait.
type client struct{ next, end, running int }

// stream is one that runs.
type stream struct {
	client        int // -1 when nobody of the same client waits
	prompt, reply float64
	exclusive     bool
}

// Waits predicts for each waiting request how long it will wait from v.Now for
// its start, in the order of the view. The result is in dst, which is grown as
// needed. A wait is Unknown as long as no step or, with prompts to be read, no
// prefill has been measured.
func (a *Adaptive) Waits(dst []time.Duration, v View) []time.Duration {
	dst = dst[:0]
	for range v.Waiting {
		dst = append(dst, Unknown)
	}
	if _, known := a.curve.seconds(1); !known || len(dst) == 0 {
		return dst
	}
	f := &a.forecast
	f.load(a, v)
	admitted := 0
	for admitted < len(dst) {
		if c := f.next(a, v, len(dst)-admitted); c >= 0 {
			e := f.entries[f.clients[c].next]
			dst[e.waiting] = seconds(f.now)
			f.start(a, c, &v.Waiting[e.waiting])
			if admitted++; admitted == lookAhead {
				break
			}
			continue
		}
		if !f.advance(a) {
			return dst
		}
	}
	if admitted < len(dst) {
		f.extrapolate(dst, admitted)
	}
	return dst
}

// load takes over a view.
func (f *forecast) load(a *Adaptive, v View) {
	f.now = 0
	f.entries = f.entries[:0]
	for i := range v.Waiting {
		w := &v.Waiting[i]
		f.entries = append(f.entries, entry{name: w.Client, key: a.key(w), waiting: i})
	}
	slices.SortFunc(f.entries, func(x, y entry) int {
		return cmp.Or(strings.Compare(x.name, y.name), cmp.Compare(x.key, y.key), cmp.Compare(x.waiting, y.waiting))
	})
	f.clients = f.clients[:0]
	for i, e := range f.entries {
		if i == 0 || e.name != f.entries[i-1].name {
			f.clients = append(f.clients, client{next: i})
		}
		f.clients[len(f.clients)-1].end = i + 1
	}
	f.streams = f.streams[:0]
	for i := range v.Running {
		r := &v.Running[i]
		s := stream{client: -1, prompt: float64(r.PromptLeft), reply: a.reply(r.ReplyLeft), exclusive: r.Exclusive}
		// What is left is known on average only. If all ended at once, the next
		// free slot would seem far off: spread them evenly, the oldest first.
		s.reply *= (2*float64(i) + 1) / float64(len(v.Running))
		for c := range f.clients {
			if f.entries[f.clients[c].next].name == r.Client {
				s.client = c
				f.clients[c].running++
			}
		}
		f.streams = append(f.streams, s)
	}
}

func (a *Adaptive) reply(expected int) float64 {
	if expected <= 0 {
		expected = a.config.Reply
	}
	return float64(max(expected, 1))
}

// next is the client whose first request would be admitted now, or -1. It
// follows Adaptive.Next.
func (f *forecast) next(a *Adaptive, v View, waiting int) int {
	var prompts reading
	for i := range f.streams {
		if f.streams[i].exclusive {
			return -1
		}
		prompts.add(f.streams[i].prompt)
	}
	_, ok := a.room(len(f.streams), waiting, false, false)
	if !ok && a.config.Floor == 0 {
		return -1
	}
	best, bestRank, bestIndex := -1, rank{}, 0
	for i := range f.clients {
		c := &f.clients[i]
		if c.next == c.end {
			continue
		}
		e := &f.entries[c.next]
		r := rank{c.running, e.key}
		if best < 0 || r.before(bestRank) || r == bestRank && e.waiting < bestIndex {
			best, bestRank, bestIndex = i, r, e.waiting
		}
	}
	w := &v.Waiting[bestIndex]
	waited := v.Now + seconds(f.now) - w.Arrival
	if !ok && a.late(waited, f.soonest(a), len(f.streams)) {
		_, ok = a.room(len(f.streams), waiting, false, true)
	}
	if !ok || w.Exclusive && len(f.streams) > 0 || a.promptFirst(float64(w.Prompt), waited, prompts) {
		return -1
	}
	return best
}

func (f *forecast) soonest(a *Adaptive) float64 {
	left := a.reply(0)
	for i := range f.streams {
		left = min(left, f.streams[i].reply)
	}
	return left
}

// start admits the first request of a client.
func (f *forecast) start(a *Adaptive, c int, w *Waiting) {
	f.clients[c].next++
	f.clients[c].running++
	f.streams = append(f.streams, stream{client: c, prompt: float64(w.Prompt), reply: a.reply(w.Reply), exclusive: w.Exclusive})
}

// advance goes on to when a prompt has been read or a reply ends. It reports
// false when that cannot be told.
func (f *forecast) advance(a *Adaptive) bool {
	prompt, decoding, shortest := -1, 0, 0.0
	for i := range f.streams {
		s := &f.streams[i]
		switch {
		case s.prompt > 0:
			if prompt < 0 || s.prompt < f.streams[prompt].prompt {
				prompt = i // the one with the least left is read first
			}
		default:
			if decoding++; decoding == 1 || s.reply < shortest {
				shortest = s.reply
			}
		}
	}
	if len(f.streams) == 0 {
		return false
	}
	step, _ := a.curve.seconds(max(decoding, 1))
	decode, prefill := 1/step, 0.0
	if prompt >= 0 {
		rate, known := a.curve.PrefillRate()
		if !known {
			return false
		}
		prefill = rate
		if decoding > 0 { // a chunk of the stall budget in each step
			stall := a.config.StallBudget.Seconds()
			decode, prefill = 1/(step+stall), rate*stall/(step+stall)
		}
	}
	dt := 0.0
	if decoding > 0 {
		dt = shortest / decode
	}
	if prompt >= 0 {
		if t := f.streams[prompt].prompt / prefill; decoding == 0 || t < dt {
			dt = t
		}
	}
	f.pass(dt, dt*decode, prompt, dt*prefill)
	return true
}

// pass lets time go by: every decoding stream gains tokens, one prompt is read
// on, and what has ended leaves.
func (f *forecast) pass(dt, tokens float64, prompt int, read float64) {
	const nearly = 1e-6
	f.now += dt
	kept := f.streams[:0]
	for i, s := range f.streams {
		switch {
		case i == prompt:
			if s.prompt -= read; s.prompt < nearly {
				s.prompt = 0
			}
		case s.prompt <= 0:
			s.reply -= tokens
		}
		if s.reply < nearly {
			if s.client >= 0 {
				f.clients[s.client].running--
			}
			continue
		}
		kept = append(kept, s)
	}
	f.streams = kept
}

// extrapolate gives those that were not played through their waits, from their
// place and the mean time between admissions so far.
func (f *forecast) extrapolate(dst []time.Duration, admitted int) {
	f.rest = f.rest[:0]
	for i := range f.clients {
		c := &f.clients[i]
		for j := c.next; j < c.end; j++ {
			e := f.entries[j]
			e.ahead = c.running + j - c.next
			f.rest = append(f.rest, e)
		}
	}
	slices.SortFunc(f.rest, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.ahead, y.ahead), cmp.Compare(x.key, y.key), cmp.Compare(x.waiting, y.waiting))
	})
	every := f.now / float64(admitted)
	for i, e := range f.rest {
		dst[e.waiting] = seconds(f.now + every*float64(i+1))
	}
}
