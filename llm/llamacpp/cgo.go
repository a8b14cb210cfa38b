package llamacpp

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../build/engine/include
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra
#cgo LDFLAGS: -L${SRCDIR}/../../build/engine/lib -lllama -lggml -lggml-cpu -lggml-base -lstdc++ -lm -lpthread -ldl

// No function of the shim keeps a Go pointer or calls back into Go. Saying so
// keeps the arguments of the hot calls off the heap.
#cgo noescape pc_evaluate
#cgo nocallback pc_evaluate
#cgo noescape pc_worker_begin
#cgo nocallback pc_worker_begin
#cgo noescape pc_worker_end
#cgo nocallback pc_worker_end
#cgo noescape pc_sequence_span
#cgo nocallback pc_sequence_span
#cgo noescape pc_sequence_trim
#cgo nocallback pc_sequence_trim
#cgo noescape pc_sample
#cgo nocallback pc_sample
#cgo noescape pc_tokenize
#cgo nocallback pc_tokenize
#cgo noescape pc_log_next
#cgo nocallback pc_log_next
#cgo nocallback pc_log_dropped

#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"

	"pichat/llm"
)

// startEngine initialises llama.cpp, once per process.
var startEngine = sync.OnceValue(func() error {
	var cerr C.pc_error
	if C.pc_engine_start(&cerr) != C.PC_OK {
		return backendError("start llama.cpp", &cerr)
	}
	return nil
})

// backendError wraps the text that the shim left.
func backendError(op string, cerr *C.pc_error) error {
	text := C.GoString(&cerr.text[0])
	if text == "" {
		text = "llama.cpp gives no reason"
	}
	return fmt.Errorf("%w: %s: %s", llm.ErrBackend, op, text)
}

// freeModel frees a model; nil is allowed.
func freeModel(model *C.pc_model) {
	if model != nil {
		C.pc_model_free(model)
	}
}

// errClosed is what a closed Model answers.
var errClosed = errors.New("the model is closed")
