package markdown

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

func TestDocument(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"paragraph", "Hello *you*", `<p dir="auto">Hello <em>you</em></p>`},
		{"heading ranks below the page's", "# A", `<h3 dir="auto">A</h3>`},
		{"deep heading", "##### A", `<h6 dir="auto">A</h6>`},
		{"code keeps its language", "```go\na < b\n```", "<pre><code class=\"language-go\">a &lt; b\n</code></pre>"},
		{"odd language", "```a\"><x\nb\n```", "<pre><code>b\n</code></pre>"},
		{"unclosed code", "```\na", "<pre><code>a\n</code></pre>"},
		{"strikethrough", "~~no~~", `<p dir="auto"><del>no</del></p>`},
		{"list starts where it says", "3. a", "<ol start=\"3\">\n<li dir=\"auto\">a</li>\n</ol>"},
		{"task boxes", "- [x] a", "<ul>\n<li dir=\"auto\"><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</li>\n</ul>"},
		{"table", "| a |\n|--:|\n| b |", "<table>\n<thead>\n<tr>\n<th align=\"right\" dir=\"auto\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\" dir=\"auto\">b</td>\n</tr>\n</tbody>\n</table>"},
		{"link", "[a](https://b.test/c?d=1&e=2)", `<p dir="auto"><a href="https://b.test/c?d=1&amp;e=2" target="_blank" rel="noopener nofollow">a</a></p>`},
		{"bare link", "see https://b.test", `<p dir="auto">see <a href="https://b.test" target="_blank" rel="noopener nofollow">https://b.test</a></p>`},
		{"mail", "<a@b.test>", `<p dir="auto"><a href="mailto:a@b.test" target="_blank" rel="noopener nofollow">a@b.test</a></p>`},
		{"relative link is text", "[a](/v1/models)", `<p dir="auto">a</p>`},
		{"protocol-relative link is text", "[a](//evil.test/x)", `<p dir="auto">a</p>`},
		{"script link is text", "[x](javascript:alert(1))", `<p dir="auto">x</p>`},
		{"disguised script link", "[x](JaVaScRiPt&colon;alert(1))", `<p dir="auto">x</p>`},
		{"data link", "[x](data:text/html,<b>)", `<p dir="auto">x</p>`},
		{"image is a link", "![cat](http://evil.test/x)", `<p dir="auto"><a href="http://evil.test/x" target="_blank" rel="noopener nofollow">cat</a></p>`},
		{"nameless image", "![](http://evil/x)", `<p dir="auto"><a href="http://evil/x" target="_blank" rel="noopener nofollow">image</a></p>`},
		{"image in a link", "[![a](http://b.test/i)](http://c.test)", `<p dir="auto"><a href="http://c.test" target="_blank" rel="noopener nofollow">a</a></p>`},
		{"HTML shows as text", "<img src=x onerror=alert(1)>", `<p dir="auto">&lt;img src=x onerror=alert(1)&gt;</p>`},
		{"HTML block shows as text", "<script>\nalert(1)\n</script>", "<p dir=\"auto\">&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>"},
		{"definitions stay text", "[a][1]\n\n[1]: x", "<p dir=\"auto\">[a][1]</p><p dir=\"auto\">[1]: x</p>"},
		{"windows lines", "a\r\n\r\nb", `<p dir="auto">a</p><p dir="auto">b</p>`},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Document(tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	got := Plain("<b>a</b>\n*b*\r\n\n\n\nc & \x00\xff")
	want := "<p dir=\"auto\">&lt;b&gt;a&lt;/b&gt;<br>*b*</p><p dir=\"auto\">c &amp; \uFFFD\uFFFD</p>"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// samples are texts in which a block's end is easily told wrong.
var samples = []string{
	"para\n#tag goes on\n\n# head\n#\nmore\n",
	"a\nb | c\n--- | ---\n1 | 2\n\nend",
	"- a\n\n- b\n\n  c\n\n      code\n\n- d\n\n\n\npara\n* x\n+ y\n",
	"1. a\n2. b\n   - c\n     1. d\n\n9) z\n",
	"> q\nlazy\n> ```\n> code\n\n```js\nx\n\n\ny\n```\n~~~\n```\n~~~\nend",
	"Setext\n===\ntwo\nlines\n---\n---\n***\n",
	"    code\n\n    more\n\ntext\n    lazy\n\tx\n\n\ttab code\n",
	"-\n\n  foo\n\n- \n  bar\n-\tq\n",
	"[a]: http://x.test\n[a]\n\n<div>\n*x*\n\n</div>\n",
	"مرحبا *بك*\n\n- عربي\n\n😀 end  \nbreak\\\nx",
	"| a | b |\n|---|---|\n| `x\\|y` | ~~z~~ |\n| 1 |\nafter\n\n- | a |\n  |---|\n",
	"a\r\n\r\nb\rc\r",
	"a\nb | c\n--- | -\nb | c\n--\n1 | 2\n\nend",
	strings.Repeat("> ", 150) + "x\n" + strings.Repeat("- ", 150) + "y\n",
}

// grow renders a text in pieces whose lengths cuts gives, as a page does that
// applies every update.
func grow(t *testing.T, s string, cuts []int) string {
	t.Helper()
	var stream Stream
	var page []string
	apply := func(from int, blocks []string) {
		if from > len(page) {
			t.Fatalf("update begins at block %d, the page has %d", from, len(page))
		}
		page = append(page[:from], blocks...)
	}
	for i := 0; len(s) > 0; i++ {
		n := len(s)
		if len(cuts) > 0 {
			n = min(n, cuts[i%len(cuts)])
		}
		stream.Write(s[:n])
		s = s[n:]
		apply(stream.Render())
	}
	apply(stream.Close())
	if !slices.Equal(page, stream.Blocks()) {
		t.Errorf("the page has %q, the stream %q", page, stream.Blocks())
	}
	return strings.Join(page, "")
}

func TestStreamEndsAsDocument(t *testing.T) {
	for _, text := range samples {
		want := Document(text)
		for _, cuts := range [][]byte{{0}, {1}, {2, 0, 6}, {12}, {40, 3}} {
			// Cuts fall between characters: a stream is fed valid UTF-8.
			if got := grow(t, text, onRunes(text, cuts)); got != want {
				t.Errorf("cut by %v\ntext %q\ngot  %s\nwant %s", cuts, text, got, want)
			}
		}
	}
}

// onRunes turns cuts after so many runes and one more into cuts after so many
// bytes.
func onRunes(text string, cuts []byte) []int {
	var out []int
	runes := []rune(text)
	for i := 0; len(runes) > 0; i++ {
		n := min(len(runes), 1+int(cuts[i%len(cuts)]))
		out = append(out, len(string(runes[:n])))
		runes = runes[n:]
	}
	return out
}

func TestStreamTouchesOnlyTheOpenBlock(t *testing.T) {
	var s Stream
	for range 50 {
		s.Write("One more paragraph.\n\n")
		s.Render()
	}
	s.Write("open")
	from, blocks := s.Render()
	if from < 49 || len(blocks) > 2 {
		t.Errorf("after 50 paragraphs an update replaces %d blocks from %d", len(blocks), from)
	}
	if n := s.OpenBytes(); n > 60 {
		t.Errorf("%d bytes are still open", n)
	}
}

func TestDeepNestingIsCheap(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(">", MaxBytes-1), strings.Repeat("- ", MaxBytes/2-1), strings.Repeat("1. ", MaxBytes/3),
		strings.Repeat("[", MaxBytes-1), strings.Repeat("*a_", MaxBytes/3), strings.Repeat("`", MaxBytes-1),
		strings.Repeat("![", MaxBytes/2-1), strings.Repeat("<", MaxBytes-1), strings.Repeat("|", MaxBytes-1),
		strings.Repeat("a@", MaxBytes/2-1), strings.Repeat("~~a", MaxBytes/3), strings.Repeat("` ``", MaxBytes/4),
	} {
		begin := time.Now()
		Document(text)
		t.Logf("%.3q… %v", text, time.Since(begin))
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%.6q… took %v", text, took)
		}
	}
}

var (
	fetches = regexp.MustCompile(`^(https?://|mailto:)`)
	tags    = strings.Fields("p br hr h3 h4 h5 h6 blockquote ul ol li pre code strong em del table thead tbody tr th td a input")
	attrs   = strings.Fields("dir align start class type checked disabled href target rel")
)

// inert fails unless every tag and attribute is one that does nothing by
// itself.
func inert(t *testing.T, text, out string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(out))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		if token.Type == html.TextToken {
			continue
		}
		if !slices.Contains(tags, token.Data) {
			t.Errorf("%q renders <%s>: %s", text, token.Data, out)
		}
		for _, a := range token.Attr {
			if !slices.Contains(attrs, a.Key) || a.Key == "href" && !fetches.MatchString(a.Val) {
				t.Errorf("%q renders %s=%q: %s", text, a.Key, a.Val, out)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range samples {
		f.Add(s, []byte{0})
		f.Add(s, []byte{7, 1})
	}
	f.Add("<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![](http://evil/x)", []byte{3})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		if len(text) > 4<<10 || len(cuts) > 64 {
			t.Skip()
		}
		text = strings.ToValidUTF8(text, "?")
		var at []int
		if len(cuts) > 0 {
			at = onRunes(text, cuts)
		}
		want := Document(text)
		inert(t, text, want)
		inert(t, text, Plain(text))
		if got := grow(t, text, at); got != want {
			t.Errorf("text %q\ngot  %s\nwant %s", text, got, want)
		}
	})
}

func BenchmarkRenderParagraph(b *testing.B) {
	b.ReportAllocs()
	var s Stream
	s.Write(strings.Repeat("The quick brown fox *jumps* over the lazy dog. ", 12))
	for b.Loop() {
		s.Render()
	}
}

func BenchmarkRenderLongCode(b *testing.B) {
	b.ReportAllocs()
	var s Stream
	s.Write("```go\n" + strings.Repeat("if x < y { return a[i], nil } // comment\n", 450))
	for b.Loop() {
		s.Render()
	}
}
