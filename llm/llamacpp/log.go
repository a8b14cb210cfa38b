package llamacpp

// #include "shim.h"
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"unsafe"
)

// drainLog moves what llama.cpp has logged to logger and returns the lines of
// level error, for the text of a failure. The log is the process's, not a
// model's: lines go to the logger of whoever drains first. Any goroutine may
// call it.
func drainLog(logger *slog.Logger, see func(line string)) (failures []string) {
	var buf [2048]byte
	for {
		var level C.int
		n := C.pc_log_next((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), &level)
		if n < 0 {
			break
		}
		line := strings.TrimRight(string(buf[:n]), " \r\t")
		if see != nil {
			see(line)
		}
		l := slogLevel(int(level))
		if l >= slog.LevelError {
			failures = append(failures, line)
		}
		logger.Log(context.Background(), l, line, "source", "llama.cpp")
	}
	if dropped := uint32(C.pc_log_dropped()); dropped > 0 {
		logger.Warn("lines of llama.cpp's log were lost", "lines", dropped)
	}
	return failures
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
