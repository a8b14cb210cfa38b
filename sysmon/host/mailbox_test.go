package host

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pichat/sysmon"
)

func TestThrottleFromTheMailbox(t *testing.T) {
	const sysfs = "sys/devices/platform/soc/soc:firmware/get_throttled"
	tests := map[string]struct {
		files          map[string]string
		now, sinceBoot string // active limits
		source, reason string
	}{
		"the filtered device first": {map[string]string{
			"dev/vcio_gencmd": "> get_throttled\nthrottled=0x50005\n", "dev/vcio": "> get_throttled\nthrottled=0x0\n",
		}, "under-voltage, throttled", "under-voltage, throttled", "vcio_gencmd get_throttled", ""},
		"the old device where the new is denied": {map[string]string{
			"dev/vcio_gencmd": "denied", "dev/vcio": "> get_throttled\nthrottled=0xe0008\n",
		}, "soft temperature limit", "clock capped, throttled, soft temperature limit", "vcio get_throttled", ""},
		"before the kernel's kept value": {map[string]string{
			"dev/vcio": "> get_throttled\nthrottled=0x0\n", sysfs: "50005\n",
		}, "", "", "vcio get_throttled", ""},
		"the kept value where it is denied": {map[string]string{
			"dev/vcio": "denied", sysfs: "50000\n",
		}, "", "under-voltage, throttled", "sysfs get_throttled", ""},
		"both denied, nothing else": {map[string]string{"dev/vcio_gencmd": "denied", "dev/vcio": "denied"},
			"", "", "", "firmware mailbox: permission denied: /dev/vcio_gencmd; permission denied: /dev/vcio"},
		"a reply that is none": {map[string]string{"dev/vcio": "> get_throttled\nthrottled=no\n"},
			"", "", "", `firmware mailbox: get_throttled: want throttled=0x and a word, not "throttled=no"`},
		"an error reply": {map[string]string{"dev/vcio": "> get_throttled\nerror=2 error_msg=\"Invalid arguments\"\n"},
			"", "", "", `firmware mailbox: get_throttled: the firmware reports error 0: "error=2 error_msg=\"Invalid arguments\""`},
		"no device": {nil, "", "", "", "no throttling report found on this machine"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, data := range tt.files {
				put(t, root, file, data)
			}
			got := Readers(boardReaders(root)).Throttle(t.Context())
			if v := got.Now.UnderVoltage; v.Source != tt.source || v.Reason != tt.reason {
				t.Errorf("source %q, reason %q, want %q and %q", v.Source, v.Reason, tt.source, tt.reason)
			}
			if active := strings.Join(got.Now.Active(), ", "); active != tt.now {
				t.Errorf("now %q, want %q", active, tt.now)
			}
			if active := strings.Join(got.SinceBoot.Active(), ", "); active != tt.sinceBoot {
				t.Errorf("since boot %q, want %q", active, tt.sinceBoot)
			}
		})
	}
}

// Where only the voltage monitor is left, people are told what stands in the
// way of the rest.
func TestDeniedMailboxIsNamedBesideTheVoltageMonitor(t *testing.T) {
	got := Readers(boardReaders(board(t, "pi5-denied"))).Throttle(t.Context())
	if v := got.Now.UnderVoltage; v != sysmon.Measured(false, "hwmon rpi_volt") {
		t.Errorf("under-voltage is %+v", v)
	}
	want := "rpi_volt reports under-voltage only; firmware mailbox: permission denied: /dev/vcio_gencmd; permission denied: /dev/vcio"
	if v := got.Now.Throttled; v.Known || v.Reason != want {
		t.Errorf("throttled is %+v, want the reason %q", v, want)
	}
}

func TestTrueClock(t *testing.T) {
	tests := map[string]struct {
		reply string
		want  sysmon.Reading[float64]
	}{
		"new firmware": {"frequency(0)=1000015168", sysmon.Measured(1000015168.0, "firmware measure_clock")},
		"old firmware": {"frequency(45)=600062000", sysmon.Measured(600062000.0, "firmware measure_clock")},
		"zero":         {"frequency(0)=0", sysmon.Unknown[float64]("firmware measure_clock: measure_clock arm: implausible clock of 0 Hz")},
		"no number":    {"frequency(0)=fast", sysmon.Unknown[float64](`firmware measure_clock: measure_clock arm: want frequency(0)= and a number, not "frequency(0)=fast"`)},
		"empty":        {"", sysmon.Unknown[float64](`firmware measure_clock: measure_clock arm: want frequency(0)= and a number, not ""`)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := mailboxWith(t, "vcio", "> measure_clock arm\n"+tt.reply)
			if got := Readers(c).TrueClockHz(t.Context()); got != tt.want {
				t.Errorf("true clock = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestPower(t *testing.T) {
	const source = "firmware pmic_read_adc"
	tests := map[string]struct {
		reply  string
		watts  sysmon.Reading[float64]
		supply sysmon.Reading[float64]
	}{
		"paired by name, in any order": {
			" VDD_CORE_A current(7)=2.00000000A\n 3V3_SYS_A current(1)=0.10000000A\n 3V3_SYS_V volt(9)=3.30000000V\n VDD_CORE_V volt(15)=0.90000000V\n EXT5V_V volt(24)=5.09066000V\n BATT_V volt(25)=0.01000000V",
			sysmon.Measured(2.13, source+", 2 rails"), sysmon.Measured(5.09066, source)},
		"a rail without a voltage does not count": {
			"VDD_CORE_A current(7)=2.0A\nVDD_CORE_V volt(15)=0.9V\nHDMI_A current(2)=9.0A",
			sysmon.Measured(1.8, source+", 1 rails"), sysmon.Unknown[float64]("pmic_read_adc does not name EXT5V")},
		"nothing to pair": {"EXT5V_V volt(24)=5.09V",
			sysmon.Unknown[float64](source + `: pmic_read_adc: no rail with both current and voltage in "EXT5V_V volt(24)=5.09V"`),
			sysmon.Unknown[float64](source + `: pmic_read_adc: no rail with both current and voltage in "EXT5V_V volt(24)=5.09V"`)},
		"a Pi 4": {`error=1 error_msg="Command not registered"`,
			sysmon.Unknown[float64]("not available: only a Raspberry Pi 5 measures its power"),
			sysmon.Unknown[float64]("not available: only a Raspberry Pi 5 measures its power")},
		"absurd": {"X_A current(0)=100.0A\nX_V volt(0)=5.0V",
			sysmon.Unknown[float64](source + ": pmic_read_adc: implausible power of 500.0 W"),
			sysmon.Unknown[float64](source + ": pmic_read_adc: implausible power of 500.0 W")},
		"no numbers": {"X_A current(0)=NaNA\nX_V volt(0)=-5.0V",
			sysmon.Unknown[float64](source + `: pmic_read_adc: no rail with both current and voltage in "X_A current(0)=NaNA\nX_V volt(0)=-5.0V"`),
			sysmon.Unknown[float64](source + `: pmic_read_adc: no rail with both current and voltage in "X_A current(0)=NaNA\nX_V volt(0)=-5.0V"`)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Readers(mailboxWith(t, "vcio", "> pmic_read_adc\n"+tt.reply)).Power(t.Context())
			if got.Watts != tt.watts {
				t.Errorf("watts = %+v, want %+v", got.Watts, tt.watts)
			}
			if got.SupplyVolts != tt.supply {
				t.Errorf("supply = %+v, want %+v", got.SupplyVolts, tt.supply)
			}
		})
	}
}

// countingMailbox counts how often it is opened and asked, and can be broken.
type countingMailbox struct {
	opened, asked, closed int
	broken                bool
	inner                 scriptedMailbox
}

func (m *countingMailbox) open(string) (Mailbox, error) { m.opened++; return m, nil }
func (m *countingMailbox) Close() error                 { m.closed++; return nil }
func (m *countingMailbox) Property(w []uint32) error {
	m.asked++
	if m.broken {
		return syscall.EIO
	}
	return m.inner.Property(w)
}

// The device stays open between looks, is opened anew after a failure, and a
// command that the board does not have is asked once.
func TestMailboxStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		put(t, root, "dev/vcio", "")
		m := &countingMailbox{inner: scriptedMailbox{map[string]string{"get_throttled": "throttled=0x0"}}}
		r := Readers(Config{Root: root, OpenMailbox: m.open})
		for range 3 {
			if got := r.Throttle(t.Context()).Now.Throttled; !got.Known {
				t.Fatalf("throttled is %+v", got)
			}
		}
		if m.opened != 1 || m.asked != 3 || m.closed != 0 {
			t.Errorf("after three looks: opened %d, asked %d, closed %d times", m.opened, m.asked, m.closed)
		}

		m.broken = true
		if got := r.Throttle(t.Context()).Now.Throttled; got.Known || !strings.Contains(got.Reason, "input/output error") {
			t.Errorf("while it is broken: %+v", got)
		}
		m.broken = false
		time.Sleep(rescanPeriod) // of the bubble's clock
		if got := r.Throttle(t.Context()).Now.Throttled; !got.Known || m.opened < 2 || m.closed < 1 {
			t.Errorf("repaired: %+v, opened %d, closed %d times", got, m.opened, m.closed)
		}

		r.Power(t.Context())
		before := m.asked
		time.Sleep(time.Minute) // of the bubble's clock
		if got := r.Power(t.Context()); got.Watts.Known || m.asked != before {
			t.Errorf("a board without a power chip was asked %d times more, and says %+v", m.asked-before, got)
		}
	})
}

func TestReplyOfTheFirmware(t *testing.T) {
	m := message("get_throttled")
	if m[0] != 4*uint32(len(m)) || m[2] != 0x00030080 || unpackText(m[6:]) != "get_throttled" {
		t.Errorf("message begins %#x", m[:10])
	}
	if _, err := reply(m); err == nil || !strings.Contains(err.Error(), "refused the request: code 0x0") {
		t.Errorf("unanswered: %v", err)
	}
	m[1] = 0x80000000
	if text, err := reply(m); err != nil || text != "get_throttled" {
		t.Errorf("reply = %q, %v", text, err)
	}
	m[5] = 7
	if _, err := reply(m); err == nil || !strings.Contains(err.Error(), "error 7") {
		t.Errorf("with an error code: %v", err)
	}
	for i := range m[6 : len(m)-1] {
		m[6+i] = 0x41414141
	}
	m[5] = 0
	if _, err := reply(m); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("endless: %v", err)
	}
}

// The real opener, on a file that is no device of the firmware.
func TestOpenMailbox(t *testing.T) {
	root := t.TempDir()
	if _, err := openMailbox(root + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	put(t, root, "dev/vcio", "")
	got := Readers(Config{Root: root}).TrueClockHz(t.Context())
	if got.Known || !strings.HasSuffix(got.Reason, ": /dev/vcio") {
		t.Errorf("an ordinary file is %+v, want a reason that names it", got)
	}
}

func FuzzReplies(f *testing.F) {
	for _, text := range []string{"", "throttled=0x50005", "frequency(0)=1000015168", "VDD_CORE_A current(7)=6.2A\nVDD_CORE_V volt(15)=0.8V", "X_V volt()=", ")="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = throttledWord(text)
		if hz, err := measuredClock(text); err == nil && hz <= 0 {
			t.Errorf("%q is a clock of %v", text, hz)
		}
		if p, err := parsePower(text); err == nil && (p.Watts.Value < 0 || p.Watts.Value > maxWatts) {
			t.Errorf("%q is %v W", text, p.Watts.Value)
		}
	})
}
