package llamacpp

// #include "shim.h"
import "C"

import (
	"slices"
	"strings"
	"unicode/utf8"

	"pichat/llm"
)

// Specials returns the spellings that a tokenizer which parses special tokens
// turns into one token with a meaning beyond its text: those of control and
// unknown tokens, of all that end a generation, and of user-defined ones that
// look like the markup of a chat format. Text that a user wrote must not
// contain one uncut where special tokens are parsed. Sorted; the slice is the
// caller's.
//
// User-defined tokens are a mixed lot: chat markup in some models, runs of
// newlines or HTML tags in others, where cutting them would only make the
// model see unusual tokens. As markup counts a spelling of at least three
// bytes without white space that is enclosed in <| and |>, in < and > with a
// | or _ or digit inside, in [ and ] (letters, digits, / and _ only), in [| and
// |], in ｜, or is one of the tags by which models mark reasoning and tools.
func (v *vocabulary) Specials() []string { return slices.Clone(v.specials) }

// findSpecials fills in specials and breakers.
func (v *vocabulary) findSpecials() {
	var breakers []string
	for i, kind := range v.kinds {
		userDefined := kind&C.PC_TOKEN_USER_DEFINED != 0
		if kind&(C.PC_TOKEN_CONTROL|C.PC_TOKEN_UNKNOWN|C.PC_TOKEN_EOG) == 0 && !userDefined {
			continue
		}
		text := v.text(llm.Token(i))
		// A token of one character cannot be cut and has no meaning beyond it.
		if utf8.RuneCountInString(text) < 2 || userDefined && !isMarkup(text) && kind&C.PC_TOKEN_EOG == 0 {
			continue
		}
		v.specials = append(v.specials, text)
		if userDefined {
			breakers = append(breakers, text)
		}
	}
	slices.Sort(v.specials)
	v.specials = slices.Compact(v.specials)
	v.breakers = newSpecialSet(breakers)
}

// tags are user-defined tokens without the marks that isMarkup looks for, but
// with a meaning in chats.
var tags = map[string]bool{
	"think": true, "thinking": true, "thought": true, "reasoning": true, "answer": true,
	"tool": true, "tools": true, "system": true, "user": true, "assistant": true, "s": true,
}

// isMarkup reports whether a user-defined token looks like chat markup; see
// Specials.
func isMarkup(text string) bool {
	if len(text) < 3 || strings.ContainsAny(text, " \t\r\n") {
		return false
	}
	if strings.Contains(text, "<|") || strings.Contains(text, "|>") || strings.Contains(text, "｜") ||
		strings.HasPrefix(text, "[|") && strings.HasSuffix(text, "|]") {
		return true
	}
	inside, open := strings.CutPrefix(text, "<")
	inside, closed := strings.CutSuffix(inside, ">")
	if open && closed {
		name := strings.ToLower(strings.Trim(inside, "/"))
		return tags[name] || strings.ContainsAny(name, "_|") || name != "" && isDigit(name[len(name)-1]) && !isHeading(name)
	}
	inside, open = strings.CutPrefix(text, "[")
	inside, closed = strings.CutSuffix(inside, "]")
	return open && closed && inside != "" && !strings.ContainsFunc(inside, func(r rune) bool {
		return r != '/' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isHeading recognises HTML's h1 to h6.
func isHeading(name string) bool { return len(name) == 2 && name[0] == 'h' }

// specialSet finds any of a fixed set of strings in a text. The zero value is
// the empty set.
type specialSet struct {
	first   [256]bool // bytes that one of them begins with
	lengths []int     // their lengths, distinct, longest first
	words   map[string]bool
}

func newSpecialSet(words []string) specialSet {
	var s specialSet
	s.words = make(map[string]bool, len(words))
	for _, w := range words {
		s.first[w[0]] = true
		s.words[w] = true
		if !slices.Contains(s.lengths, len(w)) {
			s.lengths = append(s.lengths, len(w))
		}
	}
	slices.Sort(s.lengths)
	slices.Reverse(s.lengths)
	return s
}

// at reports whether one of the words begins at text[i].
func (s *specialSet) at(text string, i int) bool {
	if !s.first[text[i]] {
		return false
	}
	for _, n := range s.lengths {
		if i+n <= len(text) && s.words[text[i:i+n]] {
			return true
		}
	}
	return false
}
