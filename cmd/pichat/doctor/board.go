package doctor

import (
	"context"
	"fmt"

	"pichat/cmd/pichat/boot"
	"pichat/sysmon"
)

// board reads every sensor once.
func (c Config) board(ctx context.Context) []Finding {
	r := c.Readers
	findings := []Finding{
		finding(ctx, "board", r.BoardModel, text),
		finding(ctx, "system", r.OS, text),
		finding(ctx, "CPU", r.CPUModel, text),
		finding(ctx, "cores", r.Cores, func(n int) string { return fmt.Sprintf("%d logical", n) }),
		finding(ctx, "temperature", r.TempCelsius, func(c float64) string { return fmt.Sprintf("%.1f °C", c) }),
		finding(ctx, "true clock", r.TrueClockHz, hertz),
		finding(ctx, "asked clock", r.ClockHz, hertz),
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
			}))
	}
	findings = append(findings, c.swap(), c.pressure())
	findings = append(findings, c.system(ctx)...)
	return append(findings, c.limits(ctx)...)
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
