package views

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rate words tokens/s with one decimal: "5.1".
func rate(tps float64) string { return strconv.FormatFloat(tps, 'f', 1, 64) }

// pace words a reader's pace without a needless decimal: "11", "5.2".
func pace(tps float64) string {
	return strconv.FormatFloat(math.Round(tps*10)/10, 'f', -1, 64)
}

// seconds words a duration with one decimal below ten seconds: "3.2 s",
// "14 s", "2 min 5 s".
func seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	default:
		whole := int(math.Round(s))
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	}
}

// gib words bytes in units of 2^30 as people do, "3.1".
func gib(bytes uint64) string {
	return strconv.FormatFloat(float64(bytes)/(1<<30), 'f', 1, 64)
}

// gibWhole words the size of a machine's memory, "8": the kernel keeps a part,
// so 7.9 is an 8 GB board. Below 1.5 it keeps a decimal.
func gibWhole(bytes uint64) string {
	g := float64(bytes) / (1 << 30)
	if g < 1.5 {
		return strconv.FormatFloat(g, 'f', 1, 64)
	}
	return strconv.FormatFloat(math.Round(g), 'f', 0, 64)
}

// percent words a share of 0..1 as whole percent.
func percent(share float64) string {
	return strconv.Itoa(int(math.Round(100 * min(max(share, 0), 1))))
}

// number writes a value as an attribute or a form field wants it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// list joins words: "a", "a and b", "a, b and c".
func list(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}

// title is the window's name: the box first, so that tabs can be told apart.
func title(host string) string {
	if host == "" {
		return "pichat"
	}
	return host + " · pichat"
}

// word names a phase for the header's dot.
func (m StateModel) word() string {
	switch m.Phase {
	case PhaseLoading:
		return "loading " + percent(m.Progress) + " %"
	case PhaseReady:
		return "ready"
	case PhaseFailed:
		return "not ready"
	case PhaseStopping:
		return "stopping"
	default:
		return "unknown"
	}
}

// sentence words the limits; it is empty where nothing is known.
func (m HeldModel) sentence() string {
	switch {
	case len(m.Limits) > 0:
		return list(m.Limits)
	case m.Known:
		return "no"
	case len(m.Clear) > 0:
		return "no " + list(m.Clear)
	}
	return ""
}

// remedy is what to do: about now, then about what has been.
func (m ThrottleModel) remedy() string {
	return strings.TrimSpace(m.Now.Remedy + " " + m.SinceBoot.Remedy)
}

// clock words a clock, "2.40", and what was asked for where it is well below
// that: "1.00 of 2.40".
func (m BoardModel) clock() string {
	gigahertz := func(hz float64) string { return strconv.FormatFloat(hz/1e9, 'f', 2, 64) }
	if m.ClockOfHz > 0 {
		return gigahertz(m.ClockHz.Value) + " of " + gigahertz(m.ClockOfHz)
	}
	return gigahertz(m.ClockHz.Value)
}

func (m BoardModel) clockUnit() string {
	if m.ClockAsked {
		return "GHz asked for"
	}
	return "GHz"
}

// lastBegun is the newest time of throttling whose beginning is known.
func (m TimelineModel) lastBegun() (s HeldSpan, ok bool) {
	for i := len(m.Held) - 1; i >= 0; i-- {
		if m.Held[i].Began {
			return m.Held[i], true
		}
	}
	return HeldSpan{}, false
}

// word names the beginning of throttling under the history.
func (s HeldSpan) word() string {
	if s.TempCelsius.Known {
		return "throttling began at " + strconv.FormatFloat(s.TempCelsius.Value, 'f', 0, 64) + " °C"
	}
	return "throttling began"
}

// wordAt is where the word stands, so that it meets neither end of the axis.
func (s HeldSpan) wordAt() string { return percent(min(max(s.From, .45), .67)) + "%" }

// sentence words how many replies the engine serves.
func (m NowModel) sentence() string {
	places := "places"
	if m.Places == 1 {
		places = "place"
	}
	return fmt.Sprintf("%d answering · %d waiting · %d %s", m.Answering, m.Waiting, m.Places, places)
}

// together words the pace that each answer gets when several are written.
func (m NowModel) together() string {
	var parts []string
	for _, t := range m.Together {
		parts = append(parts, fmt.Sprintf("%d at %s", t.Answers, pace(t.PaceTPS)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "at once: " + strings.Join(parts, " · ") + " tok/s each"
}

// where words what the box is, as the rest of a sentence.
func (m EmptyModel) where() string {
	if m.Board == "" {
		return ""
	}
	return ", on a " + m.Board
}

// pace words what is known of a better model's pace, to end a sentence with.
func (m *BetterModel) pace() string {
	switch {
	case m.PaceTPS == 0:
		return "; its pace here is unknown"
	}
	return fmt.Sprintf(", at about %s tok/s (%s for a %s)", rate(m.PaceTPS), m.PaceKind, m.Board)
}
