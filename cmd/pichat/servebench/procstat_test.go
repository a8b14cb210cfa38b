package servebench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// threadCPU is the time that each thread of a process has run so far, from
// /proc/PID/task/TID/schedstat (nanoseconds on a CPU, first field).
func threadCPU(pid int) (map[string]time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no threads of process %d: %w", pid, err)
	}
	cpu := map[string]time.Duration{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		cpu[filepath.Base(filepath.Dir(f))] = time.Duration(ns)
	}
	return cpu, nil
}

// spent is what the threads ran between two readings: that of the busiest
// thread, and that of all others together.
func spent(before, after map[string]time.Duration) (busiest, others time.Duration) {
	for tid, cpu := range after {
		d := cpu - before[tid]
		others += d
		busiest = max(busiest, d)
	}
	return busiest, others - busiest
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
