//go:build !linux

package host

import (
	"errors"
	"os"
)

// openMailbox has no device to open: only Linux has a driver for it.
func openMailbox(path string) (Mailbox, error) {
	return nil, &os.PathError{Op: "open", Path: path, Err: errors.ErrUnsupported}
}
