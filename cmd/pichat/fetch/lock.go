package fetch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps others from the file of that name until unlock is called. It ends
// with the process. The error wraps ErrBusy where somebody else has it.
func lock(dir, name string) (unlock func(), err error) {
	path := filepath.Join(dir, "."+name+".lock")
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, fmt.Errorf("nothing can be stored in the folder of models: %w; choose another with --dir, or become its owner", err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("%w: %s: wait until it has ended", ErrBusy, filepath.Join(dir, name))
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// Whoever had it before may have removed this very file meanwhile.
		mine, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, there) {
			return func() {
				_ = os.Remove(path)
				_ = f.Close()
			}, nil
		}
		_ = f.Close()
	}
}
