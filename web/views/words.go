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

// sentence words the throttling of a board.
func (m ThrottleModel) sentence() string {
	switch {
	case len(m.Now) > 0:
		return list(m.Now) + " now"
	case len(m.SinceBoot) > 0:
		return "not now · " + list(m.SinceBoot) + " since start-up"
	default:
		return "none now, none since start-up"
	}
}

// sentence words how many replies the engine serves.
func (m NowModel) sentence() string {
	places := "places"
	if m.Places == 1 {
		places = "place"
	}
	return fmt.Sprintf("%d answering · %d waiting · %d %s", m.Answering, m.Waiting, m.Places, places)
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
