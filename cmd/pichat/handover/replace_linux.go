package handover

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// replace unpacks the carried program into memory and gives it this process. It
// returns only when that failed, and then has changed nothing.
func replace(args, environ []string) error {
	fd, err := memoryFile()
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memfd:pichat")
	defer file.Close()
	if err := unpack(file); err != nil {
		return fmt.Errorf("unpacking it: %w", err)
	}
	// By /proc rather than execveat, as that works under an emulator too.
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := syscall.Exec(path, args, environ); err != nil {
		return fmt.Errorf("exec %s: %w", path, err)
	}
	return nil
}

// memoryFile opens an empty file in memory that may be run. It stays open over
// the exec: under binfmt_misc the kernel starts an emulator, which then opens
// the file by its number, and later children by the same way.
func memoryFile() (int, error) {
	fd, err := unix.MemfdCreate("pichat", unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 do not know the flag, and allow it to all
		return unix.MemfdCreate("pichat", 0)
	}
	return fd, err
}

// unpack writes the carried program to w. gzip's checksum vouches for it.
func unpack(w io.Writer) error {
	r, err := gzip.NewReader(bytes.NewReader(carried))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}
