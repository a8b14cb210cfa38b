package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/sysmon"
)

const (
	hwmon0 = "sys/class/hwmon/hwmon0/"
	hwmon1 = "sys/class/hwmon/hwmon1/"
	zone0  = "sys/class/thermal/thermal_zone0/"
)

func TestTemperature(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  sysmon.Reading[float64]
	}{
		"by name, not by number or maximum": {map[string]string{
			hwmon0 + "name": "rp1_adc", hwmon0 + "temp1_input": "90000",
			hwmon1 + "name": "cpu_thermal", hwmon1 + "temp1_input": "46300",
		}, sysmon.Measured(46.3, "hwmon cpu_thermal")},
		"other devices do not hide the zones": {map[string]string{
			hwmon0 + "name": "ds3231", hwmon0 + "temp1_input": "24250",
			zone0 + "type": "cpu-thermal", zone0 + "temp": "46698",
		}, sysmon.Measured(46.698, "thermal zone cpu-thermal")},
		"the old zone's name": {map[string]string{
			zone0 + "type": "bcm2835_thermal", zone0 + "temp": "40000",
		}, sysmon.Measured(40.0, "thermal zone bcm2835_thermal")},
		"the CPU's zone before the case's": {map[string]string{
			zone0 + "type": "acpitz", zone0 + "temp": "27800",
			"sys/class/thermal/thermal_zone1/type": "x86_pkg_temp", "sys/class/thermal/thermal_zone1/temp": "52000",
		}, sysmon.Measured(52.0, "thermal zone x86_pkg_temp")},
		"the die before the control value": {map[string]string{
			hwmon0 + "name": "k10temp", hwmon0 + "temp1_input": "70000", hwmon0 + "temp1_label": "Tctl",
			hwmon0 + "temp2_input": "60000", hwmon0 + "temp2_label": "Tdie",
		}, sysmon.Measured(60.0, "hwmon k10temp")},
		"a cold day is not a fault": {map[string]string{
			zone0 + "type": "cpu-thermal", zone0 + "temp": "0",
		}, sysmon.Measured(0.0, "thermal zone cpu-thermal")},
		"a sensor that is off": {map[string]string{
			zone0 + "type": "cpu-thermal", zone0 + "temp": "-274000",
		}, sysmon.Unknown[float64]("thermal zone cpu-thermal: implausible reading of -274.0 °C")},
		"no number": {map[string]string{
			zone0 + "type": "cpu-thermal", zone0 + "temp": "N/A",
		}, sysmon.Unknown[float64](`thermal zone cpu-thermal: not a number, "N/A": /sys/class/thermal/thermal_zone0/temp`)},
		"all fail, each with its reason": {map[string]string{
			hwmon0 + "name": "cpu_thermal", hwmon0 + "temp1_input": "",
			zone0 + "type": "cpu-thermal", zone0 + "temp/unreadable": "",
		}, sysmon.Unknown[float64]("hwmon cpu_thermal: empty file: /sys/class/hwmon/hwmon0/temp1_input; " +
			"thermal zone cpu-thermal: is a directory: /sys/class/thermal/thermal_zone0/temp")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, data := range tt.files {
				put(t, root, file, data)
			}
			if got := Readers(Config{Root: root}).TempCelsius(t.Context()); got != tt.want {
				t.Errorf("temperature = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// A driver that is loaded again comes back under another number.
func TestTemperatureIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		read := Readers(Config{Root: root}).TempCelsius
		expect := func(when string, want sysmon.Reading[float64]) {
			t.Helper()
			if got := read(t.Context()); got != want {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		none := sysmon.Unknown[float64]("no CPU temperature sensor found in /sys/class/hwmon or /sys/class/thermal")
		expect("at first", none)

		put(t, root, zone0+"type", "cpu-thermal")
		put(t, root, zone0+"temp", "41000")
		expect("between searches", none)
		time.Sleep(rescanPeriod) // of the bubble's clock
		expect("after a search", sysmon.Measured(41.0, "thermal zone cpu-thermal"))

		put(t, root, hwmon0+"name", "cpu_thermal")
		put(t, root, hwmon0+"temp1_input", "42000")
		expect("the best there was is kept", sysmon.Measured(41.0, "thermal zone cpu-thermal"))
		remove(t, root, "sys/class/thermal")
		expect("it is gone", sysmon.Measured(42.0, "hwmon cpu_thermal"))

		remove(t, root, "sys/class/hwmon")
		put(t, root, hwmon1+"name", "cpu_thermal")
		put(t, root, hwmon1+"temp1_input", "43000")
		expect("under another number", sysmon.Measured(43.0, "hwmon cpu_thermal"))
	})
}

// A lesser sensor stands in only while the best one fails.
func TestTemperatureReturnsToTheBestSensor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		put(t, root, hwmon0+"name", "coretemp")
		put(t, root, hwmon0+"temp1_input", "")
		put(t, root, zone0+"type", "acpitz")
		put(t, root, zone0+"temp", "27800")
		read := Readers(Config{Root: root}).TempCelsius
		if got := read(t.Context()); got.Source != "thermal zone acpitz" {
			t.Errorf("while coretemp fails: %+v, want the zone", got)
		}
		put(t, root, hwmon0+"temp1_input", "52000")
		time.Sleep(rescanPeriod) // of the bubble's clock
		if got := read(t.Context()); got != sysmon.Measured(52.0, "hwmon coretemp") {
			t.Errorf("when coretemp works again: %+v, want it", got)
		}
	})
}

// Unreadable is unknown, never "not throttled"; sticky bits are not current.
func TestThrottleWord(t *testing.T) {
	const file = "sys/devices/platform/soc/soc:firmware/get_throttled"
	tests := map[string]struct {
		text           string
		now, sinceBoot string // the active limits, or the reason
	}{
		"all well":             {"0\n", "", ""},
		"was throttled":        {"50000\n", "", "under-voltage, throttled"},
		"is throttled":         {"50005\n", "under-voltage, throttled", "under-voltage, throttled"},
		"soft limit, in lower": {"e0008\n", "soft temperature limit", "clock capped, throttled, soft temperature limit"},
		"in upper":             {"E0008\n", "soft temperature limit", "clock capped, throttled, soft temperature limit"},
		"with 0x":              {"0x50000\n", "", "under-voltage, throttled"},
		"empty":                {"", "empty file", "empty file"},
		"no word":              {"error=1\n", `not a hexadecimal word, "error=1"`, `not a hexadecimal word, "error=1"`},
		"too large":            {"100000000\n", "not a hexadecimal word", "not a hexadecimal word"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, file, tt.text)
			got := Readers(Config{Root: root}).Throttle(t.Context())
			check := func(group string, limits sysmon.Limits, want string) {
				t.Helper()
				any := limits.Any()
				if !any.Known {
					if want == "" || !strings.Contains(any.Reason, want) {
						t.Errorf("%s is unknown (%s), want %q", group, any.Reason, want)
					}
				} else if active := strings.Join(limits.Active(), ", "); active != want {
					t.Errorf("%s: %q, want %q", group, active, want)
				}
			}
			check("now", got.Now, tt.now)
			check("since boot", got.SinceBoot, tt.sinceBoot)
		})
	}
}

// Where the firmware's word cannot be read, the voltage monitor still tells of
// under-voltage, and does not flicker.
func TestVoltageAlarm(t *testing.T) {
	root := t.TempDir()
	put(t, root, "sys/devices/platform/soc/soc:firmware/get_throttled", "")
	put(t, root, hwmon0+"name", "rpi_volt")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	read := throttleReader(tree(root), &firmware{tree: tree(root), open: openMailbox}, func() time.Time { return now })
	yes, no := sysmon.Measured(true, "hwmon rpi_volt"), sysmon.Measured(false, "hwmon rpi_volt")
	notSince := sysmon.Unknown[bool]("rpi_volt reports the present only; sysfs get_throttled: empty file: /sys/devices/platform/soc/soc:firmware/get_throttled")
	steps := []struct {
		after          time.Duration
		alarm          string
		now, sinceBoot sysmon.Reading[bool]
	}{
		{0, "0", no, notSince},
		{2 * time.Second, "1", yes, yes},
		{2 * time.Second, "0", yes, yes}, // held
		{2 * time.Second, "1", yes, yes},
		{5 * time.Second, "0", yes, yes},
		{1 * time.Second, "0", no, yes},
	}
	for i, step := range steps {
		now = now.Add(step.after)
		put(t, root, hwmon0+"in0_lcrit_alarm", step.alarm+"\n")
		got := read(t.Context())
		if got.Now.UnderVoltage != step.now || got.SinceBoot.UnderVoltage != step.sinceBoot {
			t.Errorf("step %d: now %+v, since boot %+v, want %+v and %+v",
				i, got.Now.UnderVoltage, got.SinceBoot.UnderVoltage, step.now, step.sinceBoot)
		}
		if got.Now.Throttled.Known {
			t.Errorf("step %d: throttled is known: %+v", i, got.Now.Throttled)
		}
	}
	put(t, root, hwmon0+"in0_lcrit_alarm", "2\n")
	if got := read(t.Context()).Now.UnderVoltage; got.Known {
		t.Errorf("an alarm of 2 is %+v, want unknown", got)
	}
}

func TestFanAndClock(t *testing.T) {
	const policy = "sys/devices/system/cpu/cpufreq/policy0/"
	root := t.TempDir()
	put(t, root, "sys/class/hwmon/hwmon0/name", "nct6775") // a fan, but whose?
	put(t, root, "sys/class/hwmon/hwmon0/fan1_input", "812")
	put(t, root, policy+"scaling_cur_freq", "<unknown>\n")
	put(t, root, policy+"cpuinfo_max_freq", "0\n")
	r := Readers(Config{Root: root})
	if got, want := r.FanRPM(t.Context()), sysmon.Unknown[float64]("no fan with a speed reading found"); got != want {
		t.Errorf("fan = %+v, want %+v", got, want)
	}
	if got := r.ClockHz(t.Context()); got.Known || !strings.Contains(got.Reason, `not a number, "<unknown>"`) {
		t.Errorf("clock = %+v, want unknown", got)
	}
	if got := r.MaxClockHz(t.Context()); got.Known || !strings.Contains(got.Reason, "implausible clock of 0 kHz") {
		t.Errorf("max clock = %+v, want unknown", got)
	}

	put(t, root, "sys/devices/platform/cooling_fan/hwmon/hwmon7/fan1_input", "-1")
	put(t, root, "sys/class/hwmon/hwmon7/name", "pwmfan")
	put(t, root, "sys/class/hwmon/hwmon7/fan1_input", "2950")
	if got, want := Readers(Config{Root: root}).FanRPM(t.Context()), sysmon.Measured(2950.0, "hwmon pwmfan"); got != want {
		t.Errorf("fan = %+v, want %+v", got, want)
	}
}
