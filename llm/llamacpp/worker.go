package llamacpp

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pichat/llm"
)

// longStep is the longest step that is evaluated on the caller's own thread.
//
// A goroutine that does nothing but call C counts as running since it was last
// scheduled. After 10 ms of that Go's monitor takes its processor away in the
// midst of a call, and looks every 20 us for some milliseconds afterwards
// (runtime.retake and sysmon, Go 1.26): 2.5 % of a core beside a model with
// steps of 6.5 ms. So a short step is preceded by a yield, which resets that
// clock, and a long one runs on a thread of C while the goroutine waits: this
// costs two wake-ups, 20 to 80 us.
const longStep = 9 * time.Millisecond

// evaluate calls pc_evaluate on this thread with a batch that was checked.
func evaluate(c *C.pc_context, b *llm.Batch, cerr *C.pc_error) int {
	return int(C.pc_evaluate(c, C.int32_t(b.Len()),
		(*C.int32_t)(unsafe.Pointer(&b.Tokens[0])),
		(*C.int32_t)(unsafe.Pointer(&b.Positions[0])),
		(*C.int32_t)(unsafe.Pointer(&b.Sequences[0])),
		(*C.int8_t)(unsafe.Pointer(&b.Output[0])), prefillFlag(b), cerr))
}

func prefillFlag(b *llm.Batch) C.int {
	if b.Prefill {
		return 1
	}
	return 0
}

// worker is a thread of C that evaluates. It belongs to one goroutine.
type worker struct {
	c    *C.pc_worker
	done *os.File // an eventfd
}

func newWorker() (*worker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	w := &worker{done: os.NewFile(uintptr(fd), "evaluated")}
	var cerr C.pc_error
	if C.pc_worker_new(C.int(fd), &w.c, &cerr) != C.PC_OK {
		_ = w.done.Close()
		return nil, backendError("start the thread that evaluates", &cerr)
	}
	return w, nil
}

// evaluate is pc_evaluate on the worker's thread. The error says that it could
// not be asked.
func (w *worker) evaluate(c *C.pc_context, b *llm.Batch, cerr *C.pc_error) (int, error) {
	if C.pc_worker_begin(w.c, c, C.int32_t(b.Len()),
		(*C.int32_t)(unsafe.Pointer(&b.Tokens[0])),
		(*C.int32_t)(unsafe.Pointer(&b.Positions[0])),
		(*C.int32_t)(unsafe.Pointer(&b.Sequences[0])),
		(*C.int8_t)(unsafe.Pointer(&b.Output[0])), prefillFlag(b), cerr) != C.PC_OK {
		return 0, backendError("evaluate", cerr)
	}
	var count [8]byte
	_, err := w.done.Read(count[:])
	code := int(C.pc_worker_end(w.c, cerr)) // waits for the end whatever err is
	if err != nil {
		return 0, fmt.Errorf("%w: evaluate: wait for the end: %w", llm.ErrBackend, err)
	}
	return code, nil
}

// close ends the thread; nothing may be running on it. A nil worker is allowed.
func (w *worker) close() {
	if w == nil {
		return
	}
	C.pc_worker_free(w.c)
	_ = w.done.Close()
}
