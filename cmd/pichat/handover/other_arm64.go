package handover

import "golang.org/x/sys/cpu"

// other asks the kernel what this CPU can do. A variable, as tests run on other CPUs.
var other = func() Other { return cortexA76(cpu.ARM64.HasASIMDDP, cpu.ARM64.HasASIMDHP) }
