package sysmon

import (
	"encoding/json"
	"sync"
	"time"
)

// History is the recent past of the readings that the page draws, oldest
// first. At and all series have the same length: index i of each belongs to
// At[i]. It is a copy and the caller's own.
type History struct {
	At []time.Time `json:"at"`
	// TempCelsius is CPU.TempCelsius over time.
	TempCelsius Series `json:"temp_celsius"`
	// BusyPercent is CPU.BusyPercent over time.
	BusyPercent Series `json:"busy_percent"`
	// ClockHz is CPU.RunningClockHz over time.
	ClockHz Series `json:"clock_hz"`
	// UsedBytes is RAM.UsedBytes over time.
	UsedBytes Series `json:"used_bytes"`
	// Limited is 1 where a limit of Throttle.Now held, else 0.
	Limited Series `json:"limited"`
}

// Series is one reading over time.
type Series []Point

// Point is one value of a series, or a gap where it was not known. In JSON a
// gap is null.
type Point struct {
	Value float64 // in the unit of its series; means nothing in a gap
	Known bool
}

// MarshalJSON writes the number, or null for a gap.
func (p Point) MarshalJSON() ([]byte, error) {
	if !p.Known {
		return []byte("null"), nil
	}
	return json.Marshal(p.Value)
}

// UnmarshalJSON reads a number, or null for a gap.
func (p *Point) UnmarshalJSON(data []byte) error {
	var v *float64
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*p = Point{}
	if v != nil {
		*p = Point{Value: *v, Known: true}
	}
	return nil
}

// Bounds returns the lowest and highest known value; ok is false when there
// is none.
func (s Series) Bounds() (low, high float64, ok bool) {
	for _, p := range s {
		switch {
		case !p.Known:
		case !ok:
			low, high, ok = p.Value, p.Value, true
		default:
			low, high = min(low, p.Value), max(high, p.Value)
		}
	}
	return low, high, ok
}

// Resample shortens the series to at most n points for a small drawing: each
// is the mean of the known values of one of n equal stretches, and a gap where
// a stretch has none. A series that is short enough is copied. n below 1 gives
// nil.
func (s Series) Resample(n int) Series {
	if n < 1 {
		return nil
	}
	n = min(n, len(s))
	out := make(Series, n)
	for i := range out {
		sum, known := 0.0, 0
		for _, p := range s[i*len(s)/n : (i+1)*len(s)/n] {
			if p.Known {
				sum += p.Value
				known++
			}
		}
		if known > 0 {
			out[i] = Point{Value: sum / float64(known), Known: true}
		}
	}
	return out
}

// row is what the ring keeps of one snapshot.
type row struct {
	at                               time.Time
	temp, busy, clock, used, limited Point
}

// ring keeps the last rows. It is safe for concurrent use.
type ring struct {
	mu   sync.Mutex
	rows []row // grows to its capacity, then wraps
	next int   // where the next row goes once full
}

func newRing(capacity int) *ring { return &ring{rows: make([]row, 0, capacity)} }

func (r *ring) add(s *Snapshot) {
	point := row{
		at:      s.At,
		temp:    pointOf(s.CPU.TempCelsius),
		busy:    pointOf(s.CPU.BusyPercent),
		clock:   pointOf(s.CPU.RunningClockHz()),
		used:    Point{Value: float64(s.Memory.RAM.Value.UsedBytes), Known: s.Memory.RAM.Known},
		limited: boolPoint(s.Throttle.Now.Any()),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) < cap(r.rows) {
		r.rows = append(r.rows, point)
		return
	}
	r.rows[r.next] = point
	r.next = (r.next + 1) % len(r.rows)
}

func (r *ring) history() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.rows)
	h := History{
		At:          make([]time.Time, n),
		TempCelsius: make(Series, n),
		BusyPercent: make(Series, n),
		ClockHz:     make(Series, n),
		UsedBytes:   make(Series, n),
		Limited:     make(Series, n),
	}
	for i := range n {
		p := r.rows[(r.next+i)%n]
		h.At[i] = p.at
		h.TempCelsius[i], h.BusyPercent[i] = p.temp, p.busy
		h.ClockHz[i], h.UsedBytes[i], h.Limited[i] = p.clock, p.used, p.limited
	}
	return h
}

func pointOf(r Reading[float64]) Point { return Point{Value: r.Value, Known: r.Known} }

func boolPoint(r Reading[bool]) Point {
	p := Point{Known: r.Known}
	if r.Value {
		p.Value = 1
	}
	return p
}
