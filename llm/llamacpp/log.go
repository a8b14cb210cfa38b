package llamacpp

// #include "shim.h"
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"unsafe"
)

// linesDrained is how many lines of the log have been asked for.
var linesDrained atomic.Uint32

// drainLog moves what llama.cpp has logged to logger. The log is the process's,
// not a model's: lines go to the logger of whoever drains first. adjust, when
// set, sees each line and gives it its level. Any goroutine may call it.
func drainLog(logger *slog.Logger, adjust func(level slog.Level, line string) slog.Level) {
	written := (*atomic.Uint32)(unsafe.Pointer(&C.pc_log_lines)).Load()
	if linesDrained.Swap(written) == written {
		return // the usual case, after every step: no call of C, no memory
	}
	var buf [2048]byte
	for {
		var cLevel C.int
		n := C.pc_log_next((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), &cLevel)
		if n < 0 {
			break
		}
		line := strings.TrimRight(string(buf[:n]), " \r\t")
		level := slogLevel(int(cLevel))
		if adjust != nil {
			level = adjust(level, line)
		}
		logger.Log(context.Background(), level, line, "source", "llama.cpp")
	}
	if dropped := uint32(C.pc_log_dropped()); dropped > 0 {
		logger.Warn("lines of llama.cpp's log were lost", "lines", dropped)
	}
}

// slogLevel maps ggml's levels. Its "info" is a page of details at every load,
// which belongs to debug here.
func slogLevel(ggml int) slog.Level {
	switch ggml {
	case 3:
		return slog.LevelWarn
	case 4:
		return slog.LevelError
	default:
		return slog.LevelDebug
	}
}
