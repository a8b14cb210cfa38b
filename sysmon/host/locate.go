package host

import (
	"context"
	"strings"
	"time"

	"pichat/sysmon"
)

// rescanPeriod is how long a search for a sensor is not repeated after one
// that did not end with the best sensor.
const rescanPeriod = 5 * time.Second

// candidate is a place that a reading may come from.
type candidate[T any] struct {
	source string // its name for people
	read   func(ctx context.Context) (T, error)
}

// locator reads a value from the best place that works. It searches once, and
// then reads only what it found; it searches again when that fails. While
// nothing or only a lesser place works it searches every rescanPeriod, since
// drivers come and go.
type locator[T any] struct {
	tree tree
	// scan lists the candidates that exist, best first.
	scan func(ctx context.Context) []candidate[T]
	// none is the reason to give when there is no candidate at all.
	none string

	current *candidate[T] // nil when nothing works
	best    bool          // current was the first of its scan
	scanned time.Time
	reason  string // why current is nil
	faults  string // why the places before current do not work
}

// get returns the value and the name of its source, or a reason.
func (l *locator[T]) get(ctx context.Context) (value T, source, reason string) {
	fresh := time.Since(l.scanned) < rescanPeriod // false at first: scanned is zero
	if l.current != nil && (l.best || fresh) {
		if v, err := l.current.read(ctx); err == nil {
			return v, l.current.source, ""
		}
	} else if l.current == nil && fresh {
		return value, "", l.reason
	}
	return l.search(ctx)
}

func (l *locator[T]) search(ctx context.Context) (value T, source, reason string) {
	var faults []string
	candidates := l.scan(ctx)
	l.scanned = time.Now()
	for i, c := range candidates {
		v, err := c.read(ctx)
		if err != nil {
			faults = append(faults, c.source+": "+l.tree.reason(err))
			continue
		}
		l.current, l.best, l.faults = &candidates[i], i == 0, strings.Join(faults, "; ")
		return v, c.source, ""
	}
	l.current, l.reason = nil, strings.Join(faults, "; ")
	if len(candidates) == 0 {
		l.reason = l.none
	}
	return value, "", l.reason
}

// reading is get as a sysmon.Reading.
func (l *locator[T]) reading(ctx context.Context) sysmon.Reading[T] {
	v, source, reason := l.get(ctx)
	if reason != "" {
		return sysmon.Unknown[T](reason)
	}
	return sysmon.Measured(v, source)
}
