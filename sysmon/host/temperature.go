package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Names of the sensors that sit on the CPU, best first. Any other name (an
// RTC, the RP1 chip of a Pi 5, an NVMe drive) never counts, whatever it reads.
var (
	cpuHwmons = []string{"cpu_thermal", "bcm2835_thermal", "soc_thermal", "coretemp", "k10temp", "zenpower"}
	cpuZones  = []string{"cpu_thermal", "bcm2835_thermal", "soc_thermal", "x86_pkg_temp", "acpitz"}
	// cpuLabels are the inputs of a PC's sensor that stand for the whole CPU.
	cpuLabels = []string{"package id 0", "tdie", "tctl"}
)

// What a CPU can have while it runs this program, in degrees Celsius. A
// sensor that is off or broken often reads far outside.
const (
	minCelsius = -60
	maxCelsius = 150
)

const thermalDir = "/sys/class/thermal"

// thermometer finds the CPU's temperature in degrees Celsius: in hwmon, else
// in the thermal zones (a Pi 3 has only those; and gopsutil drops them as soon
// as any hwmon device exists), else wherever gopsutil knows a CPU sensor.
func thermometer(t tree, stats *gopsutil) *locator[float64] {
	return &locator[float64]{
		tree: t,
		none: "no CPU temperature sensor found in " + hwmonDir + " or " + thermalDir,
		scan: func(ctx context.Context) []candidate[float64] {
			found := append(t.hwmonTemperatures(), t.zoneTemperatures()...)
			if len(found) == 0 {
				found = stats.temperatures(ctx)
			}
			return found
		},
	}
}

func (t tree) hwmonTemperatures() []candidate[float64] {
	devices := slices.DeleteFunc(t.hwmons(), func(h hwmon) bool { return !slices.Contains(cpuHwmons, h.name) })
	slices.SortStableFunc(devices, func(a, b hwmon) int {
		return cmp.Compare(slices.Index(cpuHwmons, a.name), slices.Index(cpuHwmons, b.name))
	})
	var found []candidate[float64]
	for _, h := range devices {
		if input := t.cpuInput(h); input != "" {
			found = append(found, t.celsius("hwmon "+h.name, input))
		}
	}
	return found
}

// cpuInput returns the temperature input of h that stands for the whole CPU:
// the one labelled so, else the first. Empty when it has none.
func (t tree) cpuInput(h hwmon) string {
	first, best, rank := "", "", len(cpuLabels)
	for _, entry := range t.list(h.dir, "temp") {
		base, isInput := strings.CutSuffix(entry, "_input")
		if !isInput {
			continue
		}
		input := h.dir + "/" + entry
		if first == "" {
			first = input
		}
		label, err := t.readValue(h.dir + "/" + base + "_label")
		if err != nil {
			continue // most inputs have no label
		}
		if r := slices.Index(cpuLabels, strings.ToLower(label)); r >= 0 && r < rank {
			best, rank = input, r
		}
	}
	return cmp.Or(best, first)
}

func (t tree) zoneTemperatures() []candidate[float64] {
	type zone struct {
		dir, kind string
		rank      int
	}
	var zones []zone
	for _, entry := range t.list(thermalDir, "thermal_zone") {
		dir := thermalDir + "/" + entry
		kind, err := t.readValue(dir + "/type")
		if err != nil {
			continue
		}
		if rank := slices.Index(cpuZones, normalName(kind)); rank >= 0 {
			zones = append(zones, zone{dir, kind, rank})
		}
	}
	slices.SortStableFunc(zones, func(a, b zone) int { return cmp.Compare(a.rank, b.rank) })
	var found []candidate[float64]
	for _, z := range zones {
		found = append(found, t.celsius("thermal zone "+z.kind, z.dir+"/temp"))
	}
	return found
}

// celsius reads a file of thousandths of a degree.
func (t tree) celsius(source, name string) candidate[float64] {
	return candidate[float64]{source: source, read: func(context.Context) (float64, error) {
		milli, err := t.readNumber(name)
		if err != nil {
			return 0, err
		}
		return plausible(milli / 1000)
	}}
}

// plausible refuses a temperature that no running CPU has.
func plausible(celsius float64) (float64, error) {
	if celsius < minCelsius || celsius > maxCelsius {
		return 0, fmt.Errorf("implausible reading of %.1f °C", celsius)
	}
	return celsius, nil
}
