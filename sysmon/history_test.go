package sysmon_test

import (
	"encoding/json"
	"testing"
	"time"

	"pichat/sysmon"
)

func TestHistoryKeepsTheLastTenMinutes(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(i int) sysmon.Snapshot {
		return sysmon.Snapshot{
			At:       start.Add(time.Duration(i) * time.Second),
			CPU:      sysmon.CPU{TempCelsius: sysmon.Measured(float64(i), "s")},
			Throttle: sysmon.DecodeThrottled(uint32(i%2)<<2, "s"),
		}
	}
	fixed := sysmon.Fixed(at(0))
	for i := 1; i < 700; i++ {
		fixed.Set(at(i))
	}
	h := fixed.History()
	for name, series := range map[string]sysmon.Series{
		"temp": h.TempCelsius, "busy": h.BusyPercent, "clock": h.ClockHz, "used": h.UsedBytes, "limited": h.Limited,
	} {
		if len(series) != 600 || len(h.At) != 600 {
			t.Fatalf("%s has %d points at %d times, want 600 each", name, len(series), len(h.At))
		}
	}
	for i := range h.At {
		n := 100 + i
		if want := start.Add(time.Duration(n) * time.Second); !h.At[i].Equal(want) {
			t.Fatalf("At[%d] = %s, want %s", i, h.At[i], want)
		}
		if want := (sysmon.Point{Value: float64(n), Known: true}); h.TempCelsius[i] != want {
			t.Fatalf("TempCelsius[%d] = %+v, want %+v", i, h.TempCelsius[i], want)
		}
		if want := (sysmon.Point{Value: float64(n % 2), Known: true}); h.Limited[i] != want {
			t.Fatalf("Limited[%d] = %+v, want %+v", i, h.Limited[i], want)
		}
		if h.UsedBytes[i].Known {
			t.Fatalf("UsedBytes[%d] = %+v, want a gap: it was never read", i, h.UsedBytes[i])
		}
	}

	h.TempCelsius[0].Value = -1 // ours to change
	if again := fixed.History(); again.TempCelsius[0].Value != 100 {
		t.Errorf("a change to one copy of the history shows in the next: %v", again.TempCelsius[0])
	}
}

func known(values ...float64) sysmon.Series {
	var s sysmon.Series
	for _, v := range values {
		s = append(s, sysmon.Point{Value: v, Known: true})
	}
	return s
}

func TestSeriesResample(t *testing.T) {
	gap := sysmon.Point{}
	tests := map[string]struct {
		in   sysmon.Series
		n    int
		want string
	}{
		"halved":        {known(1, 3, 5, 7), 2, `[2,6]`},
		"uneven":        {known(1, 2, 3), 2, `[1,2.5]`},
		"short enough":  {known(1, 2), 5, `[1,2]`},
		"gaps left out": {append(known(4), gap, gap, gap), 2, `[4,null]`},
		"empty":         {nil, 3, `[]`},
		"no points":     {known(1), 0, `null`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tt.in.Resample(tt.n))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("Resample(%d) = %s, want %s", tt.n, got, tt.want)
			}
		})
	}
}

func TestSeriesBounds(t *testing.T) {
	gap := sysmon.Point{Value: -99}
	low, high, ok := append(sysmon.Series{gap}, known(3, 1, 2)...).Bounds()
	if low != 1 || high != 3 || !ok {
		t.Errorf("Bounds = %v, %v, %v, want 1, 3, true", low, high, ok)
	}
	if _, _, ok := (sysmon.Series{gap}).Bounds(); ok {
		t.Error("Bounds of gaps alone are ok, want not")
	}
}

func TestPointJSON(t *testing.T) {
	var s sysmon.Series
	if err := json.Unmarshal([]byte(`[1.5,null,0]`), &s); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `[1.5,null,0]` {
		t.Errorf("after a round trip %s, want [1.5,null,0]", got)
	}
}
