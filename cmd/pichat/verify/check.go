package verify

import (
	"slices"
	"strings"

	"pichat/sysmon"
	"pichat/sysmon/host"
	"pichat/web"
)

// The engine's flavours in the file for the Pi.
const (
	baseline  = "armv8"
	cortexA76 = "a76"
)

// checkFlavour tells whether the program that runs is the one that the CPU allows.
func checkFlavour(m Machine, b web.Build) Check {
	c := Check{Name: "flavour", Found: b.Flavour, Source: b.Program, State: NotCompared}
	if b.Flavour == "" {
		c.Found, c.Source, c.Reason = "n/a", "", "the service does not say"
	}
	if b.Flavour != baseline && b.Flavour != cortexA76 {
		c.Expected = "any: this is not the file that make pi writes"
		return c
	}
	want, words := baseline, "has no asimddp with asimdhp"
	if slices.Contains(m.CPUFeatures, dotProduct) && slices.Contains(m.CPUFeatures, halfFloats) {
		want, words = cortexA76, "has asimddp and asimdhp"
	}
	c.Expected, c.State = want+": the CPU "+words, AsExpected
	kernels := slices.Contains(b.FeaturesUsed, "dotprod")
	switch {
	case b.Flavour != want:
		c.State = Differs
	case kernels != (want == cortexA76):
		c.State = Differs
		c.Expected += ", kernels that fit"
		c.Found += ", kernels " + strings.Join(b.FeaturesUsed, " ")
	}
	return c
}

// checkReadings holds every reading against what is expected of the board; of
// "", or one that is not known, nothing is.
func checkReadings(board string, vitals sysmon.Snapshot) []Check {
	expected := map[string]host.Expectation{}
	for _, e := range host.Expected(board) {
		expected[e.Name] = e
	}
	var list []Check
	vitals.EachReading(func(name string, r sysmon.AnyReading) {
		c := Check{Name: name, Found: "n/a", Source: r.Source, Reason: r.Reason, State: NotCompared, Expected: "nothing is known"}
		if r.Known {
			c.Found = r.InWords(name)
		}
		if e, ok := expected[name]; ok {
			c.Expected, c.State = inWords(e), Differs
			if asExpected(e, c, r.Known) {
				c.State = AsExpected
			}
		}
		list = append(list, c)
	})
	return list
}

// inWords writes an expectation.
func inWords(e host.Expectation) string {
	if !e.Known {
		if e.Optional {
			return "n/a, or a value"
		}
		return "n/a: " + e.Reason
	}
	words := "a value"
	if e.Value != "" {
		words = e.Value
	}
	if len(e.Sources) > 0 {
		words += " from " + strings.Join(e.Sources, " or ")
	}
	if e.Optional {
		words += ", or n/a where none is fitted"
	}
	return words
}

// noFan is the reason of a board without one; any other reason is a fault.
const noFan = "no fan with a speed reading found"

func asExpected(e host.Expectation, c Check, known bool) bool {
	switch {
	case e.Optional && !known:
		return c.Reason == noFan
	case e.Optional && !e.Known:
		return true
	case !known || !e.Known:
		return known == e.Known
	case e.Value != "" && e.Value != c.Found:
		return false
	}
	return len(e.Sources) == 0 || slices.Contains(e.Sources, host.SourceKind(c.Source))
}
