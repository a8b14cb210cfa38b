package sim

import "fmt"

// published is a row of figures that others measured with llama-bench: tg and
// pp are tokens/s of one stream and of a prompt.
type published struct {
	name, machine, model, date, url string
	tg, pp                          float64
}

// The rows are chosen for being of one source each, decode and prompt, with the
// same threads.
var rows = []published{
	{"Pi 5, 0.5B", "Raspberry Pi 5, BCM2712", "Qwen2.5 0.5B Instruct Q4_0", "2026-10-03",
		"https://learn.arm.com/learning-paths/cross-platform/llm-decode-roofline/", 27.28, 289.92},
	{"Pi 5, 1.5B", "Raspberry Pi 5, BCM2712", "Qwen2.5 1.5B Instruct Q4_0", "2026-10-03",
		"https://learn.arm.com/learning-paths/cross-platform/llm-decode-roofline/", 12.43, 82.6},
	{"Pi 4, 270M", "Raspberry Pi 4B, BCM2711", "Gemma 3 270M Q4_0", "2025-11-22",
		"https://github.com/sensura-san/llm-bench/tree/main/results", 14.1, 76.62},
	{"Pi 4, 1B", "Raspberry Pi 4B, BCM2711", "Llama 3.2 1B Q4_0", "2025-11-22",
		"https://github.com/sensura-san/llm-bench/tree/main/results", 4.61, 11.35},
}

// derivedSlots is how many streams derived curves go to.
const derivedSlots = 8

// derived makes curves from published figures. A step reads the weights once,
// whatever the number of streams, and computes for each: T(1) = 1/tg, and every
// further stream adds k times what a prompt token costs:
//
//	T(B) = 1/tg + k (B-1)/pp
//
// A stream's token costs more than a prompt's, since small batches use the
// matrix kernels badly. How much more is taken from the machine that was
// measured.
func derived(measured Curve) []Curve {
	k := StreamCost(measured)
	var curves []Curve
	for _, r := range rows {
		c := Curve{Name: r.name, Machine: r.machine, Model: r.model, Date: r.date, Derived: true,
			Source:                 fmt.Sprintf("derived from tg %.4g and pp %.4g tokens/s, %s", r.tg, r.pp, r.url),
			PrefillTokensPerSecond: r.pp, SharedPrefillTokensPerSecond: r.pp}
		for b := range derivedSlots {
			c.StepSeconds = append(c.StepSeconds, 1/r.tg+k*float64(b)/r.pp)
		}
		curves = append(curves, c)
	}
	return curves
}

// StreamCost is k: what a further stream adds to a step on average, over what a
// prompt token costs.
func StreamCost(c Curve) float64 {
	further := c.Slots() - 1
	return (c.StepSeconds[further] - c.StepSeconds[0]) / float64(further) * c.PrefillTokensPerSecond
}
