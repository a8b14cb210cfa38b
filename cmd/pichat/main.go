// Command pichat serves a chat page on a small board: a quantized model
// through llama.cpp, and its pace beside the machine's temperature and memory.
//
// This package wires the others together and is the only one that knows
// flags, environment and signals. A command is a method of app in the file of
// its name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the program in good order, a second one at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
