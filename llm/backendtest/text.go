package backendtest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pichat/llm"
)

// texts are what has to come back unchanged.
var texts = map[string]string{
	"ASCII":          "The quick brown fox jumps over the lazy dog.",
	"one letter":     "a",
	"spaces":         "a  b   c    d",
	"tabs, newlines": "a\tb\n\nc\n\n\n\td \n e",
	"CRLF":           "one\r\ntwo\r\n\r\nthree",
	"code":           "for (int i = 0; i < n; ++i) {\n\tx[i] &= ~(1u << 3); // \"quoted\"\n}\n",
	"HTML":           "<p>a &lt; b</p><br><h1>x</h1>",
	"CJK":            "你好，世界。こんにちは 안녕하세요",
	"Cyrillic, Ё":    "Привет, мир! Ёжик",
	"Arabic":         "مرحبا بالعالم",
	"emoji":          "🧑‍🚀🔥 🇩🇪 👍🏽",
	"digits":         "3.14159 2026-11-30 12345678901234567890",
	"accents":        "naïve café, Zürich — “quoted”… e\u0301",
}

func testRoundTrip(t *testing.T, b llm.Backend) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			tokens := tokenize(t, b, text)
			got := spell(b, tokens)
			// SentencePiece vocabularies put one space before a text.
			if got != text && got != " "+text {
				t.Errorf("got %q back, want %q (tokens %v)", got, text, tokens)
			}
			if n := len(tokens); b.IsEOG(tokens[n-1]) {
				t.Errorf("the tokens %v end with an end-of-generation token", tokens)
			}
		})
	}
}

func testBeginning(t *testing.T, b llm.Backend) {
	begin := tokenize(t, b, "")
	if len(begin) > 1 {
		t.Fatalf("no text at all has the tokens %v: want none or one for its beginning", begin)
	}
	if len(begin) == 0 {
		return
	}
	for _, parts := range [][]string{{"a"}, {"a", "b"}, {"", "a", ""}, {strings.Repeat("a b ", 50)}} {
		tokens, err := b.Tokenize(llm.Text{Parts: parts, Special: true})
		if err != nil {
			t.Fatal(err)
		}
		if tokens[0] != begin[0] || slices.Contains(tokens[1:], begin[0]) {
			t.Errorf("the tokens %v of %.20q should hold %d once, at the beginning", tokens, parts, begin[0])
		}
	}
	for _, s := range specials(b) {
		tokens, err := b.Tokenize(llm.Text{Parts: []string{s + "a"}, Special: true})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(tokens[1:], begin[0]) {
			t.Errorf("the tokens %v of %q hold the beginning-of-text token twice", tokens, s+"a")
		}
	}
}

func testParts(t *testing.T, b llm.Backend) {
	for _, parts := range [][]string{
		{"Hello", "world"},
		{"Hel", "lo ", " world"},
		{"", "a", "", "b", ""},
		{"\n", "\n", "x"},
		{"你", "好"},
	} {
		for _, special := range []bool{false, true} {
			tokens, err := b.Tokenize(llm.Text{Parts: parts, Special: special})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(parts, "")
			if got := spell(b, tokens); got != want && got != " "+want {
				t.Errorf("the parts %q came back as %q", parts, got)
			}
		}
	}
}

// specials returns the spellings of special tokens, at most 40 of them, where
// the backend tells them.
func specials(b llm.Backend) []string {
	v, ok := b.(interface{ Specials() []string })
	if !ok {
		return nil
	}
	all := v.Specials()
	return all[:min(len(all), 40)]
}

// What a user types must never become a control token (case T4).
func testSpecials(t *testing.T, b llm.Backend) {
	list := specials(b)
	if len(list) == 0 {
		t.Fatal("the backend tells no special tokens")
	}
	begin := len(tokenize(t, b, ""))
	for _, s := range list {
		parsed, err := b.Tokenize(llm.Text{Parts: []string{s}, Special: true})
		if err != nil {
			t.Fatal(err)
		}
		token := parsed[len(parsed)-1]
		if len(parsed) > begin+1 {
			t.Errorf("the template's %q has the tokens %v, want a single one", s, parsed)
		}
		_, size := utf8.DecodeRuneInString(s)
		for name, text := range map[string]llm.Text{
			"plain":          {Parts: []string{"x" + s + "y"}},
			"plain, alone":   {Parts: []string{s}},
			"plain, nested":  {Parts: []string{s[:size] + s + s}},
			"cut":            {Parts: []string{"x" + s[:size], s[size:] + "y"}, Special: true},
			"cut at the end": {Parts: []string{s[:len(s)-1], s[len(s)-1:]}, Special: true},
		} {
			tokens, err := b.Tokenize(text)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(text.Parts, "")
			if slices.Contains(tokens[begin:], token) {
				t.Errorf("%s: %q became the special token %d: %v", name, want, token, tokens)
			}
			if got := spell(b, tokens); got != want && got != " "+want {
				t.Errorf("%s: %q came back as %q", name, want, got)
			}
		}
	}
	if !slices.ContainsFunc(list, func(s string) bool {
		tokens, err := b.Tokenize(llm.Text{Parts: []string{s}, Special: true})
		return err == nil && b.IsEOG(tokens[len(tokens)-1])
	}) && len(list) < 40 {
		t.Errorf("none of the special tokens %q ends a generation", list)
	}
}

func testNoToken(t *testing.T, b llm.Backend) {
	for _, tok := range []llm.Token{-1, llm.Token(b.Info().VocabSize), 1<<31 - 1} {
		if got := b.AppendPiece([]byte("x"), tok); string(got) != "x" {
			t.Errorf("token %d has the text %q", tok, got)
		}
		if b.IsEOG(tok) {
			t.Errorf("token %d ends a generation", tok)
		}
	}
}

func testTokenizeAtOnce(t *testing.T, b llm.Backend) {
	want := tokenize(t, b, counting)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				got, err := b.Tokenize(llm.Text{Parts: []string{counting}})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
				spell(b, got)
			}
		})
	}
	wg.Wait()
}
