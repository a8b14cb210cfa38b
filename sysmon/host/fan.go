package host

import (
	"context"
	"fmt"
	"slices"
)

// fanHwmons are the names of CPU fans: the Pi 5's own (PWM with a tachometer)
// and a fan on a GPIO pin.
var fanHwmons = []string{"pwmfan", "gpio_fan"}

// fan finds the speed of the CPU's fan in revolutions per minute.
func fan(t tree) *locator[float64] {
	return &locator[float64]{
		tree: t,
		none: "no fan with a speed reading found",
		scan: func(context.Context) []candidate[float64] {
			var found []candidate[float64]
			for _, name := range t.glob("/sys/devices/platform/cooling_fan/hwmon/*/fan1_input") {
				found = append(found, t.rpm("cooling_fan", name))
			}
			for _, h := range t.hwmons() {
				if slices.Contains(fanHwmons, h.name) && len(t.list(h.dir, "fan1_input")) > 0 {
					found = append(found, t.rpm("hwmon "+h.name, h.dir+"/fan1_input"))
				}
			}
			return found
		},
	}
}

func (t tree) rpm(source, name string) candidate[float64] {
	return candidate[float64]{source: source, read: func(context.Context) (float64, error) {
		rpm, err := t.readNumber(name)
		if err == nil && rpm < 0 {
			err = fmt.Errorf("implausible fan speed of %g RPM", rpm)
		}
		return rpm, err
	}}
}
