//go:build !linux

package doctor

import (
	"errors"
	"time"
)

// readUncached is not known to us on other systems.
func readUncached(string, int, time.Duration) (int, time.Duration, error) {
	return 0, 0, errors.New("not timed on this system")
}
