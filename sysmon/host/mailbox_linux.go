package host

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// ioctlProperty is _IOWR(100, 0, char *): 0xC0086400 on a 64-bit system.
const ioctlProperty = 0xC0006400 | unsafe.Sizeof(uintptr(0))<<16

// openMailbox opens the kernel's device for reading, which is all it asks for.
func openMailbox(path string) (Mailbox, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return device{f}, nil
}

type device struct{ file *os.File }

func (d device) Property(message []uint32) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, d.file.Fd(), ioctlProperty, uintptr(unsafe.Pointer(&message[0])))
	runtime.KeepAlive(d.file)
	if errno != 0 {
		return &os.PathError{Op: "ioctl", Path: d.file.Name(), Err: errno}
	}
	return nil
}

func (d device) Close() error { return d.file.Close() }
