package host

import (
	"context"
	"time"

	"pichat/sysmon"
)

// A throttleSource lists the places of one kind, on this board, that report
// throttling. It lists none where the board has no such thing. A reading that
// cannot be taken is an error, never "no limit".
type throttleSource func() []candidate[sysmon.Throttle]

// throttleReader reads throttling from the first source that works. The order
// is from the most to the least that a source knows: the firmware's own word,
// then the one alarm of the voltage monitor. now is the clock.
func throttleReader(t tree, now func() time.Time) func(context.Context) sysmon.Throttle {
	sources := []throttleSource{
		t.firmwareWord,
		(&voltageMonitor{tree: t, now: now}).candidates,
	}
	l := &locator[sysmon.Throttle]{
		tree: t,
		none: "no throttling report found on this machine",
		scan: func(context.Context) []candidate[sysmon.Throttle] {
			var found []candidate[sysmon.Throttle]
			for _, source := range sources {
				found = append(found, source()...)
			}
			return found
		},
	}
	return func(ctx context.Context) sysmon.Throttle {
		v, _, reason := l.get(ctx)
		if reason != "" {
			return sysmon.UnknownThrottle(reason)
		}
		return v
	}
}
