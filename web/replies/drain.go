package replies

import (
	"context"
	"strings"
	"time"

	"pichat/llm"
	"pichat/web/fault"
	"pichat/web/markdown"
	"pichat/web/wire"
)

// drain moves a reply's events from the engine into the reply. It belongs to
// one goroutine.
type drain struct {
	reply   *Reply
	stream  *llm.Stream
	config  *Config
	html    markdown.Stream
	answer  strings.Builder
	pending *piece    // text that has not left yet
	due     time.Time // when it has to leave
	flushed time.Time // when the last text left; zero before the first
	carried int       // tokens that left then
}

func newDrain(r *Reply, stream *llm.Stream) *drain {
	return &drain{reply: r, stream: stream, config: &r.store.config}
}

// run returns after the stream's Done. It waits for that even when the reply
// was cancelled: the engine owes it, and the slot is free only then.
func (d *drain) run() {
	for {
		for _, e := range d.next() {
			if done, ok := e.(llm.Done); ok {
				d.finish(done)
				return
			}
			d.take(e)
		}
		if d.pending != nil && !time.Now().Before(d.due) {
			d.flush(false)
		}
	}
}

// next waits for events. While text waits to leave it sleeps until that is due
// and then takes all that has come, so that a token alone wakes nobody.
func (d *drain) next() []llm.Event {
	if d.pending != nil {
		<-time.After(time.Until(d.due))
		return d.stream.Take()
	}
	events, _ := d.stream.Next(context.Background()) // which does not end
	return events
}

func (d *drain) take(e llm.Event) {
	switch e := e.(type) {
	case llm.Queued:
		d.reply.append(entry{queued: &e})
	case llm.Prefilling:
		d.reply.append(entry{prefilling: &e})
	case llm.Delta:
		if d.pending != nil && d.pending.thought != e.Thought {
			d.flush(false)
		}
		if d.pending == nil {
			d.pending = &piece{thought: e.Thought}
			d.due = d.flushed.Add(d.interval())
		}
		d.pending.delta += e.Text
		d.pending.tokens = append(d.pending.tokens, e.Tokens)
		d.pending.at = append(d.pending.at, e.At)
		if !e.Thought {
			d.html.Write(e.Text)
			d.answer.WriteString(e.Text)
		}
	}
}

// interval is the time between two text frames. Each renders and sends the
// whole open block again, so a long one is sent less often: a code block of
// 20 kB three times a second. A model that writes several words a frame is far
// ahead of every reader: its frames may come less often too, for less CPU.
func (d *drain) interval() time.Duration {
	const (
		perKiB = 12 * time.Millisecond
		fast   = 6 // tokens a frame
	)
	every := d.config.Flush
	if d.carried >= fast {
		every += every * 2 / 3
	}
	more := time.Duration(d.html.OpenBytes()/1024) * perKiB
	return every + min(more, time.Second)
}

// flush lets the pending text leave; last is set when no more follows.
func (d *drain) flush(last bool) {
	p := d.pending
	if p == nil {
		if !last || d.html.OpenBytes() == 0 {
			return
		}
		p = &piece{tokens: []int{}} // the HTML of the end may differ from that of a pause
	}
	d.pending = nil
	d.flushed, d.carried = time.Now(), len(p.tokens)
	var blocks []string
	switch {
	case p.thought:
	case last:
		p.from, blocks = d.html.Close()
	default:
		p.from, blocks = d.html.Render()
	}
	d.reply.appendText(p, blocks)
}

func (d *drain) finish(done llm.Done) {
	d.flush(true)
	outcome := Outcome{Done: done, Answer: d.answer.String()}
	if done.Err != nil {
		f := fault.Of(done.Err)
		outcome.Error = f.Message
		if f.Hidden {
			d.config.Logger.Error("reply failed", "request_id", d.stream.ID(), "err", done.Err)
		}
	}
	d.reply.append(entry{done: &wire.Done{
		Type: wire.TypeDone, ID: d.reply.id, Finish: string(done.Finish),
		Timings: wire.TimingsOf(done.Timings, d.config.TargetTPS),
		HTML:    d.config.Verdict(outcome), Error: outcome.Error,
	}})
}

// paceWindow is the time over which a running reply's pace is taken.
const paceWindow = 3 * time.Second

// pace is the tokens/s of a running reply over the last seconds; false before
// its second token and at its end. Between two tokens it holds still, and when
// the next one is overdue it falls.
func (r *Reply) pace(now time.Time) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return 0, false
	}
	elapsed := now.Sub(r.began)
	var first, last time.Duration
	tokens := 0
	for i := len(r.entries) - 1; i >= 0 && r.entries[i].piece != nil; i-- {
		p := r.entries[i].piece
		if n := len(p.at); n > 0 && tokens > 1 && p.at[n-1] < elapsed-paceWindow {
			break
		}
		for j := len(p.at) - 1; j >= 0; j-- {
			if p.tokens[j] == 0 {
				continue
			}
			if tokens == 0 {
				last = p.at[j]
			}
			first = p.at[j]
			tokens += p.tokens[j]
		}
	}
	if tokens < 2 || last <= first {
		return 0, false
	}
	if gap := (last - first) / time.Duration(tokens-1); elapsed-last > 2*gap {
		last = elapsed
	}
	return float64(tokens-1) / (last - first).Seconds(), true
}
