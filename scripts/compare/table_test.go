package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pichat/llm/paired"
)

func someRows() []row {
	aim := paired.AtLeast(1.1)
	sevenths := func(v float64) []float64 {
		return []float64{v, v * 1.01, v * 0.99, v * 1.02, v * 0.98, v * 1.03, v * 0.97}
	}
	same := []float64{100, 100, 100, 100, 100, 100, 100}
	good := row{Measure: "decode", Unit: "tokens/s", Against: "a peer with its flags", Ours: sevenths(104), Theirs: same,
		Must: paired.AtLeast(0.98), Aim: &aim, Loop: "closed, 1 user", Use: &meter{ownShare: 0.02, elsewhere: 0.5, pairs: 9}}
	good.notePrompts([]reply{{promptTokens: 40}}, []reply{{promptTokens: 40}, {promptTokens: 41, cachedTokens: 3}})
	bad := good
	bad.Measure, bad.Must, bad.Aim, bad.Notes = "gap", paired.AtMost(0.5), nil, nil
	few := good
	few.Measure, few.Ours, few.Theirs = "few", []float64{1, 2}, []float64{1, 1}
	return []row{good, bad, few}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := printTable(&out, someRows()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"measure ours peer unit ratio 95 % interval bar verdict aim",
		"1 decode 104.0 100.0 tokens/s 1.040 1.009 to 1.071 at least 0.98 holds at least 1.10: misses",
		"2 gap 104.0 100.0 tokens/s 1.040 1.009 to 1.071 at most 0.50 misses -",
		"3 few 1.500 1.000 tokens/s 1.500 n/a (n=2) at least 0.98 undecided at least 1.10: undecided",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d\ngot  %s\nwant %s", i, got, want)
		}
	}
	for _, want := range []string{
		"1 against a peer with its flags; medians of 7 pairs, the least disturbed of 9; load: closed, 1 user; the generator used 0.02 of a core, other programs 0.50",
		"PROMPTS DIFFER: 40 tokens here, 40-41 there",
		"cached tokens 0 here, 0-3 there",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	rows := someRows()
	rows[2].Ours = []float64{math.Inf(1), math.NaN()}
	rows[2].Ours = rows[2].Ours[:0]
	rows[2].Theirs = nil
	if err := printJSON(&out, []string{"machine: x"}, rows); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		About []string
		Rows  []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Rows[0]["verdict"] != "holds" || doc.Rows[0]["other_cpu"] != 0.5 || len(doc.Rows[0]["ours"].([]any)) != 7 || doc.About[0] != "machine: x" {
		t.Errorf("got %v", doc)
	}
	if _, known := doc.Rows[2]["ratio"]; known {
		t.Errorf("a ratio of nothing: %v", doc.Rows[2])
	}
}
