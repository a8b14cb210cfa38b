package chattmpl

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How contents are kept from becoming control tokens.
//
// Before rendering, a mark (a private-use rune that nothing else holds) goes
// into every special that a content spells, behind its first rune, and one
// mark each goes to the beginning and the end of the content, inside its white
// space, so that trimming works as before. The template carries the marks
// along through whatever it does to the content. In the rendered text they
// tell which specials are the template's own: those that hold no mark and lie
// outside of every content. All others are cut. Marks that cut nothing leave
// no trace, so that the tokens of ordinary text stay what they would be.
//
// That covers a special that a content spells, one that begins in a content
// and ends in the template's text or in the next content (or the other way
// round), and one that the template makes out of a content, by replacing or
// folding case.

// specials are the texts to guard, at least two runes each.
type specials struct {
	sorted []string  // by bytes, so that prefixes stand together
	first  [256]bool // first bytes that occur
	single map[rune]bool
}

// newSpecials leaves out what cannot be guarded and need not be: empty texts
// and those of white space alone, which are formatting.
func newSpecials(texts []string) *specials {
	s := &specials{single: map[rune]bool{}}
	for _, text := range texts {
		switch {
		case strings.TrimSpace(text) == "":
		case utf8.RuneCountInString(text) == 1:
			r, _ := utf8.DecodeRuneInString(text)
			s.single[r] = true
		default:
			s.sorted = append(s.sorted, text)
			s.first[text[0]] = true
		}
	}
	slices.Sort(s.sorted)
	s.sorted = slices.Compact(s.sorted)
	return s
}

// each calls found for every occurrence of a special in text, overlapping
// ones included, by rising start.
func (s *specials) each(text string, found func(start, end int)) {
	for i := 0; i < len(text); i++ {
		if s.first[text[i]] {
			s.at(text, i, found)
		}
	}
}

// at narrows the sorted specials byte by byte to those that stand at i.
func (s *specials) at(text string, i int, found func(start, end int)) {
	lo, hi := 0, len(s.sorted)
	for n := 0; lo < hi && i+n < len(text); n++ {
		c := text[i+n]
		list := s.sorted[lo:hi]
		from := sort.Search(len(list), func(k int) bool { return len(list[k]) > n && list[k][n] >= c })
		to := sort.Search(len(list), func(k int) bool { return len(list[k]) > n && list[k][n] > c })
		lo, hi = lo+from, lo+to
		if lo < hi && len(s.sorted[lo]) == n+1 {
			found(i, i+n+1)
			lo++
		}
	}
}

// count returns how many specials stand in a text.
func (s *specials) count(text string) int {
	n := 0
	s.each(text, func(int, int) { n++ })
	return n
}

// markPairs is how many contents in a row have marks of their own, so that the
// beginning of one is not taken for that of another whose own beginning the
// template dropped.
const markPairs = 8

// marks are runes that stand in no text of a render.
type marks struct {
	inside     rune
	begin, end [markPairs]rune // of content i: [i % markPairs]
}

// newMarks picks marks that occur in none of the texts. It returns false when
// the texts hold nearly all private-use runes there are.
func newMarks(used map[rune]bool) (marks, bool) {
	var free []rune
	for r := rune(0xE000); r <= 0x10FFFD && len(free) < 1+2*markPairs; r++ {
		if r == 0xF900 {
			r = 0xF0000 // the second and third private-use planes
		}
		if !used[r] && unicode.Is(unicode.Co, r) {
			free = append(free, r)
		}
	}
	if len(free) < 1+2*markPairs {
		return marks{}, false
	}
	m := marks{inside: free[0]}
	copy(m.begin[:], free[1:])
	copy(m.end[:], free[1+markPairs:])
	return m, true
}

// addPrivate notes the private-use runes of a text.
func addPrivate(used map[rune]bool, text string) {
	for _, r := range text {
		if r >= 0xE000 && unicode.Is(unicode.Co, r) {
			used[r] = true
		}
	}
}

// mark returns the i-th content with its marks. A special of one rune, which cannot
// be cut, is replaced by U+FFFD.
func (s *specials) mark(content string, i int, m marks) string {
	if len(s.single) > 0 {
		content = strings.Map(func(r rune) rune {
			if s.single[r] {
				return utf8.RuneError
			}
			return r
		}, content)
	}
	core := strings.TrimSpace(content)
	if core == "" {
		return content
	}
	at := strings.Index(content, core)
	var b strings.Builder
	b.WriteString(content[:at])
	b.WriteRune(m.begin[i%markPairs])
	done := 0
	s.each(core, func(start, _ int) {
		_, n := utf8.DecodeRuneInString(core[start:])
		if cut := start + n; cut > done {
			b.WriteString(core[done:cut])
			b.WriteRune(m.inside)
			done = cut
		}
	})
	b.WriteString(core[done:])
	b.WriteRune(m.end[i%markPairs])
	b.WriteString(content[at+len(core):])
	return b.String()
}

// located is a rendered text without its marks, and where they stood: byte
// offsets, rising.
type located struct {
	text   string
	inside []int
	edges  []int
	spans  [][2]int // contents of which both ends came through
}

// locate takes the marks out of a rendered text.
func locate(rendered string, m marks) located {
	var l located
	var b strings.Builder
	b.Grow(len(rendered))
	begin, opened := -1, -1 // where the last content began, and which it was
	for i, r := range rendered {
		n := utf8.RuneLen(r)
		if r < 0xE000 || !unicode.Is(unicode.Co, r) {
			if r == utf8.RuneError {
				_, n = utf8.DecodeRuneInString(rendered[i:])
			}
			b.WriteString(rendered[i : i+n])
			continue
		}
		if r == m.inside {
			l.inside = append(l.inside, b.Len())
		} else if k := slices.Index(m.begin[:], r); k >= 0 {
			l.edges = append(l.edges, b.Len())
			begin, opened = b.Len(), k
		} else if k := slices.Index(m.end[:], r); k >= 0 {
			l.edges = append(l.edges, b.Len())
			if k == opened {
				l.spans = append(l.spans, [2]int{begin, b.Len()})
			}
			opened = -1
		} else {
			b.WriteRune(r)
		}
	}
	l.text = b.String()
	return l
}

// parts cuts every special that is not the template's own.
func (s *specials) parts(l located) []string {
	var cuts []int
	s.each(l.text, func(start, end int) {
		if cut, ok := l.cut(start, end); ok {
			cuts = append(cuts, cut)
		}
	})
	slices.Sort(cuts)
	var parts []string
	done := 0
	for _, cut := range slices.Compact(cuts) {
		parts = append(parts, l.text[done:cut])
		done = cut
	}
	return append(parts, l.text[done:])
}

// cut returns where to cut the special text[start:end], and false when it is
// the template's own.
func (l *located) cut(start, end int) (int, bool) {
	for _, marks := range [][]int{l.inside, l.edges} {
		i, _ := slices.BinarySearch(marks, start+1)
		if i < len(marks) && marks[i] < end {
			return marks[i], true
		}
	}
	i := sort.Search(len(l.spans), func(i int) bool { return l.spans[i][1] >= end })
	if i < len(l.spans) && l.spans[i][0] <= start {
		_, n := utf8.DecodeRuneInString(l.text[start:])
		return start + n, true
	}
	return 0, false
}
