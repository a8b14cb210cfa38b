//go:build unix

package host

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"pichat/sysmon"
)

// processTime is the CPU time of this process, user and system, in steps of a
// microsecond. /proc/self/stat counts in steps of 10 ms, which is more than an
// idle server uses in a second.
func processTime(context.Context) sysmon.Reading[time.Duration] {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return sysmon.Unknown[time.Duration](fmt.Sprintf("getrusage: %v", err))
	}
	return sysmon.Measured(time.Duration(u.Utime.Nano()+u.Stime.Nano()), "getrusage")
}
