package host

import (
	"slices"
	"testing"
)

// What is expected of a board is what its kin of testdata read.
func TestExpected(t *testing.T) {
	find := func(model, name string) Expectation {
		t.Helper()
		list := Expected(model)
		i := slices.IndexFunc(list, func(e Expectation) bool { return e.Name == name })
		if i < 0 {
			t.Fatalf("nothing is expected of %s on %q", name, model)
		}
		return list[i]
	}
	const pi5, pi4 = "Raspberry Pi 5 Model B Rev 1.1", "Raspberry Pi 400 Rev 1.0"
	if e := find(pi5, "Power.Watts"); !e.Known || !slices.Equal(e.Sources, []string{"firmware pmic_read_adc"}) {
		t.Errorf("power of a Pi 5: %+v", e)
	}
	if e := find(pi4, "Power.Watts"); e.Known || e.Reason != "not available: only a Raspberry Pi 5 measures its power" {
		t.Errorf("power of a Pi 400: %+v", e)
	}
	if e := find(pi4, "Host.CPUModel"); e.Value != "Cortex-A72" {
		t.Errorf("processor of a Pi 400: %+v", e)
	}
	want := []string{"vcio get_throttled", "vcio_gencmd get_throttled"}
	if e := find(pi5, "Throttle.Now.Throttled"); !e.Known || !slices.Equal(e.Sources, want) || e.Value != "" {
		t.Errorf("throttling of a Pi 5: %+v, want the sources %v", e, want)
	}
	if e := find(pi5, "Process.CPUPercent"); !e.Known || len(e.Sources) > 0 {
		t.Errorf("CPU share: %+v, want it of any source", e)
	}
	if e := find("Raspberry Pi 3 Model B Rev 1.2", "FanRPM"); !e.Optional || e.Known {
		t.Errorf("fan of a Pi 3: %+v", e)
	}
	for _, stranger := range []string{"", "Radxa ROCK 5B", "Raspberry Pi 2 Model B Rev 1.2"} {
		if list := Expected(stranger); list != nil {
			t.Errorf("something is expected of %q: %+v", stranger, list)
		}
	}
}

func TestFamily(t *testing.T) {
	for model, want := range map[string]string{
		"Raspberry Pi Zero 2 W Rev 1.0":         "Zero 2 W",
		"Raspberry Pi 3 Model B Plus Rev 1.3":   "Pi 3",
		"Raspberry Pi Compute Module 4 Rev 1.0": "Pi 4",
		"Raspberry Pi 500 Rev 1.0":              "Pi 5",
		"Raspberry Pi Model B Rev 2":            "",
		"Hardkernel ODROID-N2":                  "",
	} {
		if got := Family(model); got != want {
			t.Errorf("%q is of the family %q, want %q", model, got, want)
		}
	}
}
