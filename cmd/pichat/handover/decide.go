package handover

// Wishes are the values of --cpu.
const (
	Auto     = "auto"     // the program that fits the CPU
	Baseline = "baseline" // the one that runs on every 64-bit ARM CPU
	Native   = "native"   // the one for the Cortex-A76; a fault is said where the CPU cannot run it
)

// probeCommand is the hidden command of the child that tries a model file. It
// has an empty environment, and must stay in the program that its parent runs.
const probeCommand = "probe-model"

// Facts are all that the decision depends on.
type Facts struct {
	// Carries tells whether this program carries another one.
	Carries bool
	// Probing tells whether this process is a child that tries a model file.
	Probing bool
	// DotProd and HalfPrec are the kernel's asimddp and asimdhp.
	DotProd, HalfPrec bool
	// Wish is Auto, Baseline or Native; "" where it could not be read.
	Wish string
}

// Decision says what to do, and why.
type Decision struct {
	HandOver bool
	// Reason says which program runs and why.
	Reason string
	// Fault says which wish cannot be granted; "" where all is well.
	Fault string
}

// Decide chooses the program. It is pure.
func Decide(f Facts) Decision {
	fits := f.DotProd && f.HalfPrec
	switch {
	case !f.Carries:
		return Decision{Reason: "the only program in this file"}
	case f.Probing:
		return Decision{Reason: "baseline, as the process that started this one"}
	case f.Wish == Baseline:
		return Decision{Reason: "baseline, by --cpu=baseline"}
	case f.Wish == "":
		return Decision{Reason: "baseline, since the settings could not be read"}
	case fits && f.Wish == Native:
		return Decision{HandOver: true, Reason: "Cortex-A76, by --cpu=native"}
	case fits:
		return Decision{HandOver: true, Reason: "Cortex-A76, the CPU reports asimddp and asimdhp"}
	}
	lacks := "asimddp and asimdhp"
	switch {
	case f.DotProd:
		lacks = "asimdhp"
	case f.HalfPrec:
		lacks = "asimddp"
	}
	d := Decision{Reason: "baseline, the CPU does not report " + lacks}
	if f.Wish == Native {
		d.Fault = "--cpu=native: the CPU does not report " + lacks + ", so the Cortex-A76 program would crash: the baseline one goes on"
	}
	return d
}
