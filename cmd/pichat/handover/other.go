package handover

import (
	"slices"
	"strings"
)

// Other is the carried program: what it is called, and what it needs of the CPU.
type Other struct {
	Name  string
	Needs []Feature
}

// Feature is something a CPU may be able to do.
type Feature struct {
	// Name is as /proc/cpuinfo has it.
	Name string
	// Reported tells whether this CPU reports it, and the system allows it.
	Reported bool
}

// cortexA76 is the other program of the file for 64-bit ARM.
func cortexA76(dotProd, halfPrec bool) Other {
	return Other{"Cortex-A76", []Feature{{"asimddp", dotProd}, {"asimdhp", halfPrec}}}
}

// x64v3 is the other program of the file for x86-64. Its needs are the compiler's
// flags for it: scripts/engine.sh, flavour x64v3.
func x64v3(avx2, fma, f16c, bmi2 bool) Other {
	return Other{"x86-64-v3", []Feature{{"avx2", avx2}, {"fma", fma}, {"f16c", f16c}, {"bmi2", bmi2}}}
}

// needs lists all that the program needs.
func (o Other) needs() string { return list(o.Needs) }

// lacks lists what it needs and the CPU does not report; "" where it can run.
func (o Other) lacks() string {
	return list(slices.DeleteFunc(slices.Clone(o.Needs), func(f Feature) bool { return f.Reported }))
}

// list joins names as a sentence does.
func list(features []Feature) string {
	var names []string
	for _, f := range features {
		names = append(names, f.Name)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
