package host

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// expected.json is what the boards of testdata read. The test that writes the
// table of docs/board.md writes it too, from the same run.
//
//go:embed expected.json
var expectedJSON []byte

// Expectation says what a reading is on a board where nothing is amiss.
type Expectation struct {
	// Name is the reading's, as sysmon.Snapshot.EachReading gives it.
	Name string
	// Known tells whether the board has the reading. Where it has not, Reason
	// says why in the words of the reading.
	Known  bool
	Reason string
	// Sources are those that a reading may come from; none is any. What follows
	// a comma in a source, such as a number of rails, does not count.
	Sources []string
	// Value is what a fact of this board's processor reads, in words; "" where
	// values move or differ between boards.
	Value string
	// Optional tells that the reading is of a part that not every such board has.
	Optional bool
}

// tableBoard is a board of testdata as expected.json has it.
type tableBoard struct {
	Fixture string `json:"fixture"`
	// Model is what its device tree calls it.
	Model string `json:"model"`
	// Reference tells that it reads as a sound board does: its sensors are where
	// they should be, and nothing is denied.
	Reference bool           `json:"reference"`
	Readings  []tableReading `json:"readings"`
}

type tableReading struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"` // in words; a known reading has one
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// processorFacts are the readings that are alike on all boards of a family.
var processorFacts = []string{"Host.CPUModel", "Host.Cores"}

// Expected lists what each reading is on a sound Raspberry Pi of that model, by
// the boards of testdata: which readings there are is a matter of the family,
// where they come from one of the system on the card, so that the sources of
// all families count. It is nil for a board that testdata has no kin of.
func Expected(model string) []Expectation {
	var boards []tableBoard
	if err := json.Unmarshal(expectedJSON, &boards); err != nil {
		panic("host: expected.json: " + err.Error()) // a test writes and reads it
	}
	family := Family(model)
	var list []Expectation
	for _, b := range boards {
		if !b.Reference || family == "" || Family(b.Model) != family {
			continue
		}
		for i, r := range b.Readings {
			if i == len(list) {
				list = append(list, expectation(r.Name))
			}
			list[i].add(r)
		}
	}
	for i := range list {
		if list[i].Known {
			list[i].Sources = sources(boards, list[i].Name)
		}
	}
	return list
}

func expectation(name string) Expectation {
	return Expectation{Name: name, Optional: name == "FanRPM"}
}

// add takes what one board of the family reads.
func (e *Expectation) add(r tableReading) {
	if r.Reason != "" {
		e.Reason = r.Reason
		return
	}
	e.Known = true
	if slices.Contains(processorFacts, e.Name) {
		e.Value = r.Value
	}
}

// testSource is that of a reading which is of the test and not of a board.
const testSource = "test"

// sources lists where sound Pis have a reading from.
func sources(boards []tableBoard, name string) []string {
	var list []string
	for _, b := range boards {
		for _, r := range b.Readings {
			if source := SourceKind(r.Source); b.Reference && r.Name == name && source != "" && source != testSource && !slices.Contains(list, source) {
				list = append(list, source)
			}
		}
	}
	return list
}

// SourceKind is a source without what varies in it.
func SourceKind(source string) string {
	kind, _, _ := strings.Cut(source, ", ")
	return kind
}

// families are boards with the same processor, by how their models' names begin
// after "Raspberry Pi ".
var families = []struct {
	name   string
	begins []string
}{
	{"Zero 2 W", []string{"Zero 2"}},
	{"Pi 3", []string{"3", "Compute Module 3"}},
	{"Pi 4", []string{"4", "Compute Module 4"}}, // and the 400
	{"Pi 5", []string{"5", "Compute Module 5"}}, // and the 500
}

// Family names the family of a Raspberry Pi by what its device tree calls it,
// such as "Pi 4" for "Raspberry Pi 400 Rev 1.0"; "" for any other machine.
func Family(model string) string {
	rest, ok := strings.CutPrefix(model, "Raspberry Pi ")
	if !ok {
		return ""
	}
	for _, f := range families {
		for _, begin := range f.begins {
			if strings.HasPrefix(rest, begin) {
				return f.name
			}
		}
	}
	return ""
}
