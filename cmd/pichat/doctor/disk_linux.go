package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	readAt    = 1 << 20 // bytes at a time
	alignment = 4096    // what direct reads want of memory, place and length
)

var errCached = errors.New("the file system offers no reads past the cache")

// readUncached reads the beginning of a file straight from its disk, at most so
// many bytes and about so long, and returns how much it read in what time.
func readUncached(path string, most int, limit time.Duration) (n int, took time.Duration, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if errors.Is(err, syscall.EINVAL) {
		return 0, 0, errCached
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	buf := make([]byte, readAt+alignment)
	skip := (alignment - int(uintptr(unsafe.Pointer(&buf[0]))%alignment)) % alignment
	buf = buf[skip : skip+readAt]
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	begin := time.Now()
	for n < most && ctx.Err() == nil {
		got, err := f.Read(buf)
		n += got
		if err == io.EOF || got > 0 && got < len(buf) {
			break // the end, which may lie off the alignment
		}
		if errors.Is(err, syscall.EINVAL) {
			return 0, 0, errCached
		}
		if err != nil {
			return 0, 0, err
		}
	}
	took = time.Since(begin)
	if n < readAt {
		return 0, 0, fmt.Errorf("%s has %d bytes, too few to time", path, n)
	}
	return n, took, nil
}
