package llm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pichat/llm/policy"
)

// EngineConfig configures an Engine. Backend and Template are needed; the
// rest has defaults.
type EngineConfig struct {
	Backend  Backend
	Template Template
	// QueueLimit is how many requests may wait for a slot; 0 means 32.
	QueueLimit int
	// ClientLimit is how many requests of one client may be served or wait; 0
	// leaves an eighth of the queue to others.
	ClientLimit int
	// MaxWait refuses requests that would wait longer for a slot; 0 means 5
	// minutes, less than 0 none.
	MaxWait time.Duration
	// Pace is the target reader's, in tokens/s: no more streams run at once
	// than keep it; 0 means 11.
	Pace float64
	// Floor is the pace that streams may be slowed to for someone whose first
	// token would come late otherwise; 0 means that they are not.
	Floor float64
	// Learned is what ScheduleStatus said in an earlier run with the same model,
	// threads and machine; the zero value when there was none.
	Learned policy.Snapshot
	// MaxTokens caps replies that ask for no cap; 0 means 1024.
	MaxTokens int
	// StallBudget is how much longer than alone a running stream may wait for
	// its next token because a prompt is read beside it; 0 means two intervals
	// of the target reader, 2/11 s.
	StallBudget time.Duration
	// IdleTokens is how many tokens the slots that serve nobody keep at most
	// together, for chats that may go on; 0 means 8192. Each costs every
	// decode step a little: 8,000 of them some 15 % with the default model.
	IdleTokens int
	// ProgressEvery is how often a prompt that is read alone tells how far it
	// is, and the longest a cancelled one goes on without interruption; 0
	// means 1 s.
	ProgressEvery time.Duration
	// SlowReader ends a reply that nobody read for this long; 0 means 30 s.
	SlowReader time.Duration
	// Calibrate, when set, chooses the threads in the first idle time.
	Calibrate Calibration
	// Logger gets a line for each reply, without its text; nil discards it.
	Logger *slog.Logger
}

func (c EngineConfig) withDefaults() EngineConfig {
	if c.QueueLimit == 0 {
		c.QueueLimit = 32
	}
	if c.MaxWait == 0 {
		c.MaxWait = 5 * time.Minute
	}
	if !(c.Pace > 0) {
		c.Pace = 11
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 1024
	}
	if c.StallBudget == 0 {
		c.StallBudget = 2 * time.Second / 11
	}
	if c.IdleTokens == 0 {
		c.IdleTokens = 8192
	}
	if c.ProgressEvery == 0 {
		c.ProgressEvery = time.Second
	}
	if c.SlowReader == 0 {
		c.SlowReader = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Engine serves requests on one Backend: Run steps all slots together on one
// goroutine; Generate hands requests to it. It implements Generator.
type Engine struct {
	config    EngineConfig
	info      ModelInfo
	inbox     chan *job        // accepted, not yet seen by Run; never full
	wake      chan struct{}    // holds one token when Run should look around
	tags      map[Token]string // control tokens that mark reasoning, and their text
	gate      *gate            // counts what is accepted and not done
	status    atomic.Pointer[Status]
	scheduled atomic.Pointer[ScheduleStatus]
	interrupt interrupter
	timer     ComputeTimer // the backend; nil when it is none
	ticker    Ticker       // likewise
	pace      *threadPace  // likewise
	idling    idling

	mu     sync.RWMutex // guards closed against requests that come at the end
	closed bool

	// The rest belongs to Run's goroutine.
	slots   []slot
	queue   []*job // in the order of their arrival
	orders  uint64 // admissions so far
	batch   Batch
	scratch scratch
	plan    *schedule
	steps   uint64
	cached  uint64 // prompt tokens that needed no evaluation
	records chan record
}

// scratch is memory that every step uses anew.
type scratch struct {
	views   []slotView
	parts   []part
	outputs []int
	idle    []idleSlot
	piece   []byte
	jobs    []*job
	busy    []*slot
}

// NewEngine returns an engine that accepts requests; they are served once Run
// is called. It starts no goroutine. The backend stays the caller's to close,
// after Run has returned.
func NewEngine(c EngineConfig) *Engine {
	c = c.withDefaults()
	info := c.Backend.Info()
	e := &Engine{
		config:  c,
		info:    info,
		inbox:   make(chan *job, info.Slots+c.QueueLimit),
		wake:    make(chan struct{}, 1),
		slots:   make([]slot, info.Slots),
		records: make(chan record, 64),
	}
	limit := c.ClientLimit
	if limit == 0 {
		limit = info.Slots + c.QueueLimit - c.QueueLimit/8
	}
	e.gate = newGate(cap(e.inbox), limit, c.MaxWait)
	var err error
	if e.plan, err = newSchedule(c, info.Slots); err != nil {
		c.Logger.Warn("what was learned before is not used", "err", err)
	}
	e.timer, _ = c.Backend.(ComputeTimer)
	e.ticker, _ = c.Backend.(Ticker)
	e.pace = newThreadPace(c.Backend)
	for i := range e.slots {
		e.slots[i].seq = i
	}
	e.tags = thoughtTags(c.Backend, c.Template.Info())
	e.publish()
	return e
}

// Info implements Generator.
func (e *Engine) Info() ModelInfo { return e.info }

// Template implements Generator.
func (e *Engine) Template() TemplateInfo { return e.config.Template.Info() }

// Status implements Generator.
func (e *Engine) Status() Status {
	st := *e.status.Load()
	if e.ticker != nil {
		st.Ticks = e.ticker.Ticks() // moves within a step, which publish cannot show
	}
	return st
}

// Generate implements Generator. It renders and tokenizes on the caller's
// goroutine. Errors: ErrInvalidRequest, ErrContextFull, ErrQueueFull,
// ErrClosed, or ctx's.
func (e *Engine) Generate(ctx context.Context, r Request) (*Stream, error) {
	arrival := time.Now()
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j, err := e.prepare(r, arrival)
	if err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, ErrClosed
	}
	if err := e.gate.enter(r.Client); err != nil {
		return nil, err
	}
	j.unwatch = context.AfterFunc(ctx, func() {
		j.cancelled.Store(true)
		e.interrupt.check()
		e.nudge()
	})
	e.inbox <- j // the gate keeps room for it
	e.idling.end()
	return j.stream, nil
}

// prepare renders, tokenizes and measures the prompt.
func (e *Engine) prepare(r Request, arrival time.Time) (*job, error) {
	if r.ID == "" {
		r.ID = newID()
	}
	template, stops := e.config.Template.Info(), r.Stop
	var (
		prompt  Prompt
		tokens  []Token
		leftOut int
		err     error
	)
	if len(r.Messages) > 0 {
		prompt, tokens, leftOut, err = e.prompt(r)
		stops = append(append([]string(nil), stops...), template.Stop...)
	} else {
		template = TemplateInfo{} // a bare completion has no turns and no tags
		tokens, err = e.config.Backend.Tokenize(Text{Parts: []string{r.Prompt}})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens", ErrInvalidRequest)
	}
	if len(tokens) >= e.info.Window { // the reply needs room for one at least
		return nil, &ContextError{PromptTokens: len(tokens), Window: e.info.Window}
	}
	j := &job{request: r, prompt: tokens, leftOut: leftOut, maxTokens: e.replyCap(r), arrival: arrival, stream: NewStream(r.ID)}
	j.reply = reply{stream: j.stream, arrival: arrival, hold: holdback{stops: stops}, split: newThoughtSplitter(template, prompt.InThought)}
	j.reply.timings.PromptTokens = len(tokens)
	return j, nil
}

// nudge makes Run look around. It never blocks.
func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run serves requests until ctx ends; then running and waiting replies end
// with ErrClosed and later requests are refused. It is called once. It never
// waits for a client, a log or a lock that is held while anyone else works.
func (e *Engine) Run(ctx context.Context) error {
	var logging sync.WaitGroup
	logging.Go(func() { logRecords(e.config.Logger, e.records) })
	defer logging.Wait()
	defer close(e.records)
	defer e.shutdown()
	defer context.AfterFunc(ctx, func() {
		e.interrupt.stopAll()
		e.nudge()
	})()
	for ctx.Err() == nil {
		e.receive()
		e.dropCancelled(time.Now())
		if e.admit(time.Now()) {
			e.publish() // the first chunk of a prompt may take a while
		}
		if !e.step() {
			e.publish()
			e.wait(ctx)
			continue
		}
		e.publish()
	}
	return nil
}

// receive takes what has been accepted since the last step.
func (e *Engine) receive() {
	for {
		select {
		case j := <-e.inbox:
			e.queue = append(e.queue, j)
		default:
			return
		}
	}
}

// wait sleeps until there may be something to do.
func (e *Engine) wait(ctx context.Context) {
	if e.calibrate(ctx) {
		return
	}
	select {
	case j := <-e.inbox:
		e.queue = append(e.queue, j)
	case <-e.wake:
	case <-ctx.Done():
	}
}

// shutdown ends everything that was accepted.
func (e *Engine) shutdown() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.receive()
	now := time.Now()
	for _, j := range e.queue {
		e.end(j, FinishError, ErrClosed, now)
	}
	e.queue = nil
	for i := range e.slots {
		if e.slots[i].job != nil {
			e.release(&e.slots[i], FinishError, ErrClosed, now)
		}
	}
	e.publish()
}

// publish makes the present numbers visible to Status.
func (e *Engine) publish() {
	st := Status{Waiting: len(e.queue), Slots: len(e.slots), Steps: e.steps}
	for i := range e.slots {
		if e.slots[i].job != nil {
			st.Running++
		}
		st.KVTokens += len(e.slots[i].kept)
	}
	st.Threads = e.pace.status()
	if e.timer != nil {
		st.Compute = e.timer.ComputeTime()
	}
	e.status.Store(&st)
	e.publishSchedule(time.Now())
}

// newID makes a request id: 16 hexadecimal digits.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
