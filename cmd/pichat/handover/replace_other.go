//go:build !linux

package handover

import "errors"

// replace needs files in memory, which only Linux can run.
func replace(_, _ []string) error { return errors.New("this system is not Linux") }
