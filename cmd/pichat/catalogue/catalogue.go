// Package catalogue is the list of models that pichat knows where to fetch,
// and what is published of their pace on a Raspberry Pi 4 and 5.
//
// Nothing in it is guessed. A size is known where the server told it or where
// somebody who measured the model published it, and says which; a pace is
// published, projected from published runs, or unknown. Everything is
// read-only and safe for concurrent use.
package catalogue

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// models.csv: where each model is, its checksum and its licence. published_as
// holds the names under which published.csv knows it.
//
//go:embed models.csv
var modelsCSV string

// Default is the name of the model that pichat comes with.
const Default = "smollm2-135m-instruct"

// Entry is a model of the catalogue.
type Entry struct {
	Name string `json:"name"`
	// Billions of parameters as the makers give them, such as "1.24" or
	// "2 effective".
	Billions string `json:"parameters_b"`
	// Quant is the quantization, such as "Q4_K_M" or "Q4_0 (QAT)".
	Quant   string `json:"quantization"`
	Repo    string `json:"repository"`
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	Licence string `json:"licence"`
	// PinnedBytes is the size of the file with that checksum; 0 where nobody
	// has looked.
	PinnedBytes uint64 `json:"-"`

	publishedAs []string
}

// URL is the address of the file.
func (e Entry) URL() string {
	return "https://huggingface.co/" + e.Repo + "/resolve/main/" + e.File
}

// Parameters is the number of parameters in billions. For a model that works
// with a part of its weights it is that part.
func (e Entry) Parameters() float64 {
	number, _, _ := strings.Cut(e.Billions, " ")
	n, _ := strconv.ParseFloat(number, 64) // read checked it
	return n
}

// partial reports whether a token reads only a part of the file, so that its
// pace does not follow from the size.
func (e Entry) partial() bool { return strings.Contains(e.Billions, "effective") }

// All lists the models, smallest first. The slice is the caller's.
func All() []Entry { return append([]Entry(nil), entries...) }

// Find returns the model of that name.
func Find(name string) (Entry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

var entries = must(readModels(modelsCSV))

// must stops the program at its start: an embedded table that cannot be read
// is a fault of the build, found by any test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("catalogue: %v", err))
	}
	return v
}

func readModels(text string) ([]Entry, error) {
	rows, err := table(text)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, r := range rows {
		e := Entry{
			Name: r["name"], Billions: r["parameters_b"], Quant: r["quant"], Repo: r["repo"],
			File: r["file"], SHA256: r["sha256"], Licence: r["licence"],
		}
		if r["bytes"] != "" {
			if e.PinnedBytes, err = strconv.ParseUint(r["bytes"], 10, 64); err != nil {
				return nil, fmt.Errorf("models.csv: %s: %w", e.Name, err)
			}
		}
		if r["published_as"] != "" {
			e.publishedAs = strings.Split(r["published_as"], "|")
		}
		if e.Parameters() <= 0 || len(e.SHA256) != 64 {
			return nil, fmt.Errorf("models.csv: %s has %q parameters and the checksum %q", e.Name, e.Billions, e.SHA256)
		}
		list = append(list, e)
	}
	return list, nil
}

// table reads CSV with a header line into one map a row.
func table(text string) ([]map[string]string, error) {
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []map[string]string
	for _, fields := range all[1:] {
		row := make(map[string]string, len(fields))
		for i, f := range fields {
			row[all[0][i]] = f
		}
		rows = append(rows, row)
	}
	return rows, nil
}
