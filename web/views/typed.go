package views

import "strings"

// part is a stretch of a sentence: words, or what is to be typed.
type part struct {
	text  string
	typed bool
}

// parts cuts a sentence at its backticks, between which a command stands. One
// that has no partner is a character like any other.
func parts(sentence string) []part {
	var all []part
	for {
		before, rest, ok := strings.Cut(sentence, "`")
		command, after, closed := strings.Cut(rest, "`")
		if !ok || !closed {
			return append(all, part{text: sentence})
		}
		all = append(all, part{text: before}, part{command, true})
		sentence = after
	}
}
