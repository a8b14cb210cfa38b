package llamacpp

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pichat/llm"
)

var _ llm.LoadMeter = (*Model)(nil)

// CPULoad implements llm.LoadMeter from the process's CPU clock and /proc/stat,
// for the processors in the affinity mask that the process began with. The
// kernel gives idle time in steps of 10 ms.
func (m *Model) CPULoad() (llm.CPULoad, bool) { return machine().read() }

// machine is opened once: the file and the mask are the process's.
var machine = sync.OnceValue(func() *loadMeter { return newLoadMeter("/proc/stat") })

// loadMeter reads a file like /proc/stat again and again.
type loadMeter struct {
	cpus unix.CPUSet
	stat *os.File // nil where it cannot be opened

	mu     sync.Mutex // guards buffer
	buffer []byte
}

// statBytes holds the lines of 512 processors; what follows them is not read.
const statBytes = 64 << 10

// userHz is the unit of /proc/stat on every Linux that Go runs on.
const userHz = 100

func newLoadMeter(path string) *loadMeter {
	l := &loadMeter{buffer: make([]byte, statBytes)}
	if unix.SchedGetaffinity(0, &l.cpus) != nil {
		for cpu := range runtime.NumCPU() {
			l.cpus.Set(cpu)
		}
	}
	l.stat, _ = os.Open(path) // without it, read returns false
	return l
}

func (l *loadMeter) read() (llm.CPULoad, bool) {
	if l.stat == nil {
		return llm.CPULoad{}, false
	}
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used) != nil {
		return llm.CPULoad{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.stat.ReadAt(l.buffer, 0) // io.EOF, or there is nothing to find
	idle, cpus := idleTime(l.buffer[:n], &l.cpus)
	return llm.CPULoad{CPUs: cpus, Process: time.Duration(used.Nano()), Idle: idle}, cpus > 0
}

// idleTime adds up what the lines of the set's processors say of idle time,
// that of waiting for a disk included, and counts these lines.
func idleTime(stat []byte, set *unix.CPUSet) (idle time.Duration, cpus int) {
	for len(stat) > 0 {
		line, rest, _ := bytes.Cut(stat, []byte("\n"))
		stat = rest
		name, values, _ := bytes.Cut(line, []byte(" "))
		number, found := bytes.CutPrefix(name, []byte("cpu"))
		if !found {
			break // the processors come first
		}
		cpu, err := strconv.Atoi(string(number))
		if err != nil || !set.IsSet(cpu) {
			continue
		}
		// user, nice, system, idle, iowait, …
		fields := bytes.Fields(values)
		if len(fields) < 5 {
			continue
		}
		for _, field := range fields[3:5] {
			ticks, _ := strconv.ParseInt(string(field), 10, 64)
			idle += time.Duration(ticks) * (time.Second / userHz)
		}
		cpus++
	}
	return idle, cpus
}
