package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pichat/sysmon"
)

const powerCommand = "pmic_read_adc"

// supplyRail is the board's input. It has a voltage and no current.
const supplyRail = "EXT5V"

// maxWatts is more than a Pi 5 can draw from its 27 W supply, and then some.
const maxWatts = 60

// powerReader reads the rails of a Raspberry Pi 5's power chip. Other boards
// have no such command; they are asked once.
func powerReader(t tree, f *firmware) func(context.Context) sysmon.Power {
	absent := ""
	l := &locator[sysmon.Power]{
		tree: t,
		none: "no firmware to ask: " + strings.Join(mailboxDevices, " and ") + " are not there",
		scan: func(context.Context) []candidate[sysmon.Power] {
			if !f.present() {
				return nil
			}
			return []candidate[sysmon.Power]{{source: "firmware " + powerCommand, read: func(context.Context) (sysmon.Power, error) {
				text, _, err := f.ask(powerCommand)
				if errors.Is(err, errNotRegistered) {
					absent = "not available: only a Raspberry Pi 5 measures its power"
				}
				if err != nil {
					return sysmon.Power{}, err
				}
				return parsePower(text)
			}}}
		},
	}
	return func(ctx context.Context) sysmon.Power {
		if absent == "" {
			v, _, reason := l.get(ctx)
			if reason == "" {
				return v
			}
			if absent == "" {
				return sysmon.UnknownPower(reason)
			}
		}
		return sysmon.UnknownPower(absent)
	}
}

// parsePower reads lines such as "VDD_CORE_A current(7)=6.22421000A" and
// "VDD_CORE_V volt(15)=0.87670000V". A rail's current and voltage are paired by
// its name: their order and numbers differ.
func parsePower(text string) (sysmon.Power, error) {
	amps, volts := map[string]float64{}, map[string]float64{}
	for line := range strings.Lines(text) {
		name, measure, ok := strings.Cut(strings.TrimSpace(line), " ")
		_, value, found := strings.Cut(measure, ")=")
		if !ok || !found {
			continue
		}
		if rail, is := strings.CutSuffix(name, "_A"); is && strings.HasPrefix(measure, "current(") {
			keep(amps, rail, strings.TrimSuffix(value, "A"))
		} else if rail, is := strings.CutSuffix(name, "_V"); is && strings.HasPrefix(measure, "volt(") {
			keep(volts, rail, strings.TrimSuffix(value, "V"))
		}
	}
	const source = "firmware " + powerCommand
	sum, rails := 0.0, 0
	for rail, a := range amps {
		if v, ok := volts[rail]; ok {
			sum += a * v
			rails++
		}
	}
	if rails == 0 {
		return sysmon.Power{}, fmt.Errorf("%s: no rail with both current and voltage in %.80q", powerCommand, text)
	}
	if sum > maxWatts {
		return sysmon.Power{}, fmt.Errorf("%s: implausible power of %.1f W", powerCommand, sum)
	}
	p := sysmon.Power{
		Watts:       sysmon.Measured(math.Round(sum*1000)/1000, fmt.Sprintf("%s, %d rails", source, rails)),
		SupplyVolts: sysmon.Unknown[float64](powerCommand + " does not name " + supplyRail),
	}
	if v, ok := volts[supplyRail]; ok {
		p.SupplyVolts = sysmon.Measured(v, source)
	}
	return p, nil
}

// keep stores a measure; one that is no number, or negative, is left out.
func keep(rails map[string]float64, rail, value string) {
	if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && !math.IsInf(v, 0) {
		rails[rail] = v
	}
}
