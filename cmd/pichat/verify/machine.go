package verify

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"pichat/sysmon"
)

// Machine is what a program can tell of the machine it runs on without the
// service.
type Machine struct {
	// Board is what the device tree calls the machine.
	Board sysmon.Reading[string] `json:"board"`
	OS    sysmon.Reading[string] `json:"os"`
	// Kernel is its release.
	Kernel sysmon.Reading[string] `json:"kernel"`
	// KernelArch is the kernel's own machine, such as "aarch64". An emulator of
	// programs does not disguise it; it does disguise uname.
	KernelArch sysmon.Reading[string] `json:"kernel_arch"`
	// ProgramArch is what this program was built for, such as "arm64".
	ProgramArch   string `json:"program_arch"`
	PageSizeBytes int    `json:"page_size_bytes"`
	// CPUFeatures are those that the kernel reports to an ARM program; nil on
	// other CPUs.
	CPUFeatures []string `json:"cpu_features,omitempty"`
	// FirmwareSerial tells whether a Pi's firmware put its serial number into
	// the device tree. The number itself is nobody's business.
	FirmwareSerial bool `json:"firmware_serial"`
}

// Look reads the machine below root, "" for this one.
func Look(root string) Machine {
	read := func(name string) sysmon.Reading[string] {
		data, err := os.ReadFile(filepath.Join("/", root, name))
		text := strings.TrimSpace(strings.Trim(string(data), "\x00"))
		switch {
		case err != nil:
			return sysmon.Unknown[string](name + ": cannot be read here")
		case text == "":
			return sysmon.Unknown[string](name + " is empty")
		}
		return sysmon.Measured(text, name)
	}
	serial, known := read("/proc/device-tree/serial-number").Get()
	return Machine{
		Board:          read("/proc/device-tree/model"),
		Kernel:         read("/proc/sys/kernel/osrelease"),
		KernelArch:     kernelArch(read),
		ProgramArch:    runtime.GOARCH,
		PageSizeBytes:  os.Getpagesize(),
		CPUFeatures:    cpuFeatures(),
		FirmwareSerial: known && strings.Trim(serial, "0") != "",
	}
}

// kernelArch asks for the kernel's machine, which kernels before 6.1 tell by
// the name of their CPU's drivers only.
func kernelArch(read func(string) sysmon.Reading[string]) sysmon.Reading[string] {
	arch := read("/proc/sys/kernel/arch")
	if arch.Known {
		return arch
	}
	alias := read("/sys/devices/system/cpu/modalias") // cpu:type:aarch64:feature:…
	kind, ok := strings.CutPrefix(alias.Value, "cpu:type:")
	if !ok {
		return arch
	}
	kind, _, _ = strings.Cut(kind, ":")
	kind, _, _ = strings.Cut(kind, ",")
	return sysmon.Measured(kind, alias.Source)
}

// cpuFeatures lists what the kernel reports of an ARM CPU, by the kernel's names.
func cpuFeatures() []string {
	f := cpu.ARM64
	var list []string
	for _, feature := range []struct {
		name string
		has  bool
	}{
		{"fp", f.HasFP}, {"asimd", f.HasASIMD}, {"aes", f.HasAES}, {"pmull", f.HasPMULL}, {"sha1", f.HasSHA1},
		{"sha2", f.HasSHA2}, {"crc32", f.HasCRC32}, {"atomics", f.HasATOMICS}, {"fphp", f.HasFPHP},
		{dotProduct, f.HasASIMDDP}, {halfFloats, f.HasASIMDHP}, {"asimdrdm", f.HasASIMDRDM}, {"lrcpc", f.HasLRCPC},
		{"i8mm", f.HasI8MM}, {"sve", f.HasSVE},
	} {
		if feature.has {
			list = append(list, feature.name)
		}
	}
	return list
}

// The two features that decide which program of the file runs.
const (
	dotProduct = "asimddp"
	halfFloats = "asimdhp"
)

// Emulated tells that this ARM program runs on another kind of machine.
func (m Machine) Emulated() bool {
	return m.ProgramArch == "arm64" && m.KernelArch.Known && m.KernelArch.Value != "aarch64"
}

// NotAPi lists why the machine is not taken for a Raspberry Pi; nil on one. An
// emulator of a whole board that copies the device tree with its serial number
// is not told apart.
func (m Machine) NotAPi() []string {
	var why []string
	if m.Emulated() {
		why = append(why, "the program is for arm64 and the kernel for "+m.KernelArch.Value+" ("+m.KernelArch.Source+"): it runs by emulation")
	} else if m.ProgramArch != "arm64" {
		why = append(why, "the program is for "+m.ProgramArch+", and a 64-bit Pi runs arm64")
	}
	switch {
	case !m.Board.Known:
		why = append(why, "no device tree names the board")
	case !strings.HasPrefix(m.Board.Value, "Raspberry Pi "):
		why = append(why, "the device tree calls the board \""+m.Board.Value+"\"")
	case !m.FirmwareSerial:
		why = append(why, "the device tree names a Raspberry Pi, but a Pi's firmware would have put a serial number there")
	}
	return why
}
