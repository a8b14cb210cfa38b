package probe

import (
	"os"

	"golang.org/x/sys/unix"
)

// spareBytes is what a child may need beyond a file's own size: vocabulary,
// compute buffers, thread stacks and Go's heap.
const spareBytes = 3 << 30

// Limit bounds this process, the child, before it loads a file of that size.
// Data segments, the memory that is not a mapped file, may grow to the file's
// size (weights that the engine repacks) and 3 GB more. RLIMIT_AS would count
// the mapped file and Go's reserved address space as well, and so say nothing.
// It also leaves no core file, and when memory runs out the kernel takes this
// process first. A limit that cannot be set is left as it was.
func Limit(fileBytes int64) {
	data := uint64(fileBytes) + spareBytes
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}
