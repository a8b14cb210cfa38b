package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pichat/llm"
	"pichat/sysmon"
	"pichat/web/views"
)

// boardServer shows one snapshot.
func boardServer(t *testing.T, snap sysmon.Snapshot) (*Server, *sysmon.FixedSampler) {
	t.Helper()
	fixed := sysmon.Fixed(snap)
	s, err := New(Config{Service: &llm.Service{}, Vitals: fixed})
	if err != nil {
		t.Fatal(err)
	}
	return s, fixed
}

// What the strip says of throttling: now and since start-up apart, and what to
// do by the cause.
func TestThrottlingOnThePage(t *testing.T) {
	partly := sysmon.UnknownThrottle("rpi_volt reports under-voltage only")
	partly.Now.UnderVoltage = sysmon.Measured(false, "hwmon rpi_volt")
	tests := map[string]struct {
		throttle  sysmon.Throttle
		want, not []string
	}{
		"all well":       {sysmon.DecodeThrottled(0x0, "vcio"), []string{">no<"}, []string{"remedy", "n/a"}},
		"a weak supply":  {sysmon.DecodeThrottled(0x50005, "vcio"), []string{"under-voltage and throttled", "voltage is too low"}, []string{"stay cool"}},
		"heat":           {sysmon.DecodeThrottled(0x80008, "vcio"), []string{"soft temperature limit", "give it a fan"}, []string{"supply voltage"}},
		"both":           {sysmon.DecodeThrottled(0xD000D, "vcio"), []string{"voltage is too low", "give it a fan"}, nil},
		"hot, was weak":  {sysmon.DecodeThrottled(0xF000E, "vcio"), []string{"give it a fan", "was too low for a while"}, []string{"is too low", "too hot for a while"}},
		"only once":      {sysmon.DecodeThrottled(0x50000, "vcio"), []string{">no<", "under-voltage and throttled", "was too low for a while"}, []string{"is too low"}},
		"partly known":   {partly, []string{"no under-voltage", "n/a"}, []string{">no<"}},
		"nothing to ask": {sysmon.UnknownThrottle("no firmware here"), []string{"no firmware here"}, []string{">no<"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := boardServer(t, sysmon.Snapshot{Throttle: tt.throttle})
			_, html, _ := strings.Cut(s.fragment(views.Board(s.boardModel())), `class="throttle"`)
			html, _, _ = strings.Cut(html, "</section>")
			for _, want := range tt.want {
				if !strings.Contains(html, want) {
					t.Errorf("%q is missing in %s", want, html)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(html, not) {
					t.Errorf("%q stands in %s", not, html)
				}
			}
		})
	}
}

// A clock that is only asked for is marked; a measured one that is well below
// says so.
func TestClockFanAndPowerOnThePage(t *testing.T) {
	asked := sysmon.Measured(2.4e9, "cpufreq scaling_cur_freq")
	tests := map[string]struct {
		cpu  sysmon.CPU
		want string
	}{
		"measured":      {sysmon.CPU{ClockHz: asked, TrueClockHz: sysmon.Measured(2.4001e9, "f")}, `<b>2.40</b> <span class="unit">GHz</span>`},
		"only asked":    {sysmon.CPU{ClockHz: asked}, `<b>2.40</b> <span class="unit">GHz asked for</span>`},
		"slower":        {sysmon.CPU{ClockHz: asked, TrueClockHz: sysmon.Measured(1.0e9, "f")}, `<b>1.00 of 2.40</b> <span class="unit">GHz</span>`},
		"only measured": {sysmon.CPU{TrueClockHz: sysmon.Measured(1.0e9, "f")}, `<b>1.00</b> <span class="unit">GHz</span>`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := boardServer(t, sysmon.Snapshot{CPU: tt.cpu})
			if html := s.fragment(views.Board(s.boardModel())); !strings.Contains(html, tt.want) {
				t.Errorf("%q is missing in %s", tt.want, html)
			}
		})
	}
	s, _ := boardServer(t, sysmon.Snapshot{FanRPM: sysmon.Measured(0.0, "cooling_fan"), Power: sysmon.Power{Watts: sysmon.Measured(6.82, "pmic")}})
	html := s.fragment(views.Board(s.boardModel()))
	for _, want := range []string{`<b>0</b> <span class="unit">rpm</span>`, `<b>6.8</b> <span class="unit">W</span>`} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing in %s", want, html)
		}
	}
}

// The history marks where throttling began, and at what heat.
func TestThrottlingInTheHistory(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration, word uint32) sysmon.Snapshot {
		return sysmon.Snapshot{At: end.Add(-ago), CPU: sysmon.CPU{TempCelsius: sysmon.Measured(85-ago.Minutes(), "s")}, Throttle: sysmon.DecodeThrottled(word, "s")}
	}
	s, fixed := boardServer(t, at(12*time.Minute, 0x4)) // before the stretch
	steps := []struct {
		ago  time.Duration
		word uint32
	}{{11 * time.Minute, 0x4}, {10 * time.Minute, 0x4}, {9 * time.Minute, 0x4}, {8 * time.Minute, 0x40000}, {5 * time.Minute, 0x0}, {4 * time.Minute, 0x1}, {2 * time.Minute, 0x4}, {0, 0x0}}
	for _, step := range steps {
		fixed.Set(at(step.ago, step.word))
	}
	temp := func(v float64) views.Point { return views.Point{Value: v, Known: true} }
	want := []views.HeldSpan{
		{From: 0, To: .1, TempCelsius: temp(75)}, // it was held when the stretch begins
		{From: .6, To: .8, Began: true, TempCelsius: temp(81)},
	}
	if got := s.boardModel().Timeline.Held; !slices.Equal(got, want) {
		t.Errorf("held in %+v, want %+v", got, want)
	}
	html := s.fragment(views.Board(s.boardModel()))
	if !strings.Contains(html, "throttling began at 81 °C") || !strings.Contains(html, "4 min ago") || strings.Count(html, `<line class="held"`) != 1 {
		t.Errorf("the mark is missing in %s", html)
	}
}
