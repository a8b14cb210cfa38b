package sysmon_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pichat/sysmon"
)

func TestReadingJSON(t *testing.T) {
	tests := map[string]struct {
		reading sysmon.Reading[float64]
		want    string
	}{
		"known":         {sysmon.Measured(62.1, "hwmon cpu_thermal"), `{"value":62.1,"source":"hwmon cpu_thermal"}`},
		"known zero":    {sysmon.Measured(0.0, "cooling_fan"), `{"value":0,"source":"cooling_fan"}`},
		"unknown":       {sysmon.Unknown[float64]("no fan"), `{"reason":"no fan"}`},
		"zero reading":  {sysmon.Reading[float64]{}, `{}`},
		"unknown value": {sysmon.Reading[float64]{Value: 5, Reason: "stale"}, `{"reason":"stale"}`},
		"NaN":           {sysmon.Measured(math.NaN(), "x"), `{"reason":"not a number, from x"}`},
		"infinite":      {sysmon.Measured(math.Inf(1), "x"), `{"reason":"not a number, from x"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tt.reading)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("Marshal = %s, want %s", got, tt.want)
			}
			var back sysmon.Reading[float64]
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(back)
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != tt.want {
				t.Errorf("after a round trip %s, want %s", again, tt.want)
			}
		})
	}
}

// A reader of the JSON finds each value under a name with its unit, and an
// unknown one nowhere.
func TestSnapshotJSON(t *testing.T) {
	s := sysmon.Snapshot{
		At:       time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		CPU:      sysmon.CPU{TempCelsius: sysmon.Measured(62.1, "hwmon cpu_thermal"), ClockHz: sysmon.Unknown[float64]("no clock")},
		Memory:   sysmon.Memory{RAM: sysmon.Measured(sysmon.RAM{TotalBytes: 8, AvailableBytes: 5, UsedBytes: 3}, "/proc/meminfo")},
		Throttle: sysmon.DecodeThrottled(0x50000, "firmware"),
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		CPU struct {
			Temp  struct{ Value *float64 } `json:"temp_celsius"`
			Clock struct {
				Value  *float64
				Reason string
			} `json:"clock_hz"`
		}
		Memory struct {
			RAM struct {
				Value struct {
					Used uint64 `json:"used_bytes"`
				}
			}
		}
		Throttle struct {
			Now, Boot struct {
				UnderVoltage struct{ Value *bool } `json:"under_voltage"`
			}
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.CPU.Temp.Value == nil || *got.CPU.Temp.Value != 62.1 {
		t.Errorf("temp_celsius is not 62.1 in %s", data)
	}
	if got.CPU.Clock.Value != nil || got.CPU.Clock.Reason != "no clock" {
		t.Errorf("clock_hz is not unknown in %s", data)
	}
	if got.Memory.RAM.Value.Used != 3 {
		t.Errorf("used_bytes is not 3 in %s", data)
	}
	if v := got.Throttle.Now.UnderVoltage.Value; v == nil || *v {
		t.Errorf("now.under_voltage is not false in %s", data)
	}
}
