package host

import (
	"context"
	"fmt"
)

const cpufreqDir = "/sys/devices/system/cpu/cpufreq"

// clock finds the clock, in hertz, that the kernel has asked for. The firmware
// of a Pi may run the CPU slower than asked while it throttles.
func clock(t tree) *locator[float64] { return t.frequency("scaling_cur_freq") }

// maxClock finds the highest clock, in hertz, that can be asked for.
func maxClock(t tree) *locator[float64] { return t.frequency("cpuinfo_max_freq") }

// frequency finds a cpufreq file of the first core's group. Both clocks come
// from the same group, so that they can be compared.
func (t tree) frequency(file string) *locator[float64] {
	return &locator[float64]{
		tree: t,
		none: "no clock control found in " + cpufreqDir,
		scan: func(context.Context) []candidate[float64] {
			policies := t.list(cpufreqDir, "policy")
			if len(policies) == 0 {
				return nil
			}
			name := cpufreqDir + "/" + policies[0] + "/" + file
			return []candidate[float64]{{source: "cpufreq " + file, read: func(context.Context) (float64, error) {
				kilohertz, err := t.readNumber(name)
				if err == nil && kilohertz <= 0 {
					err = fmt.Errorf("implausible clock of %g kHz", kilohertz)
				}
				return kilohertz * 1000, err
			}}}
		},
	}
}
