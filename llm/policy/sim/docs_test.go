package sim

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the simulator's tables into docs/batching.md")

const docs = "../../../docs/batching.md"

// block is a table in the page, between two comments that say what it is of.
var block = regexp.MustCompile(`(?s)(<!-- sim: ([a-z]+)(?:; ([^;>]+); ([^;>]+?))? -->\n\n)(.*?)(\n<!-- end -->)`)

// The page says what the simulator says. Run the test with -update after a
// change of the policy, and read what the page says about the figures again.
func TestDocsHaveTheFigures(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	curves, err := Curves()
	if err != nil {
		t.Fatal(err)
	}
	sweeps := map[string][][]Result{}
	sweep := func(name, traffic string) [][]Result {
		key := name + "; " + traffic
		if sweeps[key] == nil {
			for _, c := range curves {
				for _, process := range []Traffic{Poisson, Bursts, Flood} {
					if c.Name == name && process.String() == traffic {
						sweeps[key] = Sweep(c, process)
					}
				}
			}
		}
		if sweeps[key] == nil {
			t.Fatalf("no curve or traffic %q", key)
		}
		return sweeps[key]
	}
	found := 0
	now := block.ReplaceAllStringFunc(string(text), func(old string) string {
		found++
		m := block.FindStringSubmatch(old)
		table := ""
		switch m[2] {
		case "curves":
			table = CurveTable(curves)
		case "sources":
			table = SourceTable(curves)
		case "policies":
			table = SummaryTable(sweep(m[3], m[4]))
		case "shares":
			table = ShareTable(sweep(m[3], m[4]))
		case "waits":
			table = WaitTable(sweep(m[3], m[4]))
		default:
			t.Fatalf("unknown table %q", m[2])
		}
		if m[5] != table && !*update {
			t.Errorf("%s: the page has\n%s\nthe simulator says\n%s", strings.TrimSpace(m[1]), m[5], table)
		}
		return m[1] + table + m[6]
	})
	if found < 5 {
		t.Errorf("only %d tables in %s", found, docs)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The pictures that the page shows exist.
func TestDocsHaveTheirPictures(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	pictures := regexp.MustCompile(`\]\((images/[a-z0-9-]+\.svg)\)`).FindAllSubmatch(text, -1)
	if len(pictures) < 3 {
		t.Errorf("%d pictures in %s", len(pictures), docs)
	}
	for _, p := range pictures {
		if svg, err := os.ReadFile("../../../docs/" + string(p[1])); err != nil || !strings.HasPrefix(string(svg), "<svg ") {
			t.Errorf("%s: %v: run make sim", p[1], fmt.Sprint(err))
		}
	}
}
