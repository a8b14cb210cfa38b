package llm

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// holdback lets text out only when it can no longer change: bytes of a
// character that is split over tokens, and text that may yet become a stop
// string, wait for the next token.
type holdback struct {
	stops []string
	buf   []byte
}

// push adds the bytes of a token. It returns the text that is free to go and
// whether a stop string was completed; text from the stop string on is gone.
func (h *holdback) push(piece []byte) (text string, stopped bool) {
	h.buf = append(h.buf, piece...)
	if at := h.firstStop(); at >= 0 {
		text = validUTF8(h.buf[:at])
		h.buf = h.buf[:0]
		return text, true
	}
	keep := max(partialRune(h.buf), h.partialStop())
	free := len(h.buf) - keep
	if free == 0 {
		return "", false
	}
	text = validUTF8(h.buf[:free])
	h.buf = append(h.buf[:0], h.buf[free:]...)
	return text, false
}

// flush returns what is left at the end of a reply. The first bytes of a
// character whose rest never came are dropped.
func (h *holdback) flush() string {
	text := validUTF8(h.buf[:len(h.buf)-partialRune(h.buf)])
	h.buf = h.buf[:0]
	return text
}

// firstStop is where the earliest stop string begins, -1 without one.
func (h *holdback) firstStop() int {
	first := -1
	for _, s := range h.stops {
		at := bytes.Index(h.buf, []byte(s))
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// partialStop is the length of the longest end of the buffer that is the
// beginning of a stop string.
func (h *holdback) partialStop() int {
	longest := 0
	for _, s := range h.stops {
		for n := min(len(s)-1, len(h.buf)); n > longest; n-- {
			if string(h.buf[len(h.buf)-n:]) == s[:n] {
				longest = n
				break
			}
		}
	}
	return longest
}

// partialRune is the number of bytes at the end of b that begin a character
// without completing it, 0 to 3.
func partialRune(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// validUTF8 copies b, with U+FFFD for bytes that belong to no character: a
// model may sample such bytes, and no frame may carry them.
func validUTF8(b []byte) string {
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
