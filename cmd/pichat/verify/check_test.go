package verify

import (
	"slices"
	"strings"
	"testing"

	"pichat/cmd/pichat/doctor"
	"pichat/sysmon"
	"pichat/sysmon/host"
	"pichat/web"
)

const pi5 = "Raspberry Pi 5 Model B Rev 1.1"

// soundPi5 is what the service on a sound Pi 5 reads.
func soundPi5() sysmon.Snapshot {
	const firmware = "firmware measure_clock"
	return sysmon.Snapshot{
		Host: sysmon.Host{
			Hostname:   sysmon.Measured("pi5", "/proc/sys/kernel/hostname"),
			BoardModel: sysmon.Measured(pi5, "/proc/device-tree/model"),
			OS:         sysmon.Measured("Debian GNU/Linux 13 (trixie)", "/etc/os-release"),
			CPUModel:   sysmon.Measured("Cortex-A76", "/proc/cpuinfo"),
			Cores:      sysmon.Measured(4, "/proc/cpuinfo"),
			MaxClockHz: sysmon.Measured(2.4e9, "cpufreq cpuinfo_max_freq"),
		},
		CPU: sysmon.CPU{
			BusyPercent: sysmon.Measured(98.0, "/proc/stat"),
			TempCelsius: sysmon.Measured(71.2, "hwmon cpu_thermal"),
			ClockHz:     sysmon.Measured(2.4e9, "cpufreq scaling_cur_freq"),
			TrueClockHz: sysmon.Measured(2.4e9, firmware),
		},
		Memory: sysmon.Memory{
			RAM:  sysmon.Measured(sysmon.RAM{TotalBytes: 8e9, AvailableBytes: 6e9, UsedBytes: 2e9}, "/proc/meminfo"),
			Swap: sysmon.Measured(sysmon.Swap{}, "/proc/meminfo"),
		},
		Process: sysmon.Process{
			CPUPercent: sysmon.Measured(396.0, "getrusage"),
			Memory:     sysmon.Measured(sysmon.ProcessMemory{}, "/proc/self/statm"),
		},
		Throttle: sysmon.DecodeThrottled(0, "vcio_gencmd get_throttled"),
		FanRPM:   sysmon.Measured(3000.0, "cooling_fan"),
		Power: sysmon.Power{ // more rails than the fixture has
			Watts:       sysmon.Measured(7.1, "firmware pmic_read_adc, 12 rails"),
			SupplyVolts: sysmon.Measured(5.1, "firmware pmic_read_adc"),
		},
		Load: sysmon.Measured(sysmon.LoadAverage{One: 4}, "/proc/loadavg"),
	}
}

// differing lists the readings that differ.
func differing(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if c.State == Differs {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestReadingsOfASoundPi(t *testing.T) {
	checks := checkReadings(pi5, soundPi5())
	if len(checks) < 25 {
		t.Fatalf("only %d readings", len(checks))
	}
	for _, c := range checks {
		if c.State != AsExpected {
			t.Errorf("%s is %s: expected %s, found %s (%s)", c.Name, c.State, c.Expected, c.Found, c.Source)
		}
	}
}

// Each of these is what goes wrong on a real board.
func TestReadingsThatDiffer(t *testing.T) {
	const denied = "firmware measure_clock: permission denied: /dev/vcio_gencmd"
	for name, tt := range map[string]struct {
		change func(*sysmon.Snapshot)
		want   []string
	}{
		"mailbox denied": {func(s *sysmon.Snapshot) { s.CPU.TrueClockHz = sysmon.Unknown[float64](denied) }, []string{"CPU.TrueClockHz"}},
		"second source":  {func(s *sysmon.Snapshot) { s.CPU.TempCelsius.Source = "hwmon rp1_adc" }, []string{"CPU.TempCelsius"}},
		"other processor": {func(s *sysmon.Snapshot) {
			s.Host.CPUModel.Value = "Cortex-A72"
			s.Host.Cores.Value = 2
		}, []string{"Host.CPUModel", "Host.Cores"}},
		"no fan":        {func(s *sysmon.Snapshot) { s.FanRPM = sysmon.Unknown[float64](noFan) }, nil},
		"fan stuck":     {func(s *sysmon.Snapshot) { s.FanRPM = sysmon.Unknown[float64]("no answer within 100ms") }, []string{"FanRPM"}},
		"fan at rest":   {func(s *sysmon.Snapshot) { s.FanRPM.Value = 0 }, nil},
		"older mailbox": {func(s *sysmon.Snapshot) { s.Throttle = sysmon.DecodeThrottled(5, "vcio get_throttled") }, nil},
	} {
		vitals := soundPi5()
		tt.change(&vitals)
		if got := differing(checkReadings(pi5, vitals)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v differ, want %v", name, got, tt.want)
		}
	}
	// A Pi 4 has no power chip: a reading there would be somebody else's.
	got := differing(checkReadings("Raspberry Pi 4 Model B Rev 1.4", soundPi5()))
	for _, want := range []string{"Power.Watts", "Host.CPUModel"} {
		if !slices.Contains(got, want) {
			t.Errorf("on a Pi 4 %v differ, want %s among them", got, want)
		}
	}
	for _, c := range checkReadings("", soundPi5()) {
		if c.State != NotCompared {
			t.Fatalf("off a Pi %s is %s", c.Name, c.State)
		}
	}
}

func TestFlavour(t *testing.T) {
	fast, slow := []string{"asimd", "asimddp", "asimdhp"}, []string{"asimd", "crc32"}
	a76 := []string{"neon", "dotprod"}
	for name, tt := range map[string]struct {
		features []string
		build    web.Build
		want     State
	}{
		"Pi 5":                   {fast, web.Build{Flavour: "a76", FeaturesUsed: a76}, AsExpected},
		"Pi 4":                   {slow, web.Build{Flavour: "armv8", FeaturesUsed: []string{"neon"}}, AsExpected},
		"held back on a Pi 5":    {fast, web.Build{Flavour: "armv8", Program: "baseline, by --cpu=baseline"}, Differs},
		"too fast for a Pi 4":    {slow, web.Build{Flavour: "a76", FeaturesUsed: a76}, Differs},
		"kernels without dots":   {fast, web.Build{Flavour: "a76", FeaturesUsed: []string{"neon"}}, Differs},
		"built on the spot":      {fast, web.Build{Flavour: "native"}, NotCompared},
		"a service that is mute": {fast, web.Build{}, NotCompared},
		"half of the features":   {[]string{"asimddp"}, web.Build{Flavour: "armv8"}, AsExpected},
	} {
		if got := checkFlavour(Machine{CPUFeatures: tt.features}, tt.build); got.State != tt.want {
			t.Errorf("%s: %s, want %s (expected %s, found %s)", name, got.State, tt.want, got.Expected, got.Found)
		}
	}
}

// realPi5 is a report of a Pi 5 with everything in place, not yet judged.
func realPi5() *Report {
	return &Report{
		Version: "v1.2.3", Doctor: &doctor.Report{},
		Machine: Machine{
			Board: sysmon.Measured(pi5, "/proc/device-tree/model"), KernelArch: sysmon.Measured("aarch64", "/proc/sys/kernel/arch"),
			ProgramArch: "arm64", FirmwareSerial: true, PageSizeBytes: 16384, CPUFeatures: []string{"asimddp", "asimdhp"},
		},
		Service: Service{Build: web.Build{Flavour: "a76", FeaturesUsed: []string{"dotprod"}}},
		Load:    Load{Samples: []Sample{{}, {}}},
	}
}

func TestJudgeARealPi(t *testing.T) {
	r := realPi5()
	r.judge(soundPi5())
	if !r.Pi || r.NotAPi != nil || len(r.Differs) > 0 || r.Notice != "Measured on a "+pi5+"." {
		t.Errorf("%+v", r)
	}
	if want := "raspberry-pi-5-model-b-rev-1.1-v1.2.3"; r.FileName != want {
		t.Errorf("the file's name is %q, want %q", r.FileName, want)
	}
	r.Load.Shared = true
	r.Doctor.Sections = []doctor.Section{{Title: "Model", Findings: []doctor.Finding{{Name: "checks", Value: "broken", State: doctor.Fault}}}}
	r.judge(soundPi5())
	if len(r.Differs) != 2 || !strings.Contains(r.Differs[0], "somebody else") || r.Differs[1] != "doctor: checks: broken" {
		t.Errorf("differs: %q", r.Differs)
	}
}

// What is no Pi must never pass for one, whatever its device tree says.
func TestJudgeWhatIsNoPi(t *testing.T) {
	for name, tt := range map[string]struct {
		change         func(*Machine)
		file, why, say string
	}{
		"emulated, with a Pi's device tree": {func(m *Machine) { m.KernelArch.Value = "x86_64" }, "not-a-pi-emulated-v1.2.3", "runs by emulation", "EMULATION"},
		"x86":                               {func(m *Machine) { m.ProgramArch = "amd64" }, "not-a-pi-v1.2.3", "is for amd64", "NOT A RASPBERRY PI"},
		"another board":                     {func(m *Machine) { m.Board.Value = "Radxa ROCK 5B" }, "not-a-pi-v1.2.3", "Radxa ROCK 5B", "NOT A RASPBERRY PI"},
		"a server":                          {func(m *Machine) { m.Board = sysmon.Unknown[string]("none") }, "not-a-pi-v1.2.3", "no device tree", "NOT A RASPBERRY PI"},
		"a copied device tree":              {func(m *Machine) { m.FirmwareSerial = false }, "not-a-pi-v1.2.3", "serial number", "NOT A RASPBERRY PI"},
	} {
		r := realPi5()
		tt.change(&r.Machine)
		r.judge(soundPi5())
		if r.Pi || r.FileName != tt.file || !strings.Contains(r.Notice, tt.say) || !strings.Contains(strings.Join(r.NotAPi, " "), tt.why) {
			t.Errorf("%s: pi %v, file %q, %q, %q", name, r.Pi, r.FileName, r.Notice, r.NotAPi)
		}
		var text strings.Builder
		if err := r.Text(&text); err != nil || !strings.HasPrefix(text.String(), "# NOT A RASPBERRY PI\n") {
			t.Errorf("%s: the report begins %.60q (%v)", name, text.String(), err)
		}
		if got := differing(r.Readings); got != nil {
			t.Errorf("%s: %v differ, though nothing is expected", name, got)
		}
	}
}

// A Pi that the table does not know is one, but nothing is said to be right of it.
func TestJudgeAnUnknownPi(t *testing.T) {
	r := realPi5()
	r.Machine.Board.Value = "Raspberry Pi 9"
	r.judge(soundPi5())
	var text strings.Builder
	if err := r.Text(&text); err != nil || !r.Pi || !strings.Contains(text.String(), "Sensors were not compared") {
		t.Errorf("pi %v, %v:\n%s", r.Pi, err, text.String())
	}
}

// The families of the table are all that something is expected of.
func TestEveryFamilyHasReadings(t *testing.T) {
	for _, model := range []string{"Raspberry Pi Zero 2 W Rev 1.0", "Raspberry Pi 3 Model B Rev 1.2", "Raspberry Pi 4 Model B Rev 1.4", pi5} {
		if host.Expected(model) == nil {
			t.Errorf("nothing is expected of a %s", model)
		}
	}
}
