package doctor

import (
	"context"
	"fmt"
	"strings"

	"pichat/cmd/pichat/boot"
	"pichat/sysmon"
)

// hotCelsius is where a Pi begins to slow down.
const hotCelsius = 80

// board reads every sensor once.
func (c Config) board(ctx context.Context) []Finding {
	r := c.Readers
	findings := []Finding{
		finding(ctx, "board", r.BoardModel, text),
		finding(ctx, "system", r.OS, text),
		finding(ctx, "CPU", r.CPUModel, text),
		finding(ctx, "cores", r.Cores, func(n int) string { return fmt.Sprintf("%d logical", n) }),
		heat(ctx, r),
		finding(ctx, "clock", r.ClockHz, hertz),
		finding(ctx, "highest clock", r.MaxClockHz, hertz),
		finding(ctx, "fan", r.FanRPM, func(rpm float64) string { return fmt.Sprintf("%.0f turns/min", rpm) }),
		finding(ctx, "load", r.Load, func(l sysmon.LoadAverage) string {
			return fmt.Sprintf("%.2f, %.2f, %.2f over 1, 5, 15 min", l.One, l.Five, l.Fifteen)
		}),
	}
	if r.Memory != nil {
		m := r.Memory(ctx)
		findings = append(findings,
			known("memory", m.RAM, func(m sysmon.RAM) string {
				return fmt.Sprintf("%s, %s available", boot.Bytes(m.TotalBytes), boot.Bytes(m.AvailableBytes))
			}),
			known("swap", m.Swap, func(s sysmon.Swap) string {
				return fmt.Sprintf("%s, %s used", boot.Bytes(s.TotalBytes), boot.Bytes(s.UsedBytes))
			}))
	}
	if r.Throttle != nil {
		findings = append(findings, throttling(r.Throttle(ctx))...)
	}
	return findings
}

// finding takes a reading and words it with its source; a sensor that is not
// there is unknown, not a fault.
func finding[T any](ctx context.Context, name string, read func(context.Context) sysmon.Reading[T], word func(T) string) Finding {
	if read == nil {
		return Finding{name, "not read on this system", Unknown, ""}
	}
	return known(name, read(ctx), word)
}

func known[T any](name string, r sysmon.Reading[T], word func(T) string) Finding {
	value, ok := r.Get()
	if !ok {
		return Finding{name, r.Reason, Unknown, ""}
	}
	return Finding{name, fmt.Sprintf("%s (%s)", word(value), r.Source), OK, ""}
}

func text(s string) string { return s }

func hertz(hz float64) string { return fmt.Sprintf("%.2f GHz", hz/1e9) }

func heat(ctx context.Context, r sysmon.Readers) Finding {
	f := finding(ctx, "temperature", r.TempCelsius, func(c float64) string { return fmt.Sprintf("%.1f °C", c) })
	if f.State == OK {
		if c, _ := r.TempCelsius(ctx).Get(); c >= hotCelsius {
			f.State, f.Remedy = Warning, "the board slows down from 80 °C on: give it air, a heat sink or a fan"
		}
	}
	return f
}

// throttling words what holds the board back now, and what has since boot.
func throttling(t sysmon.Throttle) []Finding {
	one := func(name string, l sysmon.Limits, none string) Finding {
		active := l.Active()
		any := l.Any()
		switch {
		case len(active) > 0:
			return Finding{name, strings.Join(active, ", ") + " (" + any.Source + ")", Warning, remedy(active)}
		case !any.Known:
			return Finding{name, any.Reason, Unknown, ""}
		}
		return Finding{name, none + " (" + any.Source + ")", OK, ""}
	}
	return []Finding{
		one("limits now", t.Now, "none"),
		one("since boot", t.SinceBoot, "none"),
	}
}

func remedy(limits []string) string {
	var remedies []string
	for _, l := range limits {
		if l == "under-voltage" {
			remedies = append(remedies, "use the official power supply and a short cable")
			break
		}
	}
	if len(limits) > len(remedies) {
		remedies = append(remedies, "give the board air, a heat sink or a fan")
	}
	return strings.Join(remedies, "; ")
}
