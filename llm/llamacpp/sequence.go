package llamacpp

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"

	"pichat/llm"
)

// TrimSequence implements llm.Backend.
func (m *Model) TrimSequence(seq, from int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil {
		return fmt.Errorf("%w: trim sequence: %w", llm.ErrBackend, errClosed)
	}
	if seq < 0 || seq >= m.info.Slots {
		return fmt.Errorf("%w: trim sequence: sequence %d is outside 0 to %d", llm.ErrBackend, seq, m.info.Slots-1)
	}
	if from < 0 {
		return fmt.Errorf("%w: trim sequence: position %d is negative", llm.ErrBackend, from)
	}
	if from > int(m.last[seq]) {
		return nil
	}
	err := m.trim(seq, from)
	_, last := m.span(seq)
	switch {
	case err != nil || from == 0:
	case last >= from:
		err = fmt.Errorf("%w: trim sequence %d from %d: llama.cpp still keeps position %d", llm.ErrBackend, seq, from, last)
	case last < from-1:
		// The sliding window has moved on past what should stay. llama.cpp
		// reports success, and keeps cells of the layers without a window.
		err = fmt.Errorf("%w: trim sequence %d from %d: the positions before have left the sliding window, nothing is kept", llm.ErrBackend, seq, from)
		m.trim(seq, 0)
		_, last = m.span(seq)
	}
	m.last[seq] = int32(last)
	return errors.Join(err, m.rewind())
}

// rewind makes an empty memory begin at its first cell again: the order of the
// cells, which rounding depends on, is then that of a new context.
func (m *Model) rewind() error {
	for _, last := range m.last {
		if last >= 0 {
			return nil
		}
	}
	if C.pc_memory_clear(m.context, &m.cerr) != C.PC_OK {
		return backendError("clear the memory", &m.cerr)
	}
	return nil
}

// CopySequence implements llm.Backend.
func (m *Model) CopySequence(from, to, n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%w: copy %d positions of sequence %d to %d: %w", llm.ErrBackend, n, from, to, fmt.Errorf(format, args...))
	}
	slots := m.info.Slots
	switch {
	case m.context == nil:
		return fault("%w", errClosed)
	case from < 0 || from >= slots || to < 0 || to >= slots || from == to:
		return fault("they must be two of 0 to %d", slots-1)
	case !m.info.CanShare():
		return fault("a model with recurrent memory or a sliding window cannot share it")
	case n < 1 || n > int(m.last[from])+1:
		return fault("sequence %d holds %d", from, m.last[from]+1)
	case m.last[to] >= 0:
		return fault("sequence %d is not empty", to)
	}
	if C.pc_sequence_copy(m.context, C.int32_t(from), C.int32_t(to), C.int32_t(n), &m.cerr) != C.PC_OK {
		return backendError(fmt.Sprintf("copy sequence %d to %d", from, to), &m.cerr)
	}
	_, last := m.span(to)
	m.last[to] = int32(last)
	if last != n-1 {
		return fault("llama.cpp copied %d", last+1)
	}
	return nil
}

// trim removes positions from.. of a sequence. The caller holds mu.
func (m *Model) trim(seq, from int) error {
	if C.pc_sequence_trim(m.context, C.int32_t(seq), C.int32_t(from), &m.cerr) != C.PC_OK {
		return backendError(fmt.Sprintf("trim sequence %d from %d", seq, from), &m.cerr)
	}
	return nil
}

// SequenceSpan implements llm.Backend. A sequence that does not exist, or a
// closed model, keeps nothing.
func (m *Model) SequenceSpan(seq int) (first, last int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil || seq < 0 || seq >= m.info.Slots {
		return -1, -1
	}
	return m.span(seq)
}

// span asks llama.cpp. The caller holds mu.
func (m *Model) span(seq int) (first, last int) {
	var lo, hi C.int32_t
	if C.pc_sequence_span(m.context, C.int32_t(seq), &lo, &hi, &m.cerr) != C.PC_OK || hi < 0 {
		return -1, -1
	}
	return int(lo), int(hi)
}
