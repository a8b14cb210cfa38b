package markdown

import (
	"bytes"
	"net/url"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// shape prepares a parsed text for the page: every block finds its own
// direction of writing, and an answer's headings rank below the page's.
type shape struct{}

// Transform implements parser.ASTTransformer.
func (shape) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+2, 6)
			n.SetAttributeString("dir", []byte("auto"))
		case *ast.Paragraph, *ast.ListItem, *ast.Blockquote, *east.TableCell:
			n.SetAttributeString("dir", []byte("auto"))
		}
		return ast.WalkContinue, nil
	})
}

// links renders everything that carries a URL. What has no safe one keeps its
// text. An image becomes a link to itself: the page fetches nothing.
type links struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (links) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindAutoLink, renderAutoLink)
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	anchor(w, string(n.(*ast.Link).Destination), entering)
	return ast.WalkContinue, nil
}

func renderImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	image := n.(*ast.Image)
	if !inLink(n) {
		anchor(w, string(image.Destination), entering)
	}
	if entering && !n.HasChildren() {
		_, _ = w.WriteString("image")
	}
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	target := string(link.URL(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(link.URL(source), []byte("mailto:")) {
		target = "mailto:" + target
	}
	nested := inLink(n)
	if !nested {
		anchor(w, target, true)
	}
	_, _ = w.Write(util.EscapeHTML(link.Label(source)))
	if !nested {
		anchor(w, target, false)
	}
	return ast.WalkContinue, nil
}

// anchor opens or closes a link, if target may be one.
func anchor(w util.BufWriter, target string, open bool) {
	if !safe(target) {
		return
	}
	if !open {
		_, _ = w.WriteString("</a>")
		return
	}
	_, _ = w.WriteString(`<a href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape([]byte(target), false)))
	_, _ = w.WriteString(`" target="_blank" rel="noopener nofollow">`)
}

// safe reports whether a link may go there. Relative ones may not: they would
// lead to this server's own routes.
func safe(target string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return true
	}
	return false
}

func inLink(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if k := p.Kind(); k == ast.KindLink || k == ast.KindImage {
			return true
		}
	}
	return false
}
