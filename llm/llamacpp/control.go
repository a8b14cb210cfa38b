package llamacpp

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"
)

// control is the memory that Go and llama.cpp's threads share. It lies in C's
// heap because those threads read it after the call that gave it to them.
type control struct {
	c *C.pc_control
}

func newControl() *control {
	return &control{c: (*C.pc_control)(C.calloc(1, C.sizeof_pc_control))}
}

func (c *control) free() { C.free(unsafe.Pointer(c.c)) }

func (c *control) abort() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.c.abort)) }
func (c *control) cancel() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&c.c.cancel))
}
func (c *control) progress() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&c.c.progress))
}
func (c *control) ticks() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.c.ticks)) }

func (c *control) cpu() *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&c.c.cpu_ns)) }

// watchLoad reports progress until done and passes on the end of ctx.
func (c *control) watchLoad(ctx context.Context, done <-chan struct{}, progress func(float64)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	ended := ctx.Done()
	for {
		select {
		case <-done:
			return
		case <-ended:
			c.cancel().Store(1)
			ended = nil
		case <-tick.C:
			if progress != nil {
				progress(float64(c.progress().Load()) / 1000)
			}
		}
	}
}
