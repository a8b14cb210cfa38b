package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// read returns a small file of the machine without white space at its end.
func (c Config) read(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(c.root(), name))
	return strings.TrimSpace(strings.Trim(string(data), "\x00")), err
}

func (c Config) root() string {
	if c.Root == "" {
		return "/"
	}
	return c.Root
}

// because puts an error in words, with the file as people know it.
func because(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// system looks at what the operating system is set to.
func (c Config) system(ctx context.Context) []Finding {
	return []Finding{c.bits(), c.pages(ctx), c.governor(), c.dotProduct()}
}

// bits tells a 64-bit userland from a 32-bit one by its shell: the kernel alone
// does not say, since Raspberry Pi OS runs 32-bit programs on a 64-bit kernel.
func (c Config) bits() Finding {
	const name = "userland"
	for _, shell := range []string{"/usr/bin/sh", "/bin/sh"} {
		f, err := os.Open(filepath.Join(c.root(), shell))
		if err != nil {
			continue
		}
		var head [5]byte
		_, err = f.Read(head[:])
		_ = f.Close()
		if err != nil || string(head[:4]) != "\x7fELF" {
			continue
		}
		if head[4] == 1 {
			return Finding{name, "32-bit (by " + shell + ")", Warning,
				"pichat itself is a 64-bit program and runs; for the rest install the 64-bit Raspberry Pi OS, which suits this board better"}
		}
		return Finding{name, "64-bit (by " + shell + ")", OK, ""}
	}
	return Finding{name, "no /bin/sh to tell by", Unknown, ""}
}

// pages words the kernel's page size. A Pi 5's own kernel has 16 KiB.
func (c Config) pages(ctx context.Context) Finding {
	value := fmt.Sprintf("%d KiB", c.PageSize/1024)
	if c.Readers.BoardModel != nil && strings.Contains(c.Readers.BoardModel(ctx).Value, "Raspberry Pi 5") {
		if c.PageSize == 16384 {
			value += ", as the Pi 5's own kernel has"
		} else {
			value += ": not the Pi 5's own kernel, which has 16 KiB"
		}
	}
	return Finding{"page size", value, OK, ""}
}

const cpufreq = "/sys/devices/system/cpu/cpufreq/policy0/"

// governor looks at what sets the clock.
func (c Config) governor() Finding {
	const name = "governor"
	governor, err := c.read(cpufreq + "scaling_governor")
	if err != nil {
		return Finding{name, "scaling_governor: " + because(err), Unknown, ""}
	}
	driver, _ := c.read(cpufreq + "scaling_driver")
	f := Finding{name, governor, OK, ""}
	switch {
	case strings.Contains(driver, "pstate"): // there powersave is a moving clock
		f.Value += " (" + driver + ")"
	case governor == "powersave" || governor == "userspace":
		f.State, f.Value = Warning, governor+": it holds the clock down"
		f.Remedy = "let the clock rise: echo ondemand | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
	}
	return f
}

// dotProduct tells whether an ARM CPU has the instructions that make
// quantized models fast (ARMv8.2 asimddp: Pi 5 and later).
func (c Config) dotProduct() Finding {
	const name = "dot product"
	text, err := c.read("/proc/cpuinfo")
	if err != nil {
		return Finding{name, "/proc/cpuinfo: " + because(err), Unknown, ""}
	}
	for line := range strings.Lines(text) {
		label, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(label) != "Features" {
			continue
		}
		for _, feature := range strings.Fields(value) {
			if feature == "asimddp" {
				return Finding{name, "the CPU has it (asimddp)", OK, ""}
			}
		}
		return Finding{name, "the CPU has none (no asimddp): the kernels for every 64-bit Pi run", OK, ""}
	}
	return Finding{name, "no ARM CPU: see CPU uses above", Unknown, ""}
}
