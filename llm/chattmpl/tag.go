package chattmpl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tag reads the inside of a tag up to and with its closing. It returns the
// inside, rewritten, and the closing's flag.
func (r *rewriter) tag(kind byte) (body string, flag byte, err error) {
	if kind == '#' {
		return r.comment()
	}
	closing := "%}"
	if kind == '{' {
		closing = "}}"
	}
	t := tagWriter{}
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		if t.depth == 0 {
			rest := r.src[r.pos:]
			if (c == '-' || c == '+') && strings.HasPrefix(rest[1:], closing) {
				flag, rest = c, rest[1:]
			}
			if strings.HasPrefix(rest, closing) {
				r.pos = len(r.src) - len(rest) + 2
				return t.String(), flag, nil
			}
			flag = 0
		}
		if c == '\'' || c == '"' {
			n, err := t.literal(r.src[r.pos:])
			if err != nil {
				return "", 0, err
			}
			r.pos += n
			continue
		}
		if err := t.char(c, r.src[r.pos:]); err != nil {
			return "", 0, err
		}
		r.pos++
	}
	return "", 0, fmt.Errorf("a tag that opens with {%c is never closed", kind)
}

// comment reads a comment to its end.
func (r *rewriter) comment() (body string, flag byte, err error) {
	i := strings.Index(r.src[r.pos:], "#}")
	if i < 0 {
		return "", 0, fmt.Errorf("a comment is never closed")
	}
	body = r.src[r.pos : r.pos+i]
	r.pos += i + 2
	if n := len(body); n > 0 && (body[n-1] == '-' || body[n-1] == '+') {
		body, flag = body[:n-1], body[n-1]
	}
	return body, flag, nil
}

// tagWriter rewrites the inside of one tag.
type tagWriter struct {
	strings.Builder
	depth int  // brackets that are open
	last  byte // last character that is no space; a quote after a literal
	joint int  // where the last literal's closing quote stands
}

// char copies one character outside of literals.
func (t *tagWriter) char(c byte, rest string) error {
	switch {
	case c == '(' || c == '[' || c == '{':
		t.depth++
		if t.depth > maxBrackets {
			return fmt.Errorf("more than %d brackets inside each other", maxBrackets)
		}
	case c == ')' || c == ']' || c == '}':
		t.depth--
		if t.depth < 0 {
			return fmt.Errorf("unexpected %q", c)
		}
		t.WriteByte(' ') // never two "}" in a row, which would end the tag
	case c == '%' && t.last == '\'':
		return fmt.Errorf("the %% operator on a string is not supported")
	case c == '!' && !strings.HasPrefix(rest, "!="),
		!strings.ContainsRune(" \t\n\v\f+-*/%~|.,:<>=!_", rune(c)) && !isAlnum(c):
		u, _ := utf8.DecodeRuneInString(rest)
		return fmt.Errorf("unexpected character %q", u)
	}
	t.WriteByte(c)
	if c > ' ' {
		t.last = c
	}
	return nil
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// literal copies a string literal, its escapes resolved as Python does, and
// returns its length in the source. It joins a literal that follows another.
func (t *tagWriter) literal(s string) (int, error) {
	quote := s[0]
	if t.last == '\'' {
		before := t.String()[:t.joint]
		t.Reset()
		t.WriteString(before)
	} else {
		t.WriteByte('\'')
	}
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == quote:
			t.joint = t.Len()
			t.WriteByte('\'')
			t.last = '\''
			return i + 1, nil
		case c == '\\' && i+1 < len(s):
			n := t.escape(s[i+1:])
			i += 1 + n
		case c == '\'':
			t.WriteString(`\'`)
			i++
		default:
			t.WriteByte(c)
			i++
		}
	}
	return 0, fmt.Errorf("a string that opens with %c is never closed", quote)
}

// escape writes what the escape sequence after a backslash means and returns
// its length.
func (t *tagWriter) escape(s string) int {
	simple := map[byte]string{
		'n': `\n`, 't': `\t`, 'r': "\r", '\\': `\\`, '\'': `\'`, '"': `"`,
		'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': "",
	}
	if w, ok := simple[s[0]]; ok {
		t.WriteString(w)
		return 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if digits > 0 && len(s) > digits {
		if v, err := strconv.ParseUint(s[1:1+digits], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
			t.WriteString(literalEscapes.Replace(string(rune(v))))
			return 1 + digits
		}
	}
	n := 0
	for n < 3 && n < len(s) && '0' <= s[n] && s[n] <= '7' {
		n++
	}
	if n > 0 {
		v, _ := strconv.ParseUint(s[:n], 8, 16)
		t.WriteString(literalEscapes.Replace(string(rune(v))))
		return n
	}
	t.WriteString(`\\`) // as Python: a backslash that escapes nothing stays
	return 0
}
