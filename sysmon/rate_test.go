package sysmon

import (
	"testing"
	"time"
)

func TestBusyRate(t *testing.T) {
	counters := func(busy, total time.Duration) Reading[CPUTimes] {
		return Measured(CPUTimes{Busy: busy, Total: total}, "s")
	}
	unknown := Unknown[CPUTimes]("gone")
	tests := map[string]struct {
		readings []Reading[CPUTimes]
		want     Reading[float64] // of the last
	}{
		"first":          {[]Reading[CPUTimes]{counters(50, 100)}, Unknown[float64]("needs two readings")},
		"half":           {[]Reading[CPUTimes]{counters(50, 100), counters(52, 104)}, Measured(50.0, "s")},
		"idle":           {[]Reading[CPUTimes]{counters(50, 100), counters(50, 104)}, Measured(0.0, "s")},
		"full":           {[]Reading[CPUTimes]{counters(50, 100), counters(54, 104)}, Measured(100.0, "s")},
		"idle went back": {[]Reading[CPUTimes]{counters(50, 100), counters(55, 104)}, Measured(100.0, "s")},
		"busy went back": {[]Reading[CPUTimes]{counters(50, 100), counters(49, 104)}, Measured(0.0, "s")},
		"standing still": {[]Reading[CPUTimes]{counters(50, 100), counters(50, 100)}, Unknown[float64]("CPU counters did not advance")},
		"a core left":    {[]Reading[CPUTimes]{counters(50, 100), counters(20, 60)}, Unknown[float64]("CPU counters did not advance")},
		"unreadable":     {[]Reading[CPUTimes]{counters(50, 100), unknown}, Unknown[float64]("gone")},
		"over a gap":     {[]Reading[CPUTimes]{counters(50, 100), unknown, counters(51, 104)}, Measured(25.0, "s")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b busyRate
			var got Reading[float64]
			for _, r := range tt.readings {
				got = b.percent(r)
			}
			if got != tt.want {
				t.Errorf("percent = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestProcessRate(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(used, wall time.Duration) stampedTime {
		return stampedTime{used: Measured(used, "s"), at: start.Add(wall)}
	}
	tests := map[string]struct {
		readings []stampedTime
		want     Reading[float64] // of the last
	}{
		"first":            {[]stampedTime{at(5, 0)}, Unknown[float64]("needs two readings")},
		"idle":             {[]stampedTime{at(5, 0), at(5, 1000)}, Measured(0.0, "s")},
		"a quarter":        {[]stampedTime{at(5, 0), at(255, 1000)}, Measured(25.0, "s")},
		"four threads":     {[]stampedTime{at(0, 0), at(4000, 1000)}, Measured(400.0, "s")},
		"a late reading":   {[]stampedTime{at(0, 0), at(1000, 2000)}, Measured(50.0, "s")},
		"no time between":  {[]stampedTime{at(0, 0), at(10, 0)}, Unknown[float64]("no time passed between two readings")},
		"unknown":          {[]stampedTime{at(0, 0), unknownStamped("gone")}, Unknown[float64]("gone")},
		"unknown, then ok": {[]stampedTime{at(0, 0), unknownStamped("gone"), at(1000, 2000)}, Measured(50.0, "s")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var p processRate
			var got Reading[float64]
			for _, r := range tt.readings {
				got = p.percent(r)
			}
			if got != tt.want {
				t.Errorf("percent = %+v, want %+v", got, tt.want)
			}
		})
	}
}
