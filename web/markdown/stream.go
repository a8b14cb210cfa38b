package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Stream renders a growing text. The zero value is an empty text. One
// goroutine uses it at a time.
type Stream struct {
	blocks []string // rendered; those from open on change with more text
	open   int      // number of finished blocks
	tail   []byte   // the text of the open blocks
	settle bool     // a line has ended since the last look for finished blocks
	held   byte     // a '\r' whose '\n' may be still to come
	marks  marks
	broken bool // the parser has panicked on this text: it goes on plain
	total  int  // bytes written
}

// Write appends text, which should be valid UTF-8. It renders nothing.
func (s *Stream) Write(text string) {
	if s.held != 0 {
		text, s.held = string(s.held)+text, 0
	}
	if strings.HasSuffix(text, "\r") {
		text, s.held = text[:len(text)-1], '\r'
	}
	text = normalise(text)
	s.total += len(text)
	s.settle = s.settle || strings.Contains(text, "\n")
	s.tail = s.marks.append(s.tail, text)
}

// OpenBytes is the length of the text that the next Render has to look at:
// its cost is linear in it.
func (s *Stream) OpenBytes() int { return len(s.tail) }

// Render returns the HTML of the blocks from block number from on: all that
// have changed since the last call. The slice is the caller's.
func (s *Stream) Render() (from int, blocks []string) {
	from = s.open
	defer func() {
		// The text is not ours, so neither is what it may trip in the parser;
		// an answer shown plain is better than none.
		if recover() != nil {
			s.broken, s.settle = true, false
			s.blocks = append(s.blocks[:s.open], s.render(s.tail)...)
			from = min(from, s.open)
			blocks = slices.Clone(s.blocks[from:])
		}
	}()
	s.blocks = s.blocks[:from]
	if s.settle {
		s.finish()
		s.settle = false
	}
	s.blocks = append(s.blocks, s.render(s.tail)...)
	return from, slices.Clone(s.blocks[from:])
}

// Close renders the rest of a text that has ended, as Render does. The stream
// must not be written to again.
func (s *Stream) Close() (from int, blocks []string) {
	if s.held != 0 {
		s.held = 0
		s.Write("\n")
	}
	from, blocks = s.Render()
	s.open, s.tail = len(s.blocks), nil
	return from, blocks
}

// Blocks returns the HTML of all blocks as of the last Render; do not change
// it.
func (s *Stream) Blocks() []string { return s.blocks }

// finish moves the blocks that no further text can change from the tail to
// the finished ones. Those are the blocks before the last that begins in a
// complete line: a line without its end may still turn out to be another kind
// of block ("#" and "#tag").
func (s *Stream) finish() {
	complete := s.tail[:bytes.LastIndexByte(s.tail, '\n')+1]
	if s.broken || s.total > MaxBytes {
		return
	}
	doc := engine.Parser().Parse(text.NewReader(complete))
	last := doc.LastChild()
	if last == nil {
		return
	}
	// One paragraph may still become several blocks (text, then a table), all
	// with its position: they stay open together.
	start := lineStart(complete, last)
	for n := last; n != nil && lineStart(complete, n) >= start; n = doc.LastChild() {
		doc.RemoveChild(doc, n)
	}
	if !doc.HasChildren() {
		return
	}
	s.blocks = append(s.blocks, renderBlocks(complete, doc)...)
	s.open = len(s.blocks)
	s.tail = bytes.Clone(s.tail[start:])
}

// render returns the blocks of an open text.
func (s *Stream) render(source []byte) []string {
	if s.broken || s.total > MaxBytes {
		if html := Plain(string(source)); html != "" {
			return []string{html}
		}
		return nil
	}
	return renderBlocks(source, engine.Parser().Parse(text.NewReader(source)))
}

// renderBlocks renders the top-level blocks of a document one by one. A block
// that shows nothing keeps its place as "".
func renderBlocks(source []byte, doc ast.Node) []string {
	var blocks []string
	var buf bytes.Buffer
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		buf.Reset()
		if err := engine.Renderer().Render(&buf, source, n); err != nil {
			blocks = append(blocks, Plain(string(source))) // a buffer does not fail to be written
			continue
		}
		blocks = append(blocks, clean(buf.Bytes()))
	}
	return blocks
}

// lineStart is where the line begins in which a top-level block begins; 0 when
// that is not known.
func lineStart(source []byte, n ast.Node) int {
	pos := n.Pos()
	if pos < 0 || pos > len(source) {
		return 0
	}
	return bytes.LastIndexByte(source[:pos], '\n') + 1
}
