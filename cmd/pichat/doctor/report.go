package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// State says how a finding is meant.
type State string

// The states of a finding.
const (
	OK      State = "ok"
	Unknown State = "unknown" // could not be read; the value says why
	Warning State = "warning" // works, but not well
	Fault   State = "fault"   // does not work, or not as it should
)

// Finding is one thing that was looked at.
type Finding struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	State State  `json:"state"`
	// Remedy says what to do: always for warnings and faults, and where what is
	// unknown could be had.
	Remedy string `json:"remedy,omitempty"`
}

// Section is a group of findings.
type Section struct {
	Title    string    `json:"title"`
	Findings []Finding `json:"findings"`
}

// Report is all that was found. Its JSON is what `pichat doctor --json` prints.
type Report struct {
	Version  string    `json:"version"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Sections []Section `json:"sections"`
}

// add appends a section and counts.
func (r *Report) add(title string, findings []Finding) {
	for _, f := range findings {
		switch f.State {
		case Fault:
			r.Faults++
		case Warning:
			r.Warnings++
		}
	}
	r.Sections = append(r.Sections, Section{title, findings})
}

// Text writes the report for people: aligned columns, lines of at most width
// characters where words allow, a mark before what needs attention and the
// remedy under it.
func (r *Report) Text(w io.Writer, width int) error {
	nameWidth := 0
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			nameWidth = max(nameWidth, utf8.RuneCountInString(f.Name))
		}
	}
	var b strings.Builder
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "%s\n", s.Title)
		for _, f := range s.Findings {
			value, remedy := f.Value, ""
			if f.State == Unknown {
				value = "n/a: " + f.Value
			}
			if f.Remedy != "" {
				remedy = "-> " + f.Remedy
			}
			head := fmt.Sprintf("%s %-*s  ", marks[f.State], nameWidth, f.Name)
			indent := strings.Repeat(" ", utf8.RuneCountInString(head))
			for i, line := range wrap(value, width-len(indent)) {
				fmt.Fprintln(&b, strings.TrimRight(head+line, " "))
				if i == 0 {
					head = indent
				}
			}
			for i, line := range wrap(remedy, width-len(indent)-3) {
				if i > 0 {
					line = "   " + line
				}
				fmt.Fprintln(&b, indent+line)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(&b, r.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// marks stand before a finding.
var marks = map[State]string{OK: "  ", Unknown: "  ", Warning: " !", Fault: "!!"}

func (r *Report) summary() string {
	count := func(n int, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	switch {
	case r.Faults == 0 && r.Warnings == 0:
		return "All is well."
	case r.Faults == 0:
		return "No faults, " + count(r.Warnings, "warning") + " (marked !)."
	default:
		return fmt.Sprintf("%s (marked !!), %s (marked !).", count(r.Faults, "fault"), count(r.Warnings, "warning"))
	}
}

// wrap breaks text into lines of at most width characters at spaces. It
// returns no lines for no text.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
