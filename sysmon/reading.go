package sysmon

import (
	"encoding/json"
	"math"
)

// Reading is a measured value or the reason why there is none. The zero
// Reading is unknown without a reason. Unknown is not zero: look at Known, or
// use Get, before Value.
//
// In JSON a known reading is {"value": …, "source": …} and an unknown one is
// {"reason": …}; an unknown value never appears.
type Reading[T any] struct {
	// Value means something only where Known is true.
	Value T
	Known bool
	// Source names where a known value came from, such as "hwmon cpu_thermal".
	Source string
	// Reason says in words for people why the value is unknown.
	Reason string
}

// Measured is a known reading and where it came from.
func Measured[T any](value T, source string) Reading[T] {
	return Reading[T]{Value: value, Known: true, Source: source}
}

// Unknown is a reading that could not be taken, and why.
func Unknown[T any](reason string) Reading[T] {
	return Reading[T]{Reason: reason}
}

// Get returns the value and whether it is known.
func (r Reading[T]) Get() (T, bool) { return r.Value, r.Known }

// readingJSON is the form of a Reading on the wire.
type readingJSON[T any] struct {
	Value  *T     `json:"value,omitempty"`
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// MarshalJSON writes the value only where it is known. A float that JSON
// cannot hold (NaN, infinite) is written as unknown: one bad sensor must not
// make the whole snapshot unreadable.
func (r Reading[T]) MarshalJSON() ([]byte, error) {
	if f, ok := any(r.Value).(float64); ok && r.Known && (math.IsNaN(f) || math.IsInf(f, 0)) {
		r = Unknown[T]("not a number, from " + r.Source)
	}
	if !r.Known {
		return json.Marshal(readingJSON[T]{Reason: r.Reason})
	}
	return json.Marshal(readingJSON[T]{Value: &r.Value, Source: r.Source})
}

// UnmarshalJSON reads what MarshalJSON wrote. A reading is known iff it
// carries a value.
func (r *Reading[T]) UnmarshalJSON(data []byte) error {
	var w readingJSON[T]
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*r = Reading[T]{Source: w.Source, Reason: w.Reason}
	if w.Value != nil {
		r.Value, r.Known = *w.Value, true
	}
	return nil
}
