package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxMarks is how many quotes and lists may be opened in one line. The
// parser's cost grows with the square of their number, and no person writes
// so many.
const maxMarks = 100

// marks counts the block marks that a line begins with (">", "- ", "1. ").
// The zero value stands at the beginning of a line.
type marks struct {
	count int
	last  byte
	text  bool // the line's own text has begun
}

// append copies text to dst and breaks the marks beyond maxMarks with a
// backslash.
func (m *marks) append(dst []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\n':
			*m = marks{}
		case m.text:
		case c == '>':
			dst = m.mark(dst)
		case c == ' ' || c == '\t':
			switch m.last {
			case '-', '+', '*', '.', ')':
				dst = m.mark(dst)
			}
		case c == '-' || c == '+' || c == '*' || c == '.' || c == ')' || '0' <= c && c <= '9':
		default:
			m.text = true
		}
		m.last = c
		dst = append(dst, c)
	}
	return dst
}

func (m *marks) mark(dst []byte) []byte {
	m.count++
	if m.count > maxMarks {
		m.text = true
		dst = append(dst, '\\')
	}
	return dst
}

// maxEmphasis is how many runs of * and _ are looked at in one block, for the
// same reason.
const maxEmphasis = 2000

// emphasis is the parser of emphasis with a limit; marks beyond it are text.
type emphasis struct{ parser.InlineParser }

var emphasisKey = parser.NewContextKey()

// emphasisCount counts the runs of one block.
type emphasisCount struct {
	block ast.Node
	runs  int
}

// Parse implements parser.InlineParser.
func (e emphasis) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	count, _ := pc.Get(emphasisKey).(*emphasisCount)
	if count == nil || count.block != parent {
		count = &emphasisCount{block: parent}
		pc.Set(emphasisKey, count)
	}
	count.runs++
	if count.runs > maxEmphasis {
		return nil
	}
	return e.InlineParser.Parse(parent, block, pc)
}
