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
