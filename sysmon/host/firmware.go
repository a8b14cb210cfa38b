package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// mailboxDevices are the firmware's devices, best first. The first, of newer
// kernels, lets nothing through but these harmless commands, and so may be open
// to more users.
var mailboxDevices = []string{"/dev/vcio_gencmd", "/dev/vcio"}

// firmware asks a Raspberry Pi's firmware through its mailbox. The device is
// opened at the first question and stays open; after a failure it is opened
// anew. It is safe for concurrent use: several readings share one.
type firmware struct {
	tree tree
	open func(path string) (Mailbox, error)

	mu     sync.Mutex
	device Mailbox // nil while closed
	name   string  // of the open device, such as "vcio"
}

// present tells whether there is a device to ask, whoever may use it.
func (f *firmware) present() bool {
	for _, name := range mailboxDevices {
		if _, err := os.Lstat(f.tree.path(name)); err == nil {
			return true
		}
	}
	return false
}

// ask sends a command of vcgencmd and returns the reply with the name of the
// device that gave it.
//
// Never give get_throttled an argument: it would clear what has happened since
// boot, for everybody.
func (f *firmware) ask(command string) (text, device string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.connect(); err != nil {
		return "", "", err
	}
	m := message(command)
	if err := f.device.Property(m); err != nil {
		_ = f.device.Close()
		f.device = nil
		return "", "", fmt.Errorf("%s: %s", command, f.tree.reason(err))
	}
	text, err = reply(m)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", command, err)
	}
	return text, f.name, nil
}

// connect opens the first device that can be opened.
func (f *firmware) connect() error {
	if f.device != nil {
		return nil
	}
	var faults []string
	for _, name := range mailboxDevices {
		device, err := f.open(f.tree.path(name))
		if err == nil {
			f.device, f.name = device, strings.TrimPrefix(name, "/dev/")
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, f.tree.reason(err))
		}
	}
	if len(faults) == 0 {
		return errors.New("no such device: " + strings.Join(mailboxDevices, ", "))
	}
	return errors.New(strings.Join(faults, "; "))
}
