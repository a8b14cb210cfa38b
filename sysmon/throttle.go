package sysmon

// Throttle says what holds the board back. The firmware reports each limit
// twice, and the two must never be mixed up: what acts now, and what has
// acted at some time since the board was started.
type Throttle struct {
	Now       Limits `json:"now"`
	SinceBoot Limits `json:"since_boot"`
}

// Limits are the four limits that the Raspberry Pi firmware tells apart. Each
// is a reading of its own, because some sources know only one of them.
type Limits struct {
	// UnderVoltage is a supply below 4.63 V.
	UnderVoltage Reading[bool] `json:"under_voltage"`
	// FrequencyCapped is a clock held below its maximum.
	FrequencyCapped Reading[bool] `json:"frequency_capped"`
	// Throttled is a clock lowered because of heat or supply.
	Throttled Reading[bool] `json:"throttled"`
	// SoftTempLimit is the softer first limit of temperature.
	SoftTempLimit Reading[bool] `json:"soft_temp_limit"`
}

// Bits of the firmware's get_throttled word. The same four stand sinceBootShift
// higher for "has happened since boot".
const (
	bitUnderVoltage    = 1 << 0
	bitFrequencyCapped = 1 << 1
	bitThrottled       = 1 << 2
	bitSoftTempLimit   = 1 << 3
	sinceBootShift     = 16
)

// DecodeThrottled splits the firmware's get_throttled word into what acts now
// and what has acted since boot. Bits without a known meaning are ignored.
func DecodeThrottled(word uint32, source string) Throttle {
	return Throttle{
		Now:       decodeLimits(word, source),
		SinceBoot: decodeLimits(word>>sinceBootShift, source),
	}
}

func decodeLimits(bits uint32, source string) Limits {
	flag := func(bit uint32) Reading[bool] { return Measured(bits&bit != 0, source) }
	return Limits{
		UnderVoltage:    flag(bitUnderVoltage),
		FrequencyCapped: flag(bitFrequencyCapped),
		Throttled:       flag(bitThrottled),
		SoftTempLimit:   flag(bitSoftTempLimit),
	}
}

// UnknownThrottle is a Throttle of which nothing is known, and why.
func UnknownThrottle(reason string) Throttle {
	return Throttle{Now: unknownLimits(reason), SinceBoot: unknownLimits(reason)}
}

func unknownLimits(reason string) Limits {
	u := Unknown[bool](reason)
	return Limits{UnderVoltage: u, FrequencyCapped: u, Throttled: u, SoftTempLimit: u}
}

// Any tells whether at least one of the limits holds. It is known to be false
// only where all four are known; one unknown limit leaves it unknown.
func (l Limits) Any() Reading[bool] {
	all := l.list()
	for _, r := range all {
		if r.Known && r.Value {
			return r
		}
	}
	for _, r := range all {
		if !r.Known {
			return r
		}
	}
	return all[0]
}

// Supply tells whether a weak power supply is at work.
func (l Limits) Supply() bool { return l.UnderVoltage.Known && l.UnderVoltage.Value }

// Heat tells whether heat is at work: the soft limit holds, or the clock is
// lowered and the supply is not to blame for it.
func (l Limits) Heat() bool {
	lowered := l.Throttled.Value || l.FrequencyCapped.Value // an unknown value is false
	return l.SoftTempLimit.Value || lowered && !l.Supply()
}

// Clear lists the limits that are known not to hold, worded as in Active.
func (l Limits) Clear() []string { return l.words(false) }

// Active lists the limits that are known to hold, in words for people and in
// a fixed order. The slice is the caller's; it is nil when none holds.
func (l Limits) Active() []string { return l.words(true) }

// words names the limits that are known to be so.
func (l Limits) words(so bool) []string {
	names := [...]string{"under-voltage", "clock capped", "throttled", "soft temperature limit"}
	var words []string
	for i, r := range l.list() {
		if r.Known && r.Value == so {
			words = append(words, names[i])
		}
	}
	return words
}

func (l Limits) list() [4]Reading[bool] {
	return [4]Reading[bool]{l.UnderVoltage, l.FrequencyCapped, l.Throttled, l.SoftTempLimit}
}
