package llamacpp

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// maxThreads is ggml's limit (GGML_MAX_N_THREADS).
const maxThreads = 512

// DefaultThreads is the number of physical cores that this process may run
// on: its CPU affinity counts, GOMAXPROCS does not. Threads of one core share
// its arithmetic units, so more threads than cores only get in each other's
// way. At least 1.
func DefaultThreads() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return runtime.NumCPU()
	}
	return max(1, physicalCores("/sys/devices/system/cpu", &set))
}

// physicalCores counts the cores of the CPUs in set. A CPU whose core is not
// told counts as one.
func physicalCores(sysCPU string, set *unix.CPUSet) int {
	cores := map[string]bool{}
	for cpu, left := 0, set.Count(); left > 0 && cpu < len(set)*64; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		left--
		siblings, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", sysCPU, cpu))
		core := strings.TrimSpace(string(siblings))
		if err != nil || core == "" {
			core = fmt.Sprint("cpu", cpu)
		}
		cores[core] = true
	}
	return len(cores)
}
