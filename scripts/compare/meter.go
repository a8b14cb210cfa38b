package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc (USER_HZ on Linux).
const clockTick = 10 * time.Millisecond

// meter tells how the machine was used while something was measured.
type meter struct {
	s                   *session
	began               time.Time
	own, all, machine   time.Duration
	ownShare, elsewhere float64
	pairs               int // measured in all, those left out too
}

// meter starts one.
func (s *session) meter() *meter {
	m := &meter{s: s, began: time.Now(), own: cpuTime(syscall.RUSAGE_SELF)}
	m.all, m.machine = s.cpuOfAll(), machineTime()
	return m
}

// stop takes the shares, in cores: this program's own, and that of everything
// which is neither it nor a program that it started.
func (m *meter) stop() *meter {
	took := time.Since(m.began).Seconds()
	m.ownShare = (cpuTime(syscall.RUSAGE_SELF) - m.own).Seconds() / took
	used := m.s.cpuOfAll() - m.all
	m.elsewhere = max(0, (machineTime()-m.machine-used).Seconds()/took)
	return m
}

func (m *meter) String() string {
	return fmt.Sprintf("the generator used %.2f of a core, other programs %.2f", m.ownShare, m.elsewhere)
}

// cpuOfAll is the CPU time of this program and of all that it started.
func (s *session) cpuOfAll() time.Duration {
	total := cpuTime(syscall.RUSAGE_SELF) + cpuTime(syscall.RUSAGE_CHILDREN)
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.running {
		total += processTime(pid)
	}
	return total
}

// track counts a process as started here until the function is called.
func (s *session) track(pid int) (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[pid] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, pid)
	}
}

// cpuTime is what a group of processes has used so far.
func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processTime is what a process has used so far; 0 when it is gone.
func processTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	return ticks(fields[11:13]) // utime and stime
}

// machineTime is how long all CPUs were busy, time that a host took included.
func machineTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 {
		return 0
	}
	return ticks(fields[1:4]) + ticks(fields[6:9])
}

func ticks(fields []string) time.Duration {
	var total time.Duration
	for _, f := range fields {
		n, _ := strconv.ParseInt(f, 10, 64)
		total += time.Duration(n) * clockTick
	}
	return total
}
