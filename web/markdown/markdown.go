// Package markdown turns what a model writes into HTML that is safe to put
// into the page, and does so while the text still grows.
//
// [Stream] renders by blocks: a finished paragraph, list, table or code block
// is rendered once and never touched again; only the last, open block is
// rendered anew as text comes in. [Document] renders a whole text, [Plain] a
// text without markup.
//
// The dialect is GitHub's, without what would fetch or run something and
// without what reaches back over finished blocks: images become links, raw
// HTML shows as the text it is, and reference definitions ("[1]: http://…")
// stay text. Links go to http, https and mailto only. The result passes a
// second, independent filter.
package markdown

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	mdhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// MaxBytes is the longest text that is read as Markdown; a longer one is
// rendered plain. A reply's token cap stays far below it.
const MaxBytes = 256 << 10

// engine is immutable once made and may be used from any goroutine.
var engine = newEngine()

func newEngine() goldmark.Markdown {
	// The default block and inline parsers without raw HTML. Without the
	// paragraph transformer for reference definitions a finished block cannot
	// depend on a later one.
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(emphasis{parser.NewEmphasisParser()}, 500),
		),
		parser.WithASTTransformers(util.Prioritized(shape{}, 900)),
	)
	return goldmark.New(
		goldmark.WithParser(p),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(mdhtml.NewRenderer(), 1000)))),
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough,
			extension.TaskList,
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(links{}, 100))),
	)
}

var policy = newPolicy()

// newPolicy lists what may stand in the page. It repeats what the renderer
// produces: the two have to fail together for anything else to get through.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li",
		"pre", "code", "strong", "em", "del", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^auto$`)).
		OnElements("p", "h3", "h4", "h5", "h6", "blockquote", "li", "th", "td")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+#.-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^noopener nofollow$`)).OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	return p
}

// Document renders a whole text.
func Document(text string) string {
	var s Stream
	s.Write(text)
	_, blocks := s.Close()
	return strings.Join(blocks, "")
}

// Plain renders a text as it is: every character stands for itself, blank
// lines part paragraphs.
func Plain(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(normalise(text), "\n\n") {
		paragraph = strings.Trim(paragraph, "\n")
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		b.WriteString(`<p dir="auto">`)
		b.WriteString(strings.ReplaceAll(html.EscapeString(paragraph), "\n", "<br>"))
		b.WriteString("</p>")
	}
	return b.String()
}

// normalise makes the line ends uniform and the text valid UTF-8.
func normalise(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsAny(text, "\r\x00") {
		return text
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(text)
}

// clean passes rendered HTML through the filter.
func clean(html []byte) string {
	return string(bytes.TrimSpace(policy.SanitizeBytes(html)))
}
