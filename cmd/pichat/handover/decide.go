package handover

// Wishes are the values of --cpu.
const (
	Auto     = "auto"     // the program that fits the CPU
	Baseline = "baseline" // the one that runs on every CPU the file is for
	Native   = "native"   // the carried one; a fault is said where the CPU cannot run it
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
	// Other is the program that is carried, with what the CPU reports of its needs.
	Other Other
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
	name, lacks := f.Other.Name, f.Other.lacks()
	switch {
	case !f.Carries:
		return Decision{Reason: "the only program in this file"}
	case f.Probing:
		return Decision{Reason: "baseline, as the process that started this one"}
	case f.Wish == Baseline:
		return Decision{Reason: "baseline, by --cpu=baseline"}
	case f.Wish == "":
		return Decision{Reason: "baseline, since the settings could not be read"}
	case lacks == "" && f.Wish == Native:
		return Decision{HandOver: true, Reason: name + ", by --cpu=native"}
	case lacks == "":
		return Decision{HandOver: true, Reason: name + ", the CPU reports " + f.Other.needs()}
	}
	d := Decision{Reason: "baseline, the CPU does not report " + lacks}
	if f.Wish == Native {
		d.Fault = "--cpu=native: the CPU does not report " + lacks + ", so the " + name + " program would crash: the baseline one goes on"
	}
	return d
}
