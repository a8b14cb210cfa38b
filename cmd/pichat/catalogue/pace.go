package catalogue

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// published.csv: decode speeds that others measured and published, each with
// its source and date. None of them is ours.
//
//go:embed published.csv
var publishedCSV string

// Kind says where a figure comes from.
type Kind string

// The kinds of a figure, never mixed without a word.
const (
	Published Kind = "published" // others measured this model and quantization on such a board
	Projected Kind = "projected" // computed from what such a board moved in other published runs
	Unknown   Kind = "unknown"
)

// Pace is the speed of writing to expect, in tokens/s. TPS is the median, Low
// and High the ends: of the published runs, or of the middle 80 % of what the
// board's published runs lead to. All are 0 where Kind is Unknown.
type Pace struct {
	Kind    Kind     `json:"kind"`
	TPS     float64  `json:"tokens_per_second,omitempty"`
	Low     float64  `json:"low,omitempty"`
	High    float64  `json:"high,omitempty"`
	Runs    int      `json:"runs,omitempty"` // that it rests on
	Sources []string `json:"sources,omitempty"`
}

// String words it: "published 4.5", "published 3.3-5.6", "projected 1.7-2.6",
// "unknown".
func (p Pace) String() string {
	low, high := short(p.Low), short(p.High)
	switch {
	case p.Kind == Unknown:
		return string(Unknown)
	case low == high:
		return string(p.Kind) + " " + low
	}
	return string(p.Kind) + " " + low + "-" + high
}

// short prints two digits that matter, as published runs agree in no more.
func short(tps float64) string {
	if tps < 9.95 {
		return strconv.FormatFloat(tps, 'f', 1, 64)
	}
	return strconv.FormatFloat(tps, 'f', 0, 64)
}

// Pace is what to expect of the model on a board. size is the file's, in
// bytes, 0 where unknown; a projection needs it.
func (e Entry) Pace(b Board, size uint64) Pace {
	if b == "" {
		return Pace{Kind: Unknown}
	}
	if p := e.published(b); p.Kind == Published {
		return p
	}
	if size == 0 || e.partial() {
		return Pace{Kind: Unknown}
	}
	return project(b, float64(size)/1e9)
}

func (e Entry) published(b Board) Pace {
	var speeds []float64
	p := Pace{Kind: Unknown}
	for _, r := range runs {
		if r.board == b && e.isRun(r) {
			speeds = append(speeds, r.tps)
			p.Sources = addNew(p.Sources, r.source)
		}
	}
	if len(speeds) == 0 {
		return p
	}
	slices.Sort(speeds)
	p.Kind, p.Runs = Published, len(speeds)
	p.Low, p.TPS, p.High = speeds[0], quantile(speeds, .5), speeds[len(speeds)-1]
	return p
}

// isRun reports whether a published run was of this model and quantization.
func (e Entry) isRun(r run) bool {
	quant, _, _ := strings.Cut(e.Quant, " ") // "(QAT)" is how it was trained, not how it is stored
	return r.quant == quant && slices.Contains(e.publishedAs, r.model)
}

// PublishedBytes is the largest size that was published with a run of this
// model and quantization, as rounded as it was; 0 where there is none.
func (e Entry) PublishedBytes() uint64 {
	most := 0.0
	for _, r := range runs {
		if e.isRun(r) {
			most = max(most, r.gigabytes)
		}
	}
	return uint64(most * 1e9)
}

// project divides what the board moved in each second of its published runs
// by the bytes that a token of this model moves: decoding is bound by memory
// bandwidth, so a run measures the bandwidth that decoding gets. Only models
// that read their whole file for each token count.
func project(b Board, gigabytes float64) Pace {
	var moved []float64
	p := Pace{Kind: Projected}
	for _, r := range runs {
		if r.board == b && r.whole {
			moved = append(moved, r.tps*r.gigabytes)
			p.Sources = addNew(p.Sources, r.source)
		}
	}
	if len(moved) == 0 {
		return Pace{Kind: Unknown}
	}
	slices.Sort(moved)
	p.Runs = len(moved)
	p.Low, p.TPS, p.High = quantile(moved, .1)/gigabytes, quantile(moved, .5)/gigabytes, quantile(moved, .9)/gigabytes
	return p
}

// quantile returns the value of a sorted list at a share of its length,
// between two neighbours in proportion.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func addNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// run is a line of published.csv.
type run struct {
	board          Board
	model, quant   string
	gigabytes, tps float64
	whole          bool // a token reads the whole file
	source         string
}

var runs = must(readRuns(publishedCSV))

func readRuns(text string) ([]run, error) {
	rows, err := table(text)
	if err != nil {
		return nil, err
	}
	var list []run
	for i, row := range rows {
		r := run{
			model: row["model"], quant: row["quant"], source: row["source_url"],
			whole: !strings.Contains(row["model"], "MoE") && !strings.Contains(row["model"], "E2B"),
		}
		for _, b := range Boards() {
			if strings.HasPrefix(row["soc"], b.soc()) {
				r.board = b
			}
		}
		r.gigabytes, err = strconv.ParseFloat(row["model_gb"], 64)
		if err == nil {
			r.tps, err = strconv.ParseFloat(row["tg_tps"], 64)
		}
		if err != nil || r.board == "" || r.source == "" {
			return nil, fmt.Errorf("published.csv: line %d: board %q, source %q: %v", i+2, row["soc"], r.source, err)
		}
		list = append(list, r)
	}
	return list, nil
}
