// Package handover lets one file run well on every CPU of an architecture. The
// program that `make pi` writes is built for ARMv8.0 and carries a second one,
// built for the Cortex-A76 of a Pi 5; that of `make dist-amd64` is built for
// x86-64-v2 and carries one for x86-64-v3. At start the first gives its process to
// the second where the CPU can run it: same pid, arguments, environment and open
// sockets.
//
// Every other build carries nothing and does nothing here.
package handover

import (
	"fmt"
	"io"
	"os"
)

// Half is what a process knows about which program of the file it runs.
type Half struct {
	// Reason says in one line which program runs and why.
	Reason string
	// Program is the path of the file that was started; "" where it is not known.
	// After a handover os.Executable names a file in memory instead.
	Program string
}

// Config is what Begin needs of the world outside.
type Config struct {
	// Args are the whole command line with the program's name.
	Args []string
	// Environ is as os.Environ gives it.
	Environ []string
	// Wish returns what the owner set for --cpu; "" where the command line is
	// wrong or asks for help. It is called only where there is a choice.
	Wish func() string
	// Stderr gets a line when a handover fails.
	Stderr io.Writer
}

// Begin hands this process over to the carried program, and then does not
// return, or says why this one goes on, with the environment to go on with.
// Call it first of all in main: what was started or read before is lost to the
// other program. Not safe for concurrent use.
func Begin(c Config) (Half, []string) {
	mark, environ := takeMark(c.Environ)
	if mark != nil {
		nameProcess()
	}
	program, _ := os.Executable()
	facts := Facts{
		Carries: len(carried) > 0,
		Probing: len(c.Args) > 1 && c.Args[1] == probeCommand,
		Other:   other(),
	}
	switch {
	case !facts.Carries && mark != nil:
		return Half{mark.Reason, mark.Program}, environ
	case mark != nil: // only a mark that this package did not set gets here
		return Half{"baseline, the environment says that it was handed over already", program}, environ
	case facts.Carries && !facts.Probing:
		facts.Wish = c.Wish()
	}
	d := Decide(facts)
	if d.Fault != "" {
		fmt.Fprintf(c.Stderr, "pichat: %s\n", d.Fault)
	}
	if !d.HandOver {
		return Half{d.Reason, program}, environ
	}
	err := replace(c.Args, setMark(environ, &Half{d.Reason, program}))
	fmt.Fprintf(c.Stderr, "pichat: cannot hand over to the %s program (%v): the baseline one goes on, which is slower; --cpu=baseline leaves out the attempt\n", facts.Other.Name, err)
	return Half{fmt.Sprintf("baseline, handing over failed: %v", err), program}, environ
}
