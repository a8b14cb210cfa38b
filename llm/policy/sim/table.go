package sim

import (
	"fmt"
	"math"
	"strings"
)

// CurveTable is the curves as a Markdown table.
func CurveTable(curves []Curve) string {
	var b strings.Builder
	b.WriteString("| curve | T(1) | T(2) | T(4) | T(8) | g(2) | g(4) | g(8) | prefill | streams | capacity | holding pays above |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range curves {
		ms := func(n int) string { return fmt.Sprintf("%.4g ms", math.Round(1e4*c.StepSeconds[n-1])/10) }
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.2f | %.2f | %.2f | %.0f/s | %d | %.2g/s | %s |\n",
			c.Title(), ms(1), ms(2), ms(4), ms(8), c.Gain(2), c.Gain(4), c.Gain(8),
			c.PrefillTokensPerSecond, BestStreams(c), Capacity(c), holdText(c))
	}
	return b.String()
}

// Title is the name, and whether the curve was measured.
func (c Curve) Title() string {
	if c.Derived {
		return c.Name + " (derived)"
	}
	return c.Name + " (measured)"
}

// HoldRate is the arrival rate above which holding a lone request for a second
// one pays, n/lambda < T(1) - (T(n+1) - T(n)) with n = 1; false if never.
func HoldRate(c Curve) (perSecond float64, ok bool) {
	gain := c.StepSeconds[0] - (c.StepSeconds[1] - c.StepSeconds[0])
	return 1 / gain, gain > 0
}

func holdText(c Curve) string {
	rate, ok := HoldRate(c)
	if !ok {
		return "never"
	}
	return fmt.Sprintf("%.0f x capacity", rate/Capacity(c))
}

// SummaryTable is a sweep as a Markdown table: for each load the part of the
// requests that met both limits, the median time to the first token, and the
// mean time to the end.
func SummaryTable(sweep [][]Result) string {
	var b strings.Builder
	b.WriteString("| policy |")
	for _, row := range sweep {
		fmt.Fprintf(&b, " load %.2g: met, TTFT p50, E2E mean |", row[0].Scenario.Load)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sweep)) + "\n")
	for i := range sweep[0] {
		fmt.Fprintf(&b, "| %s |", sweep[0][i].Contender.Name)
		for _, row := range sweep {
			r := &row[i]
			fmt.Fprintf(&b, " %s, %s s, %s s |", percent(r), r.TTFT.Percentile(0.5), r.E2E.MeanText())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func percent(r *Result) string {
	part, ok := r.Attainment()
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// WaitTable is what Adaptive predicted and what came, as Markdown lines of one
// sweep.
func WaitTable(sweep [][]Result) string {
	var b strings.Builder
	b.WriteString("| load | told a wait | waits p50 | p95 | error p50 | p95 |\n|---|---|---|---|---|---|\n")
	for _, row := range sweep {
		r := &row[0]
		fmt.Fprintf(&b, "| %.2g | %d of %d | %s | %s | %s | %s |\n", r.Scenario.Load, r.Errors.N(), r.N(),
			unit(r.Waited.Percentile(0.5)), unit(r.Waited.Percentile(0.95)), unit(r.Errors.Percentile(0.5)), unit(r.Errors.Percentile(0.95)))
	}
	return b.String()
}

func unit(seconds string) string {
	if strings.HasPrefix(seconds, "n/a") {
		return seconds
	}
	return seconds + " s"
}

// FullTable is a sweep with all its figures, as text in columns. Times are
// seconds.
func FullTable(sweep [][]Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-4s %-27s %5s %8s %6s %7s | %8s %8s %8s | %7s %7s | %8s %8s | %8s %7s\n", "load", "policy", "n", "goodput", "met", "refused",
		"TTFT p50", "p95", "p99", "TPOT 50", "p95", "queue 50", "p95", "E2E mean", "streams")
	for _, row := range sweep {
		for i := range row {
			r := &row[i]
			fmt.Fprintf(&b, "%-4.2g %-27s %5d %8.3f %6s %7d | %8s %8s %8s | %7s %7s | %8s %8s | %8s %7.1f\n",
				r.Scenario.Load, r.Contender.Name, r.N(), r.Goodput(), percent(r), r.Refused,
				r.TTFT.Percentile(0.5), r.TTFT.Percentile(0.95), r.TTFT.Percentile(0.99), r.TPOT.Percentile(0.5), r.TPOT.Percentile(0.95),
				r.Queue.Percentile(0.5), r.Queue.Percentile(0.95), r.E2E.MeanText(), r.Streams)
		}
	}
	return b.String()
}

// ShareTable is how soon the client that floods and the others get their first
// tokens, as Markdown lines of one sweep.
func ShareTable(sweep [][]Result) string {
	var b strings.Builder
	b.WriteString("| load | policy | others: TTFT p50 | p95 | the one client: p50 | p95 |\n|---|---|---|---|---|---|\n")
	for _, row := range sweep {
		for i := range row {
			r := &row[i]
			if r.Contender.Name != "adaptive" && r.Contender.Name != "fixed 8" {
				continue
			}
			fmt.Fprintf(&b, "| %.2g | %s | %s | %s | %s | %s |\n", r.Scenario.Load, r.Contender.Name,
				unit(r.Others.Percentile(0.5)), unit(r.Others.Percentile(0.95)), unit(r.Script.Percentile(0.5)), unit(r.Script.Percentile(0.95)))
		}
	}
	return b.String()
}

// SourceTable says where the curves come from.
func SourceTable(curves []Curve) string {
	var b strings.Builder
	b.WriteString("| curve | model | machine | from | date |\n|---|---|---|---|---|\n")
	for _, c := range curves {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.Title(), c.Model, c.Machine, c.Source, c.Date)
	}
	return b.String()
}
