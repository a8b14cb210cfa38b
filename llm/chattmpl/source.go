package chattmpl

import (
	"fmt"
	"strings"
	"unicode"
)

// Limits of a template's source. The largest template in use has 17 kB.
const (
	maxSourceBytes = 256 << 10
	maxBrackets    = 100 // nested brackets in one tag: the parser recurses
	maxBlocks      = 200 // nested blocks: the parser and the evaluator recurse
)

// prepare rewrites a template for the Jinja library, whose scanner differs
// from Jinja2's where templates in use depend on it: "-" trims white space
// beyond a neighbouring tag, a "}}" inside a dict ends the tag, "+" flags,
// \u escapes and adjacent string literals are unknown, and characters that it
// does not know are skipped in silence.
//
// White space is settled here, by Jinja2's rules with trim_blocks and
// lstrip_blocks, and all text becomes string literals, which nobody trims.
// Every loop and macro body gets calls of the function named step (see steps),
// so that a template that runs away can be ended. Line numbers stay as they were.
func prepare(source, step string) (string, error) {
	if len(source) > maxSourceBytes {
		return "", fmt.Errorf("it has %d bytes, at most %d are allowed", len(source), maxSourceBytes)
	}
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	r := rewriter{src: strings.TrimSuffix(source, "\n"), step: step, lineStart: true}
	for r.pos < len(r.src) {
		if err := r.next(); err != nil {
			return "", fmt.Errorf("line %d: %w", 1+strings.Count(r.src[:min(r.pos, len(r.src))], "\n"), err)
		}
	}
	return r.out.String(), nil
}

// rewriter walks a source once.
type rewriter struct {
	src       string
	pos       int
	out       strings.Builder
	step      string
	lineStart bool // what was consumed last ended a line
	blocks    int  // nesting of the blocks that are open
}

// next copies text up to a tag, and the tag.
func (r *rewriter) next() error {
	start := r.pos
	open := tagStart(r.src, start)
	if open < 0 {
		r.text(r.src[start:])
		r.pos = len(r.src)
		return nil
	}
	kind := r.src[open+1]
	r.pos = open + 2
	flag := r.flag()
	if end, ok := keywordTag(r.src[r.pos:], "raw"); ok && kind == '%' {
		r.text(r.leftTrim(r.src[start:open], flag, kind))
		return r.raw(end)
	}
	before := r.src[start:open]
	kept := r.leftTrim(before, flag, kind)
	r.text(kept)
	body, right, err := r.tag(kind)
	if err != nil {
		return err
	}
	after := r.rightTrim(right, kind)
	if kind == '%' && firstWord(body) == "endmacro" {
		r.out.WriteString("{{ " + r.step + "(-1) }}")
	}
	r.emit(kind, newlines(before[len(kept):])+body+newlines(after))
	return r.count(kind, body)
}

// tagStart returns where the next tag opens, or -1.
func tagStart(s string, from int) int {
	for {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 || from+i+1 >= len(s) {
			return -1
		}
		from += i
		if c := s[from+1]; c == '{' || c == '%' || c == '#' {
			return from
		}
		from++
	}
}

// flag takes a "-" or "+" and returns it, or 0.
func (r *rewriter) flag() byte {
	if r.pos < len(r.src) && (r.src[r.pos] == '-' || r.src[r.pos] == '+') {
		r.pos++
		return r.src[r.pos-1]
	}
	return 0
}

// leftTrim returns what is kept of the text before a tag.
func (r *rewriter) leftTrim(text string, flag, kind byte) string {
	switch {
	case flag == '-':
		return strings.TrimRightFunc(text, unicode.IsSpace)
	case flag == '+' || kind == '{':
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || r.lineStart) && strings.TrimSpace(text[line:]) == "" {
		return text[:line]
	}
	return text
}

// rightTrim consumes the white space that a tag takes with it and returns it.
func (r *rewriter) rightTrim(flag, kind byte) string {
	rest := r.src[r.pos:]
	n := 0
	switch {
	case flag == '-':
		n = len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	case flag == 0 && kind != '{' && strings.HasPrefix(rest, "\n"):
		n = 1
	}
	r.pos += n
	r.lineStart = n > 0 && rest[n-1] == '\n'
	return rest[:n]
}

// text writes text as a string literal. Line ends stay what they are, so that
// lines can be counted.
func (r *rewriter) text(s string) {
	if s != "" {
		r.out.WriteString("{{'")
		r.out.WriteString(literalEscapes.Replace(s))
		r.out.WriteString("'}}")
	}
}

var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// emit writes a tag; a comment leaves only its lines.
func (r *rewriter) emit(kind byte, body string) {
	switch kind {
	case '{':
		r.out.WriteString("{{ " + body + " }}")
	case '%':
		r.out.WriteString("{% " + body + " %}")
	default:
		r.out.WriteString("{#" + newlines(body) + "#}")
	}
}

// count counts blocks and puts the step call at the head of bodies that can
// run more than once.
func (r *rewriter) count(kind byte, body string) error {
	if kind != '%' {
		return nil
	}
	switch firstWord(body) {
	case "for":
		r.out.WriteString("{{ " + r.step + "() }}")
		r.blocks++
	case "macro":
		r.out.WriteString("{{ " + r.step + "(1) }}")
		r.blocks++
	case "if", "call", "filter":
		r.blocks++
	case "endfor", "endmacro", "endif", "endcall", "endfilter":
		r.blocks--
	}
	if r.blocks > maxBlocks {
		return fmt.Errorf("more than %d blocks inside each other", maxBlocks)
	}
	return nil
}

func firstWord(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) }); i >= 0 {
		return s[:i]
	}
	return s
}

func newlines(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

// keywordTag reports whether s, the inside of a tag, is that keyword alone,
// and returns its length with the closing.
func keywordTag(s, keyword string) (int, bool) {
	rest := strings.TrimLeftFunc(s, unicode.IsSpace)
	rest, ok := strings.CutPrefix(rest, keyword)
	if !ok {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	rest = strings.TrimLeft(rest, "-+")
	rest, ok = strings.CutPrefix(rest, "%}")
	return len(s) - len(rest), ok
}

// raw copies a raw block, whose opening tag has n more bytes, as text.
func (r *rewriter) raw(n int) error {
	open := r.src[r.pos : r.pos+n]
	r.pos += n
	if strings.HasSuffix(open, "-%}") {
		r.rightTrim('-', '%')
	}
	for at := r.pos; ; at += 2 {
		i := strings.Index(r.src[at:], "{%")
		if i < 0 {
			return fmt.Errorf("unclosed raw block")
		}
		at += i
		body := r.src[r.pos:at]
		after := at + 2
		flag := byte(0)
		if after < len(r.src) && (r.src[after] == '-' || r.src[after] == '+') {
			flag = r.src[after]
			after++
		}
		end, ok := keywordTag(r.src[after:], "endraw")
		if !ok {
			continue
		}
		r.text(r.leftTrim(body, flag, '%'))
		r.pos = after + end
		right := r.src[r.pos-3]
		if right != '-' && right != '+' {
			right = 0
		}
		r.rightTrim(right, '%')
		return nil
	}
}
