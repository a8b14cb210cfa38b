package sim

import (
	"time"

	"pichat/llm/policy"
	"pichat/llm/reader"
)

// holdDelay is how long the hold policy waits for company.
const holdDelay = time.Second

// Contenders are the policies that are compared.
func Contenders() []Contender {
	return []Contender{
		{Name: "adaptive"},
		{Name: "adaptive, floor 5.2", Floor: reader.Average},
		{Name: "adaptive, refuses after 2 s", MaxWait: Limit},
		{Name: "one at a time", Fixed: policy.Fixed{N: 1}},
		{Name: "fixed 2", Fixed: policy.Fixed{N: 2}},
		{Name: "fixed 4", Fixed: policy.Fixed{N: 4}},
		{Name: "fixed 8", Fixed: policy.Fixed{N: 8}},
		{Name: "hold 4 for 1 s", Fixed: policy.Hold{N: 4, Delay: holdDelay}, Delay: holdDelay},
	}
}

// Loads are the arrival rates tried, in parts of Capacity.
func Loads() []float64 { return []float64{0.25, 0.7, 1.0, 1.5} }

// requests is how many arrive in a run on average; a tenth are the warm-up.
const requests = 600

// Sweep runs every contender at every load: results [load][contender]. All
// meet the same requests.
func Sweep(c Curve, t Traffic) [][]Result {
	var all [][]Result
	for _, load := range Loads() {
		during := seconds(requests / (load * Capacity(c)))
		s := Scenario{Curve: c, Traffic: t, Load: load, During: during, WarmUp: during / 10, Seed: 1}
		var row []Result
		for _, contender := range Contenders() {
			row = append(row, Run(s, contender))
		}
		all = append(all, row)
	}
	return all
}
