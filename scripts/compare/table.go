package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"pichat/llm/paired"
)

// printTable writes the table, and below it what each figure is from.
func printTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "measure\tours\tpeer\tunit\tratio\t95 % interval\tbar\tverdict\taim")
	for i, r := range rows {
		ratio := r.ratio()
		fmt.Fprintf(t, "%d %s\t%s\t%s\t%s\t%s\t%s\t%v\t%s\t%s\n", i+1, r.Measure,
			number(paired.Median(r.Ours)), number(paired.Median(r.Theirs)), r.Unit, number(ratio.Median), interval(ratio),
			r.Must, ratio.Verdict(r.Must), aim(ratio, r.Aim))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, r := range rows {
		fmt.Fprintf(w, "%d against %s; medians of %d pairs, the least disturbed of %d; load: %s; %v\n",
			i+1, r.Against, len(r.Ours), r.Use.pairs, r.Loop, r.Use)
		for _, n := range r.Notes {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
	return nil
}

func interval(r paired.Ratio) string {
	if math.IsInf(r.Low, -1) {
		return fmt.Sprintf("n/a (n=%d)", r.Pairs)
	}
	return fmt.Sprintf("%s to %s", number(r.Low), number(r.High))
}

func aim(r paired.Ratio, bar *paired.Bar) string {
	if bar == nil {
		return "-"
	}
	return fmt.Sprintf("%v: %s", *bar, r.Verdict(*bar))
}

// number has three decimals below 10 and fewer above.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// rowJSON is a row with its outcome. A bound that is unknown is left out.
type rowJSON struct {
	Measure string    `json:"measure"`
	Unit    string    `json:"unit"`
	Against string    `json:"against"`
	Ours    []float64 `json:"ours"`
	Theirs  []float64 `json:"theirs"`
	Ratio   *float64  `json:"ratio,omitempty"`
	Low     *float64  `json:"low,omitempty"`
	High    *float64  `json:"high,omitempty"`
	Bar     string    `json:"bar"`
	Verdict string    `json:"verdict"`
	Aim     string    `json:"aim"`
	Loop    string    `json:"loop"`
	Notes   []string  `json:"notes"`
	// Shares of a core: this program's, and what is neither it nor a side.
	GeneratorCPU float64 `json:"generator_cpu"`
	OtherCPU     float64 `json:"other_cpu"`
}

// printJSON writes everything that was measured.
func printJSON(w io.Writer, head []string, rows []row) error {
	doc := struct {
		About []string  `json:"about"`
		Rows  []rowJSON `json:"rows"`
	}{About: head}
	for _, r := range rows {
		ratio := r.ratio()
		doc.Rows = append(doc.Rows, rowJSON{r.Measure, r.Unit, r.Against, r.Ours, r.Theirs, finite(ratio.Median), finite(ratio.Low),
			finite(ratio.High), r.Must.String(), ratio.Verdict(r.Must), aim(ratio, r.Aim), r.Loop, r.Notes, r.Use.ownShare, r.Use.elsewhere})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
