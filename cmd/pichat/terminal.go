package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether w is a terminal that takes escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// Escape sequences of every terminal of the last decades.
const (
	dim       = "\x1b[2m"
	plain     = "\x1b[0m"
	eraseLine = "\r\x1b[K"
)

// statusLine is one line on a terminal that is written over and then erased;
// elsewhere it shows nothing.
type statusLine struct {
	w     io.Writer // nil where there is no terminal
	shown string
}

func newStatusLine(w io.Writer) *statusLine {
	if !isTerminal(w) {
		return &statusLine{}
	}
	return &statusLine{w: w}
}

func (s *statusLine) show(text string) {
	if s.w != nil && text != s.shown {
		s.shown = text
		fmt.Fprint(s.w, eraseLine+dim+text+plain)
	}
}

func (s *statusLine) clear() {
	if s.shown != "" {
		s.shown = ""
		fmt.Fprint(s.w, eraseLine)
	}
}

// textWriter writes a model's text: reasoning dimmed on a terminal, and plain
// elsewhere with an empty line after it.
type textWriter struct {
	w        io.Writer
	terminal bool
	thought  bool // the text before was reasoning
	begun    bool
}

func newTextWriter(w io.Writer) *textWriter {
	return &textWriter{w: w, terminal: isTerminal(w)}
}

func (t *textWriter) write(text string, thought bool) error {
	if !t.begun {
		if text = strings.TrimLeft(text, " \n"); text == "" {
			return nil
		}
	}
	before := ""
	switch {
	case t.thought && !thought && t.begun:
		before = "\n\n"
		if t.terminal {
			before = plain + "\n\n"
		}
	case thought && (!t.thought || !t.begun) && t.terminal:
		before = dim
	}
	t.thought, t.begun = thought, true
	if t.terminal {
		text = strings.Map(withoutControls, text)
	}
	_, err := io.WriteString(t.w, before+text)
	return err
}

// end leaves the terminal as it was.
func (t *textWriter) end() error {
	if t.thought && t.terminal {
		_, err := io.WriteString(t.w, plain)
		return err
	}
	return nil
}

// withoutControls drops what could command the terminal: a model's text is
// not to be trusted with that.
func withoutControls(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return -1
	}
	return r
}
