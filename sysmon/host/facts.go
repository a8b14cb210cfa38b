package host

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"pichat/sysmon"
)

// hostname, and the OS below, do not come from gopsutil's host.Info: that may
// fork a process, and keeps what it found for the whole program.
func (t tree) hostname(context.Context) sysmon.Reading[string] {
	const name = "/proc/sys/kernel/hostname"
	value, err := t.readValue(name)
	if err == nil {
		return sysmon.Measured(value, name)
	}
	if t.real() {
		if value, osErr := os.Hostname(); osErr == nil {
			return sysmon.Measured(value, "the operating system")
		}
	}
	return sysmon.Unknown[string](t.reason(err))
}

// boardModel is what the device tree calls the board. It ends with a NUL,
// which readValue takes away.
func (t tree) boardModel(context.Context) sysmon.Reading[string] {
	const name = "/proc/device-tree/model"
	value, err := t.readValue(name)
	switch {
	case err == nil:
		return sysmon.Measured(value, name)
	case errors.Is(err, fs.ErrNotExist):
		return sysmon.Unknown[string]("this machine has no device tree that names it")
	}
	return sysmon.Unknown[string](t.reason(err))
}

func (t tree) osName(context.Context) sysmon.Reading[string] {
	var firstErr error
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		value, err := t.prettyName(name)
		if err == nil {
			return sysmon.Measured(value, name)
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if t.real() {
		return sysmon.Measured(runtime.GOOS, "the program's build")
	}
	return sysmon.Unknown[string](t.reason(firstErr))
}

var errNoPrettyName = errors.New("no PRETTY_NAME in os-release")

// prettyName returns the PRETTY_NAME of an os-release file.
func (t tree) prettyName(name string) (string, error) {
	f, err := os.Open(t.path(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			if value = strings.Trim(value, `"' `); value != "" {
				return value, nil
			}
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", errNoPrettyName
}
