package pagetest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pichat/llm/fakellm"
	"pichat/sysmon"
)

// pi5 is a Raspberry Pi 5 with ten minutes behind it: its heat and the word of
// its firmware by the second, in the values of sysmon/host's fixtures.
func pi5(celsius func(second float64) float64, word func(second int) uint32) *sysmon.FixedSampler {
	const length, gib = 600, 1 << 30
	begin := time.Now().Add(-length * time.Second)
	var board *sysmon.FixedSampler
	for i := range length {
		w := word(i)
		s := sysmon.Snapshot{At: begin.Add(time.Duration(i+1) * time.Second), Throttle: sysmon.DecodeThrottled(w, "/dev/vcio_gencmd get_throttled")}
		s.Host.BoardModel = sysmon.Measured("Raspberry Pi 5 Model B Rev 1.0", "/proc/device-tree/model")
		s.CPU.TempCelsius = sysmon.Measured(celsius(float64(i)), "hwmon cpu_thermal")
		s.CPU.BusyPercent = sysmon.Measured(96+3*math.Sin(float64(i)/9), "/proc/stat")
		s.CPU.ClockHz = sysmon.Measured(2.4e9, "cpufreq scaling_cur_freq")
		s.CPU.TrueClockHz = sysmon.Measured(2.4e9, "firmware measure_clock")
		if w&0xF != 0 {
			s.CPU.TrueClockHz = sysmon.Measured(1.5e9, "firmware measure_clock")
		}
		s.FanRPM = sysmon.Measured(2950.0, "cooling_fan")
		s.Power.Watts = sysmon.Measured(6.8, "firmware pmic_read_adc, 8 rails")
		s.Memory.RAM = sysmon.Measured(sysmon.RAM{TotalBytes: 79 * gib / 10, AvailableBytes: 55 * gib / 10, UsedBytes: 24 * gib / 10}, "/proc/meminfo")
		s.Process.Memory = sysmon.Measured(sysmon.ProcessMemory{ResidentBytes: 2 * gib, FileBytes: 19 * gib / 10, AnonBytes: gib / 10}, "/proc/self/statm")
		if board == nil {
			board = sysmon.Fixed(s)
			continue
		}
		board.Set(s)
	}
	return board
}

// Bits of the firmware's word, those of the past 16 higher.
const (
	hotNow, hotBefore       = 0xE, 0xE << 16 // capped, throttled, soft limit
	weakBefore              = 0x5 << 16      // under-voltage, throttled
	throttled, cooledDownAt = 380, 330
)

// TestBoardHeldBack: what holds the board back now and what has before stand
// apart on the page, each with what to do, and the history marks where it began.
func TestBoardHeldBack(t *testing.T) {
	warm := func(to float64) func(float64) float64 {
		return func(s float64) float64 { return to - (to-47)*math.Exp(-s/170) + .3*math.Sin(s/7) }
	}
	for _, tt := range []struct {
		name      string
		board     *sysmon.FixedSampler
		now, past string // what the two say
		remedy    []string
		marks     int
		axis      string
	}{
		{"cool", pi5(warm(61), func(int) uint32 { return 0 }), "no", "no", nil, 0, ""},
		{"hot", pi5(warm(88), func(s int) uint32 {
			if s < throttled {
				return 0
			}
			return hotNow | hotBefore
		}), "throttled", "throttled", []string{"fan or a heat sink"}, 1, "°C"},
		{"was-hot-and-weak", pi5(func(s float64) float64 {
			if s < cooledDownAt {
				return 50 + 35*(1-math.Exp(-s/90))
			}
			return 60 + 24*math.Exp(-(s-cooledDownAt)/60)
		}, func(s int) uint32 {
			switch {
			case s < 210:
				return weakBefore
			case s < cooledDownAt:
				return hotNow | hotBefore | weakBefore
			}
			return hotBefore | weakBefore
		}), "no", "under-voltage", []string{"power supply", "fan"}, 1, "°C"},
	} {
		for lookName, l := range map[string]look{"phone": phone, "desktop": desktop} {
			for _, dark := range []bool{false, true} {
				l.Dark = dark
				name := tt.name + "-" + lookName + map[bool]string{false: "-light", true: "-dark"}[dark]
				t.Run(name, func(t *testing.T) {
					url, _ := serverOn(t, fakellm.Config{Script: fakellm.Say(sky), Pace: 6}, tt.board)
					p := open(t, url, l)
					p.ask("Why is the sky blue?")
					p.until(`document.querySelector(".answer")?.textContent.length > 60`)
					for part, want := range map[string]string{".throttle .now": tt.now, ".throttle .past": tt.past} {
						if got := eval[string](p, `document.querySelector("`+part+` .value").textContent`); !strings.Contains(strings.ToLower(got), want) {
							t.Errorf("%s says %q, want %q", part, got, want)
						}
					}
					for _, want := range tt.remedy {
						if got := eval[string](p, `document.querySelector(".throttle .remedy")?.textContent ?? ""`); !strings.Contains(got, want) {
							t.Errorf("what to do is %q, want %q", got, want)
						}
					}
					if eval[bool](p, `!!document.querySelector(".throttle .remedy")`) != (tt.remedy != nil) {
						t.Error("a remedy without a fault, or a fault without one")
					}
					if got := eval[int](p, `document.querySelectorAll(".timeline line.held").length`); got != tt.marks {
						t.Errorf("%d marks in the history, want %d", got, tt.marks)
					}
					if got := eval[string](p, `document.querySelector(".timeline .axis svg")?.textContent ?? ""`); !strings.Contains(got, tt.axis) {
						t.Errorf("the axis says %q, want %q", got, tt.axis)
					}
					p.photograph(name, l)
				})
			}
		}
	}
}

// photograph leaves a picture of the page and, on a phone, one of its panel, in
// the folder of -shots.
func (p *tab) photograph(name string, l look) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	take := func(file string) {
		p.until(`document.getAnimations().every((a) => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`)
		png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*shots, file), png, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	take("board-" + name + ".png")
	if l.Width < 700 {
		openPanel(p, nil)
		take("board-" + name + "-panel.png")
	}
}
