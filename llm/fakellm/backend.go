// Package fakellm plays a script instead of running a model.
//
// [Backend] does what a real backend does as far as its caller can see: it
// keeps the tokens of each sequence, refuses what a real one refuses, takes
// time at a set pace and stops when its context ends. So it serves to test the
// engine and everything above it without a model, and for demos of the page at
// a pace of one's choice. Its time is package time's, so tests run it inside
// of testing/synctest.
package fakellm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"pichat/llm"
)

// Config shapes a Backend. The zero value is a fast one with one slot.
type Config struct {
	Slots       int // default 1
	Window      int // tokens per slot; default 4096
	BatchTokens int // default 512

	// Script says what is answered; default DefaultScript.
	Script Script

	// Pace is how many tokens/s each stream decodes; 0 takes no time.
	Pace float64
	// PrefillSpeed is how many prompt tokens/s are read; 0 takes no time.
	PrefillSpeed float64
	// StepTime, when set, replaces 1/Pace: the time of a decode step with that
	// many streams, at least 1.
	StepTime func(streams int) time.Duration
	// Jitter varies each step's time by up to this part of it, 0..1.
	Jitter float64
	// Seed starts the jitter's randomness.
	Seed uint64

	// SlidingWindow makes SequenceSpan forget positions as a model with
	// sliding-window attention does; 0 keeps all.
	SlidingWindow int
	// Recurrent makes TrimSequence refuse to remove a part.
	Recurrent bool

	Faults Faults
}

// Faults are failures to inject. The zero value is none.
type Faults struct {
	// EvaluateCall is the Evaluate call that fails with EvaluateErr, counted
	// from 1; 0 is none. Nothing of its batch is kept.
	EvaluateCall int
	EvaluateErr  error // default is an error wrapping llm.ErrBackend
	// SampleCall is the Sample call, over all samplers, that fails.
	SampleCall int
	SampleErr  error // default is an error wrapping llm.ErrBackend
	// KeepInterrupted keeps the first half of an interrupted batch instead of
	// none of it.
	KeepInterrupted bool
}

// Counters say what a Backend was asked to do.
type Counters struct {
	Evaluations  int // Evaluate calls that got past the checks
	Tokens       int // tokens kept by them
	PromptTokens int // of these, in pieces of more than one token of a sequence
	Outputs      int // entries with logits
	Interrupts   int // evaluations that ended with llm.ErrInterrupted
	Refusals     int // evaluations refused as invalid: mistakes of the caller
	Samples      int // tokens picked
	Trims        int // TrimSequence calls
	Copies       int // CopySequence calls that went through
	OpenSamplers int // made and not closed
	LargestBatch int // entries
}

// Backend implements llm.Backend. As with any backend, Evaluate, TrimSequence
// and samplers belong to one goroutine; the rest may be called from any.
type Backend struct {
	tokenizer
	config Config
	info   llm.ModelInfo
	rng    *rand.Rand

	mu        sync.Mutex
	counters  Counters
	sequences []sequence
	outputs   []output // of the last batch
	replies   int
	closed    bool
}

// sequence is what the KV memory holds of one slot.
type sequence struct {
	tokens []llm.Token // by position
	first  int         // positions before it have left the sliding window
}

// output is an entry of the last batch.
type output struct {
	sequence int
	length   int // tokens of the sequence up to and with the entry
	logits   bool
}

var _ llm.Backend = (*Backend)(nil)

// New returns a Backend.
func New(config Config) *Backend {
	if config.Slots == 0 {
		config.Slots = 1
	}
	if config.Window == 0 {
		config.Window = 4096
	}
	if config.BatchTokens == 0 {
		config.BatchTokens = 512
	}
	if config.Script == nil {
		config.Script = DefaultScript
	}
	return &Backend{
		config:    config,
		rng:       rand.New(rand.NewPCG(config.Seed, 0)),
		sequences: make([]sequence, config.Slots),
		info: llm.ModelInfo{
			Name:          "Scripted answers",
			Architecture:  "scripted",
			VocabSize:     vocabSize,
			Window:        config.Window,
			Slots:         config.Slots,
			BatchTokens:   config.BatchTokens,
			SlidingWindow: config.SlidingWindow,
			Recurrent:     config.Recurrent,
			Scripted:      true,
		},
	}
}

// Info implements llm.Backend.
func (b *Backend) Info() llm.ModelInfo { return b.info }

// Counters returns what was counted so far. It may be called from any goroutine.
func (b *Backend) Counters() Counters {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counters
}

// Evaluate implements llm.Backend. It refuses whatever would be a mistake of
// the engine's: wrong lengths and ranges, positions that do not follow each
// other, a full window, more outputs than slots.
func (b *Backend) Evaluate(ctx context.Context, batch *llm.Batch) error {
	d, err := b.begin(batch)
	if err != nil {
		return err
	}
	// mu is free meanwhile: others may look at the counters, and a goroutine
	// that waits for a mutex would hold up the clock of a test's bubble.
	err = wait(ctx, d)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.keep(batch, batch.Len())
		return nil
	}
	b.counters.Interrupts++
	if b.config.Faults.KeepInterrupted {
		b.keep(batch, batch.Len()/2)
		b.outputs = b.outputs[:0]
	}
	return fmt.Errorf("%w: %w", llm.ErrInterrupted, err)
}

// begin checks a batch and returns how long it takes.
func (b *Backend) begin(batch *llm.Batch) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outputs = b.outputs[:0]
	if err := b.check(batch); err != nil {
		b.counters.Refusals++
		return 0, fmt.Errorf("%w: evaluate: %w", llm.ErrBackend, err)
	}
	b.counters.Evaluations++
	b.counters.LargestBatch = max(b.counters.LargestBatch, batch.Len())
	if f := b.config.Faults; f.EvaluateCall == b.counters.Evaluations {
		if f.EvaluateErr != nil {
			return 0, f.EvaluateErr
		}
		return 0, fmt.Errorf("%w: evaluate: the script asked call %d to fail", llm.ErrBackend, f.EvaluateCall)
	}
	prompt, streams := split(batch)
	b.counters.PromptTokens += prompt
	return b.stepTime(prompt, streams), nil
}

// check finds the caller's mistakes.
func (b *Backend) check(batch *llm.Batch) error {
	n := batch.Len()
	switch {
	case b.closed:
		return errClosed
	case len(batch.Positions) != n || len(batch.Sequences) != n || len(batch.Output) != n:
		return fmt.Errorf("the batch's slices have %d tokens, %d positions, %d sequences, %d outputs: all must be equal",
			n, len(batch.Positions), len(batch.Sequences), len(batch.Output))
	case n == 0 || n > b.config.BatchTokens:
		return fmt.Errorf("the batch has %d entries: allowed are 1 to %d", n, b.config.BatchTokens)
	}
	next := make([]int, len(b.sequences))
	for i, s := range b.sequences {
		next[i] = len(s.tokens)
	}
	outputs := 0
	for i, t := range batch.Tokens {
		s, p := int(batch.Sequences[i]), int(batch.Positions[i])
		switch {
		case !b.known(t):
			return fmt.Errorf("entry %d: token %d is none of the vocabulary", i, t)
		case s < 0 || s >= len(next):
			return fmt.Errorf("entry %d: sequence %d is outside 0 to %d", i, s, len(next)-1)
		case p != next[s]:
			return fmt.Errorf("entry %d: position %d of sequence %d does not follow: %d is next", i, p, s, next[s])
		case p >= b.config.Window:
			return fmt.Errorf("entry %d: position %d of sequence %d is past the window of %d tokens", i, p, s, b.config.Window)
		}
		next[s]++
		if batch.Output[i] != 0 {
			outputs++
		}
	}
	if outputs > b.config.Slots {
		return fmt.Errorf("the batch asks for %d outputs: at most %d, one per slot, are kept", outputs, b.config.Slots)
	}
	return nil
}

// split tells prompt tokens from streams that decode: a sequence with a single
// entry decodes.
func split(batch *llm.Batch) (prompt, streams int) {
	entries := map[int32]int{}
	for _, s := range batch.Sequences {
		entries[s]++
	}
	for _, n := range entries {
		if n > 1 {
			prompt += n
		} else {
			streams++
		}
	}
	return prompt, streams
}

// stepTime is how long a step takes. The caller holds mu.
func (b *Backend) stepTime(prompt, streams int) time.Duration {
	var d time.Duration
	if b.config.PrefillSpeed > 0 {
		d += time.Duration(float64(prompt) / b.config.PrefillSpeed * float64(time.Second))
	}
	switch {
	case streams == 0:
	case b.config.StepTime != nil:
		d += b.config.StepTime(streams)
	case b.config.Pace > 0:
		d += time.Duration(float64(time.Second) / b.config.Pace)
	}
	if j := b.config.Jitter; j > 0 {
		d += time.Duration(j * (2*b.rng.Float64() - 1) * float64(d))
	}
	return d
}

// wait spends the time of a step, or less when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep puts the first n entries into the sequences' memory.
func (b *Backend) keep(batch *llm.Batch, n int) {
	for i, t := range batch.Tokens[:n] {
		s := &b.sequences[batch.Sequences[i]]
		s.tokens = append(s.tokens, t)
		if w := b.config.SlidingWindow; w > 0 {
			s.first = max(s.first, len(s.tokens)-w)
		}
		out := output{int(batch.Sequences[i]), len(s.tokens), batch.Output[i] != 0}
		b.outputs = append(b.outputs, out)
		b.counters.Tokens++
		if out.logits {
			b.counters.Outputs++
		}
	}
}

// TrimSequence implements llm.Backend.
func (b *Backend) TrimSequence(seq, from int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return fmt.Errorf("%w: trim sequence: %w", llm.ErrBackend, errClosed)
	case seq < 0 || seq >= len(b.sequences) || from < 0:
		return fmt.Errorf("%w: trim sequence: sequence %d (of %d) from position %d", llm.ErrBackend, seq, len(b.sequences), from)
	}
	b.counters.Trims++
	s := &b.sequences[seq]
	if from >= len(s.tokens) {
		return nil
	}
	if b.config.Recurrent && from > 0 {
		return fmt.Errorf("%w: trim sequence: a recurrent model's memory cannot be removed in part", llm.ErrBackend)
	}
	s.tokens = s.tokens[:from]
	if from <= s.first {
		*s = sequence{tokens: s.tokens[:0]}
		if from > 0 {
			return fmt.Errorf("%w: trim sequence: the positions before %d have left the sliding window, nothing is kept", llm.ErrBackend, from)
		}
	}
	return nil
}

// CopySequence implements llm.Backend.
func (b *Backend) CopySequence(from, to, n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := func(err error) error {
		return fmt.Errorf("%w: copy %d positions of sequence %d to %d: %w", llm.ErrBackend, n, from, to, err)
	}
	known := func(seq int) bool { return seq >= 0 && seq < len(b.sequences) }
	switch {
	case b.closed:
		return fault(errClosed)
	case !known(from) || !known(to) || from == to:
		return fault(fmt.Errorf("they must be two of 0 to %d", len(b.sequences)-1))
	case !b.info.CanShare():
		return fault(errors.New("a model with recurrent memory or a sliding window cannot share it"))
	case n < 1 || n > len(b.sequences[from].tokens):
		return fault(fmt.Errorf("sequence %d holds %d", from, len(b.sequences[from].tokens)))
	case len(b.sequences[to].tokens) > 0:
		return fault(fmt.Errorf("sequence %d is not empty", to))
	}
	b.counters.Copies++
	b.sequences[to] = sequence{tokens: slices.Clone(b.sequences[from].tokens[:n])}
	return nil
}

// SequenceSpan implements llm.Backend.
func (b *Backend) SequenceSpan(seq int) (first, last int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || seq < 0 || seq >= len(b.sequences) || len(b.sequences[seq].tokens) == 0 {
		return -1, -1
	}
	s := b.sequences[seq]
	return s.first, len(s.tokens) - 1
}

// SequenceTokens returns a copy of what a sequence's memory holds, for tests.
func (b *Backend) SequenceTokens(seq int) []llm.Token {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sequences[seq].tokens)
}

// Close implements llm.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
