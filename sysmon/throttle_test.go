package sysmon_test

import (
	"slices"
	"testing"

	"pichat/sysmon"
)

// Sticky bits are never shown as current.
func TestDecodeThrottled(t *testing.T) {
	tests := map[string]struct {
		word           uint32
		now, sinceBoot []string
	}{
		"all well":                     {0x0, nil, nil},
		"was throttled":                {0x50000, nil, []string{"under-voltage", "throttled"}},
		"is and was throttled":         {0x50005, []string{"under-voltage", "throttled"}, []string{"under-voltage", "throttled"}},
		"soft limit now, others were":  {0xE0008, []string{"soft temperature limit"}, []string{"clock capped", "throttled", "soft temperature limit"}},
		"everything":                   {0xF000F, everyLimit, everyLimit},
		"now without its sticky bit":   {0x2, []string{"clock capped"}, nil},
		"bits without a known meaning": {0xFFF0FFF0, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sysmon.DecodeThrottled(tt.word, "firmware")
			if active := got.Now.Active(); !slices.Equal(active, tt.now) {
				t.Errorf("%#x now: %q, want %q", tt.word, active, tt.now)
			}
			if active := got.SinceBoot.Active(); !slices.Equal(active, tt.sinceBoot) {
				t.Errorf("%#x since boot: %q, want %q", tt.word, active, tt.sinceBoot)
			}
			if any := got.Now.Any(); !any.Known || any.Value != (tt.now != nil) {
				t.Errorf("%#x now: Any is %+v, want known %v", tt.word, any, tt.now != nil)
			}
		})
	}
}

var everyLimit = []string{"under-voltage", "clock capped", "throttled", "soft temperature limit"}

func TestLimitsAnyWithUnknowns(t *testing.T) {
	yes, no, unknown := sysmon.Measured(true, "s"), sysmon.Measured(false, "s"), sysmon.Unknown[bool]("why")
	tests := map[string]struct {
		limits       sysmon.Limits
		known, value bool
	}{
		"none known":             {sysmon.UnknownThrottle("why").Now, false, false},
		"one known, not holding": {sysmon.Limits{UnderVoltage: no, FrequencyCapped: unknown, Throttled: unknown, SoftTempLimit: unknown}, false, false},
		"one known, holding":     {sysmon.Limits{UnderVoltage: yes, FrequencyCapped: unknown, Throttled: unknown, SoftTempLimit: unknown}, true, true},
		"all known, none holds":  {sysmon.Limits{UnderVoltage: no, FrequencyCapped: no, Throttled: no, SoftTempLimit: no}, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.limits.Any()
			if got.Known != tt.known || got.Value != tt.value {
				t.Errorf("Any = %+v, want known %v, value %v", got, tt.known, tt.value)
			}
			if !got.Known && got.Reason != "why" {
				t.Errorf("Any gives the reason %q, want %q", got.Reason, "why")
			}
		})
	}
}

// What to do follows from the cause: a lowered clock beside under-voltage is
// the supply's doing.
func TestLimitsCauses(t *testing.T) {
	tests := map[string]struct {
		word         uint32
		supply, heat bool
	}{
		"all well":                        {0x0, false, false},
		"a weak supply":                   {0x5, true, false},
		"heat":                            {0x4, false, true},
		"a capped clock":                  {0x2, false, true},
		"the soft limit":                  {0x8, false, true},
		"the soft limit on a weak supply": {0x9, true, true},
		"everything":                      {0xF, true, true},
		"only since start-up, so not now": {0xF0000, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := sysmon.DecodeThrottled(tt.word, "s").Now
			if now.Supply() != tt.supply || now.Heat() != tt.heat {
				t.Errorf("%#x: supply %v, heat %v, want %v, %v", tt.word, now.Supply(), now.Heat(), tt.supply, tt.heat)
			}
		})
	}
	if u := sysmon.UnknownThrottle("why").Now; u.Supply() || u.Heat() || u.Clear() != nil {
		t.Errorf("unknown limits: supply %v, heat %v, clear %q", u.Supply(), u.Heat(), u.Clear())
	}
	if got := sysmon.DecodeThrottled(0xD, "s").Now.Clear(); !slices.Equal(got, []string{"clock capped"}) {
		t.Errorf("clear of 0xd: %q", got)
	}
}
