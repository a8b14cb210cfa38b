package doctor

import (
	"context"
	"fmt"
	"strings"

	"pichat/sysmon"
)

// hotCelsius is where a Pi begins to slow down.
const hotCelsius = 80

const (
	supplyRemedy = "use the board's own power supply and a short, thick cable"
	heatRemedy   = "the board slows down from 80 °C on: give it air, a heat sink or a fan"
)

// limits lists what holds the board back now and what has since boot, apart,
// and then what that says of the supply and the cooling.
func (c Config) limits(ctx context.Context) []Finding {
	t := sysmon.UnknownThrottle("not read on this system")
	if c.Readers.Throttle != nil {
		t = c.Readers.Throttle(ctx)
	}
	return []Finding{group("limits now", t.Now), group("since boot", t.SinceBoot), c.supply(ctx, t), c.cooling(ctx, t)}
}

// group words one group of limits. It is no warning of its own: the findings
// on supply and cooling, which follow, are.
func group(name string, l sysmon.Limits) Finding {
	any := l.Any()
	switch {
	case len(l.Active()) > 0:
		return Finding{name, strings.Join(l.Active(), ", ") + " (" + any.Source + ")", OK, ""}
	case any.Known:
		return Finding{name, "none (" + any.Source + ")", OK, ""}
	case len(l.Clear()) > 0:
		return Finding{name, "no " + strings.Join(l.Clear(), ", no ") + "; the rest is n/a: " + any.Reason, OK, mailboxRemedy(any.Reason)}
	}
	return Finding{name, any.Reason, Unknown, mailboxRemedy(any.Reason)}
}

// mailboxRemedy says how to open the firmware's device; "" where it was not
// refused.
func mailboxRemedy(reason string) string {
	if !strings.Contains(reason, "/dev/vcio") || !strings.Contains(reason, "permission denied") {
		return ""
	}
	return "let this user ask the firmware: sudo usermod -aG video $USER, then log in again; " +
		"where the device is for root alone, docs/board.md has the udev rule"
}

// supply judges the power supply by what has happened since boot.
func (c Config) supply(ctx context.Context, t sysmon.Throttle) Finding {
	const name = "power supply"
	volts := ""
	if c.Readers.Power != nil {
		p := c.Readers.Power(ctx)
		if v, ok := p.SupplyVolts.Get(); ok {
			volts = fmt.Sprintf(", %.2f V at the input", v)
		}
		if w, ok := p.Watts.Get(); ok {
			volts += fmt.Sprintf(", the board's rails take %.1f W", w)
		}
	}
	switch now, since := t.Now.UnderVoltage, t.SinceBoot.UnderVoltage; {
	case t.Now.Supply():
		return Finding{name, "under-voltage now: below 4.63 V" + volts, Warning, supplyRemedy}
	case t.SinceBoot.Supply():
		return Finding{name, "under-voltage at some time since boot, not now" + volts, Warning, supplyRemedy}
	case now.Known && since.Known:
		return Finding{name, "no under-voltage since boot" + volts, OK, ""}
	case now.Known:
		return Finding{name, "no under-voltage now" + volts, OK, ""}
	default:
		return Finding{name, now.Reason + volts, Unknown, ""}
	}
}

// cooling judges the cooling by the temperature and by what the firmware did.
func (c Config) cooling(ctx context.Context, t sysmon.Throttle) Finding {
	f := finding(ctx, "cooling", c.Readers.TempCelsius, func(v float64) string { return fmt.Sprintf("%.1f °C", v) })
	celsius := 0.0
	if f.State == OK {
		celsius = c.Readers.TempCelsius(ctx).Value
	}
	var held []string
	if t.Now.Heat() {
		held = append(held, "slowed down by heat now")
	} else if t.SinceBoot.Heat() {
		held = append(held, "slowed down by heat at some time since boot")
	}
	if len(held) > 0 || celsius >= hotCelsius {
		f.Value, f.State, f.Remedy = strings.Join(append([]string{f.Value}, held...), ", "), Warning, heatRemedy
	}
	return f
}
