package llamacpp

// #include "shim.h"
import "C"

import (
	"fmt"

	"pichat/llm"
)

var _ llm.ThreadSetter = (*Model)(nil)

// SetThreads implements llm.ThreadSetter. It costs some 50 us where a count was
// not in use before: a pool of threads is started then, and one that no kind of
// step uses any more is freed after the next step.
func (m *Model) SetThreads(decode, prefill int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil {
		return fmt.Errorf("%w: set threads: %w", llm.ErrBackend, errClosed)
	}
	for _, count := range []struct {
		kind        string
		asked, most int
	}{{"decode", decode, m.info.DecodeThreads}, {"prefill", prefill, m.info.PrefillThreads}} {
		if count.asked < 1 || count.asked > count.most {
			return fmt.Errorf("%w: set threads: %d %s threads are outside 1 to %d, the number the model was loaded with",
				llm.ErrBackend, count.asked, count.kind, count.most)
		}
	}
	if C.pc_context_set_threads(m.context, C.int32_t(decode), C.int32_t(prefill), &m.cerr) != C.PC_OK {
		return backendError(fmt.Sprintf("set %d decode and %d prefill threads", decode, prefill), &m.cerr)
	}
	m.decodeThreads, m.prefillThreads = decode, prefill
	return nil
}

// Threads implements llm.ThreadSetter.
func (m *Model) Threads() (decode, prefill int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decodeThreads, m.prefillThreads
}
