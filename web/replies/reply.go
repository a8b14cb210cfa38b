package replies

import (
	"context"
	"slices"
	"sync"
	"time"

	"pichat/llm"
	"pichat/web/wire"
)

// Reply is one answer of the model, running or finished. Its methods may be
// called from any goroutine.
type Reply struct {
	id     string
	owner  string
	store  *Store
	began  time.Time
	cancel context.CancelCauseFunc
	forget *time.Timer // of a finished reply; guarded by the store's mutex

	mu       sync.Mutex
	entries  []entry
	serial   int      // of the last entry
	blocks   []string // the answer's HTML as of the last text entry
	watchers map[*Watcher]struct{}
	grace    *time.Timer // runs while nobody watches
	finished bool
}

// entry is one thing to tell about a reply; exactly one field beside the
// serial is set.
type entry struct {
	serial     int
	queued     *llm.Queued
	prefilling *llm.Prefilling
	piece      *piece
	done       *wire.Done
}

// piece is text that left in one frame. Its HTML is not kept: it is a part of
// Reply.blocks from block from on, in the state that it has come to by now.
type piece struct {
	delta   string
	thought bool
	tokens  []int
	at      []time.Duration
	from    int
}

// ID is the reply's id.
func (r *Reply) ID() string { return r.id }

// Stop cancels the reply; its Done follows. It may be called repeatedly.
func (r *Reply) Stop() { r.cancel(context.Canceled) }

// Finished reports whether the reply has its Done.
func (r *Reply) Finished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finished
}

// Watch follows the reply from after a serial number on, 0 for all of it.
// wake is called whenever there may be something new, from any goroutine and
// with locks held: it must neither block nor call back. The watcher must be
// closed.
func (r *Reply) Watch(after int, wake func()) *Watcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &Watcher{reply: r, wake: wake, after: min(max(after, 0), r.serial)}
	r.watchers[w] = struct{}{}
	if r.grace != nil {
		r.grace.Stop()
		r.grace = nil
	}
	wake()
	return w
}

// append adds an entry and wakes the watchers. Progress replaces the progress
// of its kind before it, so that the entries of a long wait do not pile up.
func (r *Reply) append(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	e.serial = r.serial
	if e.done != nil {
		e.done.Serial = e.serial
		r.finished = true
		if r.grace != nil {
			r.grace.Stop()
		}
	}
	if n := len(r.entries); n > 0 && supersedes(e, r.entries[n-1]) {
		r.entries[n-1] = e
	} else {
		r.entries = append(r.entries, e)
	}
	for w := range r.watchers {
		w.wake()
	}
}

func supersedes(e, last entry) bool {
	return e.queued != nil && last.queued != nil || e.prefilling != nil && last.prefilling != nil
}

// appendText adds text and the HTML that changed with it.
func (r *Reply) appendText(p *piece, blocks []string) {
	r.mu.Lock()
	if !p.thought {
		r.blocks = append(r.blocks[:p.from:p.from], blocks...)
	}
	r.mu.Unlock()
	r.append(entry{piece: p})
}

// unwatched starts the grace period; r.mu is held.
func (r *Reply) unwatched() {
	if r.finished || len(r.watchers) > 0 {
		return
	}
	r.grace = time.AfterFunc(r.store.config.Grace, func() {
		r.mu.Lock()
		alone := len(r.watchers) == 0
		r.mu.Unlock()
		if alone {
			r.cancel(errAbandoned)
		}
	})
}

// frames returns the frames after a serial number and the last serial.
// Successive text becomes one frame.
func (r *Reply) frames(after int) (frames []any, last int, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.entries, after+1, func(e entry, serial int) int { return e.serial - serial })
	var text *wire.Text
	for _, e := range r.entries[i:] {
		if e.piece != nil && text != nil && text.Thought == e.piece.thought {
			r.extend(text, e)
			continue
		}
		text = nil
		switch {
		case e.queued != nil:
			frames = append(frames, &wire.Queued{
				Type: wire.TypeQueued, ID: r.id, Serial: e.serial,
				Place: e.queued.Place, EstimateS: wire.Seconds(e.queued.Estimate),
			})
		case e.prefilling != nil:
			p := e.prefilling
			frames = append(frames, &wire.Prefilling{
				Type: wire.TypePrefilling, ID: r.id, Serial: e.serial,
				PromptTokens: p.PromptTokens, CachedTokens: p.CachedTokens, Done: p.Done,
				EstimateS: wire.Seconds(p.Estimate), LeftOut: p.LeftOut,
			})
		case e.piece != nil:
			text = &wire.Text{Type: wire.TypeText, ID: r.id, Thought: e.piece.thought, From: e.piece.from, Blocks: []string{}}
			r.extend(text, e)
			frames = append(frames, text)
		default:
			frames = append(frames, e.done)
		}
	}
	return frames, r.serial, r.finished
}

// extend adds a text entry to a frame; r.mu is held.
func (r *Reply) extend(f *wire.Text, e entry) {
	p := e.piece
	f.Serial = e.serial
	f.Delta += p.delta
	f.Tokens = append(f.Tokens, p.tokens...)
	for _, at := range p.at {
		f.AtS = append(f.AtS, wire.Seconds(at))
	}
	if !p.thought {
		f.From = min(f.From, p.from)
		f.Blocks = slices.Clone(r.blocks[f.From:])
	}
}

// Watcher follows one reply for one socket. Its methods are for one goroutine
// at a time.
type Watcher struct {
	reply *Reply
	wake  func()
	after int
}

// Frames returns the frames that have come since the last call, in order; they
// are shared and must not be changed. After done there will be no more.
func (w *Watcher) Frames() (frames []any, done bool) {
	frames, w.after, done = w.reply.frames(w.after)
	return frames, done
}

// Close stops watching. When nobody else watches a running reply its grace
// period begins.
func (w *Watcher) Close() {
	r := w.reply
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.watchers[w]; !ok {
		return
	}
	delete(r.watchers, w)
	r.unwatched()
}
