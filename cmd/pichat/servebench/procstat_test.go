package servebench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what a thread has used so far.
type usage struct {
	cpu      time.Duration // on a CPU, from schedstat
	switches int           // times it went to sleep
}

// threads is the usage of each thread of a process, by its id.
func threads(pid int) (map[string]usage, error) {
	folders, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(folders) == 0 {
		return nil, fmt.Errorf("no threads of process %d: %w", pid, err)
	}
	all := map[string]usage{}
	for _, f := range folders {
		schedstat, err := os.ReadFile(f + "/schedstat")
		if err != nil {
			continue // the thread has ended
		}
		status, err := os.ReadFile(f + "/status")
		if err != nil {
			continue
		}
		var u usage
		ns, err := strconv.ParseInt(strings.Fields(string(schedstat))[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		u.cpu = time.Duration(ns)
		if _, rest, ok := strings.Cut(string(status), "\nvoluntary_ctxt_switches:"); ok {
			u.switches, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
		all[filepath.Base(f)] = u
	}
	return all, nil
}

// spent tells three kinds of threads apart by what they used between two
// readings. The engine's is the busiest. The one called monitor wakes far more
// often than any other; that it is the monitor of Go's runtime is an inference
// (no Go code shows in a profile for it), and its time counts as the program's.
func spent(before, after map[string]usage) (engine, monitor, server time.Duration) {
	var total time.Duration
	most := 0
	for tid, u := range after {
		cpu, switches := u.cpu-before[tid].cpu, u.switches-before[tid].switches
		total += cpu
		engine = max(engine, cpu)
		if switches > most {
			most, monitor = switches, cpu
		}
	}
	return engine, monitor, total - engine - monitor
}

// residentBytes is a process's resident memory (VmRSS).
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}
