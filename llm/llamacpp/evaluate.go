package llamacpp

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"pichat/llm"
)

// Evaluate implements llm.Backend by one call of llama_decode.
//
// All of a batch is checked before: tokens, positions and sequences in range,
// positions going on from the last one kept, outputs at most Slots.
//
// The end of ctx stops the computation at the next graph node. The batch's
// entries are then forgotten for every sequence in it; a recurrent model has
// to forget these sequences as a whole.
func (m *Model) Evaluate(ctx context.Context, b *llm.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil {
		return fmt.Errorf("%w: evaluate: %w", llm.ErrBackend, errClosed)
	}
	if err := m.checkBatch(b); err != nil {
		return fmt.Errorf("%w: evaluate: %w", llm.ErrBackend, err)
	}
	m.outputs = m.outputs[:0] // no logits unless all goes well
	begin := time.Now()
	code, err := m.interruptible(ctx, b)
	if !b.Prefill {
		m.decodeTook = time.Since(begin)
	}
	drainLog(m.logger, logLevel(code))
	if code != 0 {
		m.resync(b)
		return err
	}
	for i := range b.Tokens {
		m.last[b.Sequences[i]] = b.Positions[i]
		m.outputs = append(m.outputs, b.Output[i] != 0)
	}
	return nil
}

// logLevel is how drainLog takes what llama.cpp says about an evaluation that
// ended with code: it calls an interruption, which was asked for, an error.
func logLevel(code int) func(slog.Level, string) slog.Level {
	if code != codeInterrupted {
		return nil
	}
	return func(slog.Level, string) slog.Level { return slog.LevelDebug }
}

// interruptible evaluates a checked batch and lets the end of ctx abort it.
func (m *Model) interruptible(ctx context.Context, b *llm.Batch) (int, error) {
	if ctx.Done() == nil {
		return m.decode(b)
	}
	if err := ctx.Err(); err != nil {
		return -1, fmt.Errorf("%w: %w", llm.ErrInterrupted, err)
	}
	abort := m.control.abort()
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		abort.Store(1)
		close(fired)
	})
	code, err := m.decode(b)
	if !stop() {
		// It has begun to run: wait, so that the flag cannot be set after it
		// was cleared and stop the next call.
		<-fired
	}
	abort.Store(0)
	return code, err
}

// codeInterrupted is what llama_decode returns when the abort callback said so.
const codeInterrupted = 2

// decode calls C, in the way that disturbs Go least, and puts its code into
// words.
func (m *Model) decode(b *llm.Batch) (int, error) {
	var code int
	if b.Prefill || m.decodeTook > m.longStep {
		var err error
		if code, err = m.worker.evaluate(m.context, b, &m.cerr); err != nil {
			return -1, err
		}
	} else {
		goyield()
		code = evaluate(m.context, b, &m.cerr)
	}
	switch code {
	case 0:
		return 0, nil
	case 1:
		return code, fmt.Errorf("%w: evaluate: the KV memory has no room for %d more tokens", llm.ErrBackend, b.Len())
	case codeInterrupted:
		return code, llm.ErrInterrupted
	case -1:
		return code, fmt.Errorf("%w: evaluate: llama.cpp refuses the batch of %d tokens", llm.ErrBackend, b.Len())
	case C.PC_EVALUATE_THREW:
		return code, backendError("evaluate", &m.cerr)
	default:
		return code, fmt.Errorf("%w: evaluate: llama_decode failed with code %d", llm.ErrBackend, code)
	}
}

// resync asks llama.cpp what it kept of the sequences of a failed batch.
func (m *Model) resync(b *llm.Batch) {
	for _, s := range b.Sequences {
		m.slot[s] = 0
	}
	for _, s := range b.Sequences {
		if m.slot[s] != 0 {
			continue
		}
		m.slot[s] = 1
		if m.info.Recurrent {
			// llama.cpp takes back a part of these silently wrong.
			m.trim(int(s), 0)
		}
		_, last := m.span(int(s))
		m.last[s] = int32(last)
	}
}

// checkBatch finds what llama.cpp would abort the process for.
func (m *Model) checkBatch(b *llm.Batch) error {
	n := b.Len()
	if len(b.Positions) != n || len(b.Sequences) != n || len(b.Output) != n {
		return fmt.Errorf("the batch's slices have %d tokens, %d positions, %d sequences, %d outputs: all must be equal",
			n, len(b.Positions), len(b.Sequences), len(b.Output))
	}
	if n == 0 || n > m.info.BatchTokens {
		return fmt.Errorf("the batch has %d entries: allowed are 1 to %d", n, m.info.BatchTokens)
	}
	next := m.slot[:m.info.Slots]
	for s, last := range m.last {
		next[s] = last + 1
	}
	outputs := 0
	for i, t := range b.Tokens {
		if t < 0 || int(t) >= m.size {
			return fmt.Errorf("entry %d: token %d is outside the vocabulary of %d", i, t, m.size)
		}
		s, p := b.Sequences[i], b.Positions[i]
		if s < 0 || int(s) >= len(next) {
			return fmt.Errorf("entry %d: sequence %d is outside 0 to %d", i, s, len(next)-1)
		}
		if p != next[s] {
			return fmt.Errorf("entry %d: position %d of sequence %d does not follow: %d is next", i, p, s, next[s])
		}
		if int(p) >= m.info.Window {
			return fmt.Errorf("entry %d: position %d of sequence %d is past the window of %d tokens", i, p, s, m.info.Window)
		}
		next[s] = p + 1
		if b.Output[i] != 0 {
			outputs++
		}
	}
	if outputs > m.info.Slots {
		return fmt.Errorf("the batch asks for %d outputs: at most %d, one per slot, are kept", outputs, m.info.Slots)
	}
	return nil
}

// Ticks counts the steps inside evaluations since the model was loaded, and
// wraps around. While Evaluate runs it moves many times a second: a watchdog
// that sees it stand still knows that the computation hangs.
func (m *Model) Ticks() uint32 {
	defer runtime.KeepAlive(m) // the memory that is read goes with m
	return m.control.ticks().Load()
}

// ComputeTime implements llm.ComputeTimer: the CPU time, since the model was
// loaded, of the threads that called Evaluate and Sample while they were in C.
// What helper threads compute beside them is not in it.
func (m *Model) ComputeTime() time.Duration {
	defer runtime.KeepAlive(m) // the memory that is read goes with m
	return time.Duration(m.control.cpu().Load())
}

// Close implements llm.Backend. It aborts a running Evaluate, waits for all
// running calls and frees the memory. A second call does nothing.
func (m *Model) Close() error {
	m.control.abort().Store(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil {
		return nil
	}
	m.worker.close()
	C.pc_context_free(m.context)
	m.context = nil
	if model := m.vocabulary.close(); model != nil {
		C.pc_model_free(model)
	}
	drainLog(m.logger, nil)
	return nil
}
