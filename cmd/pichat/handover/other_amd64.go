package handover

import "golang.org/x/sys/cpu"

// other asks the CPU what it can do, and the system what of it may be used. A
// variable, as tests run on other CPUs.
var other = func() Other {
	return x64v3(cpu.X86.HasAVX2, cpu.X86.HasFMA, cpu.X86.HasF16C, cpu.X86.HasBMI2)
}
