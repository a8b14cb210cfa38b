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

	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/handover"
)

// version is set by the linker.
var version = "unknown"

// half is which program of the file runs; main sets it before anything else runs.
var half handover.Half

func main() {
	var environ []string
	// First of all: another program may take over this process as it was started.
	half, environ = handover.Begin(handover.Config{
		Args:    os.Args,
		Environ: os.Environ(),
		Wish:    cpuWish,
		Stderr:  os.Stderr,
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the program in good order, a second one at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], environ, os.Stdin, os.Stdout, os.Stderr))
}

// cpuWish reads --cpu, PICHAT_CPU or the settings file; "" where no command is
// to run. A fault in them is reported by run.
func cpuWish() string {
	inv, err := config.Parse(os.Args[1:], os.Environ(), os.ReadFile)
	if err != nil {
		return ""
	}
	return inv.CPU
}
