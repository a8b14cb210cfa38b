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
// fresh from the mailbox, else as the kernel kept it, then the one alarm of the
// voltage monitor. now is the clock.
func throttleReader(t tree, gencmd *firmware, now func() time.Time) func(context.Context) sysmon.Throttle {
	sources := []throttleSource{
		gencmd.throttleCandidates,
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
		if l.faults != "" {
			because(&v.Now, l.faults)
			because(&v.SinceBoot, l.faults)
		}
		return v
	}
}

// because adds to what a lesser source cannot know why the better ones fail:
// that is where people can do something about it.
func because(l *sysmon.Limits, faults string) {
	for _, r := range []*sysmon.Reading[bool]{&l.UnderVoltage, &l.FrequencyCapped, &l.Throttled, &l.SoftTempLimit} {
		if !r.Known {
			r.Reason += "; " + faults
		}
	}
}
