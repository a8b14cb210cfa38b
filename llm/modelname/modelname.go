// Package modelname is the one rule for what a model is called. The page, the
// terminal, doctor, /status and the API all show its names, whether they read
// the file's header in Go or the loaded model.
//
// Its functions are pure and safe for concurrent use.
package modelname

import (
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// longest is the number of characters of a name that are shown; a name inside
// of a file may have any length.
const longest = 80

var (
	sizeLabel   = regexp.MustCompile(`(?i)[0-9](\.[0-9]+)?[mb]\b`)
	quantSuffix = regexp.MustCompile(`(?i)[-._](q[0-9]|iq[0-9]|tq[0-9]|f16|f32|bf16|mxfp4|ud-).*$`)
)

// Display is what people call a model, in one line: "SmolLM2 135M Instruct".
// file is its path or address, own what it calls itself (general.name), "" where
// it says nothing.
//
// Names inside of files are often those of a training run ("Smollm2 135M 8k
// Lc100K Mix1 Ep2"), so a file name that tells the model's size is preferred.
func Display(file, own string) string {
	stem := quantSuffix.ReplaceAllString(ID(file, ""), "")
	own = clean(own, unicode.IsSpace)
	if own == "" || sizeLabel.MatchString(stem) {
		return clean(stem, func(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) })
	}
	return own
}

// ID is the name by which the API's clients know a model: its file's, without
// the ending; display in small letters where there is no file.
func ID(file, display string) string {
	if file == "" {
		return strings.ReplaceAll(strings.ToLower(display), " ", "-")
	}
	if strings.Contains(file, "://") {
		file, _, _ = strings.Cut(file, "?")
	}
	base := filepath.Base(file)
	if ext := filepath.Ext(base); strings.EqualFold(ext, ".gguf") {
		return base[:len(base)-len(ext)]
	}
	return base
}

// clean joins the words of a name, without what a terminal would obey, up to
// the longest that is shown.
func clean(name string, separates func(rune) bool) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, ""), func(r rune) bool {
		return separates(r) || unicode.IsControl(r)
	}), " ")
	if r := []rune(name); len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return name
}
