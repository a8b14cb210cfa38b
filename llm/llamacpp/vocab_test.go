package llamacpp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pichat/llm"
)

// vocabFiles returns the vocabularies in llama.cpp's tree: one of each family,
// without weights.
func vocabFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../build/llama.cpp/models/ggml-vocab-*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatal("llama.cpp's sources are missing: run make engine")
	}
	for _, name := range []string{smolFile, gemmaFile} {
		if path := filepath.Join("..", "..", "models", name); fileExists(path) {
			files = append(files, path)
		}
	}
	return files
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loadVocabulary loads a vocabulary alone.
func loadVocabulary(t *testing.T, path string) *vocabulary {
	t.Helper()
	control := newControl()
	t.Cleanup(control.free)
	model, err := loadFile(t.Context(), path, true, control, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := readVocabulary(model)
	if err != nil {
		freeModel(model)
		t.Fatal(err)
	}
	t.Cleanup(func() { freeModel(v.close()) })
	return v
}

// Each vocabulary is loaded once for all that is tried on it.
func TestVocabularies(t *testing.T) {
	for _, path := range vocabFiles(t) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "ggml-vocab-"), ".gguf")
		t.Run(name, func(t *testing.T) {
			v := loadVocabulary(t, path)
			if v.forEmbeddings() {
				t.Skip("a vocabulary for embeddings")
			}
			t.Run("as expected", func(t *testing.T) { testAsExpected(t, path, v) })
			t.Run("parts", func(t *testing.T) { testParts(t, v) })
			t.Run("odd bytes", func(t *testing.T) { testOddBytes(t, v) })
			t.Run("specials", func(t *testing.T) { testSpecials(t, v) })
			t.Run("long runs", func(t *testing.T) { testLongRuns(t, v) })
		})
	}
}

// expectedTokens reads llama.cpp's own test cases: texts, and the tokens that
// they have in the library the vocabulary comes from.
func expectedTokens(t *testing.T, path string) (texts []string, tokens [][]llm.Token) {
	t.Helper()
	in, err := os.ReadFile(path + ".inp")
	if err != nil {
		t.Skip("no test cases come with it")
	}
	out, err := os.ReadFile(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	texts = strings.Split(string(in), "\n__ggml_vocab_test__\n")
	for line := range strings.Lines(string(out)) {
		var row []llm.Token
		for f := range strings.FieldsSeq(line) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, llm.Token(id))
		}
		tokens = append(tokens, row)
	}
	if len(texts) < len(tokens) || len(tokens) == 0 {
		t.Fatalf("%d texts and %d rows of tokens", len(texts), len(tokens))
	}
	return texts[:len(tokens)], tokens
}

func testAsExpected(t *testing.T, path string, v *vocabulary) {
	texts, want := expectedTokens(t, path)
	for i, text := range texts {
		got, err := v.Tokenize(llm.Text{Parts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		if v.addBOS && v.bos >= 0 {
			if len(got) == 0 || got[0] != v.bos {
				t.Errorf("%q: the tokens %v do not begin with BOS %d", text, got, v.bos)
				continue
			}
			got = got[1:]
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%q:\n got %v\nwant %v", text, got, want[i])
		}
	}
}

// A cut must not change the text: what the parts say is what comes back.
func testParts(t *testing.T, v *vocabulary) {
	texts := []string{"Hello world", "a  b\n\n c\r\n", "你好 world 🧑‍🚀", "x = [1, 2];\t// </p>", "naïve"}
	for _, text := range texts {
		whole, err := v.Tokenize(llm.Text{Parts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		want := v.spell(whole)
		for i := range text {
			got, err := v.Tokenize(llm.Text{Parts: []string{text[:i], text[i:]}})
			if err != nil {
				t.Fatal(err)
			}
			if s := v.spell(got); s != want {
				t.Errorf("cut at %d, %q came back as %q, want %q", i, text, s, want)
			}
		}
	}
}

func (v *vocabulary) spell(tokens []llm.Token) string {
	var dst []byte
	for _, t := range tokens {
		dst = v.AppendPiece(dst, t)
	}
	return string(dst)
}

// Long runs of one kind of character have overflown the stack of pre-tokenizers
// that match by std::regex.
func testLongRuns(t *testing.T, v *vocabulary) {
	runs := map[string]int{
		"a": 1 << 20, " ": 1 << 20, "\n": 1 << 20, "7": 1 << 18, "🔥": 1 << 18,
		"!": 1 << 17, "好": 1 << 17, "a1!é": 1 << 17, "\t ": 1 << 17, "e\u0301": 1 << 17, "'s": 1 << 17, "<": 1 << 17,
	}
	for run, size := range runs {
		if testing.Short() {
			size = 1 << 16
		}
		text := strings.Repeat(run, size/len(run))
		begin := time.Now()
		tokens, err := v.Tokenize(llm.Text{Parts: []string{text}})
		if err != nil {
			t.Errorf("%q: %v", run, err)
			continue
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Logf("%q: %v", run, d)
		}
		if got := v.spell(tokens); got != text && got != " "+text && v.lossless() {
			t.Errorf("%q: %d bytes came back as %d", run, len(text), len(got))
		}
	}
}

// lossless reports whether a vocabulary has tokens for all bytes.
func (v *vocabulary) lossless() bool {
	var single [256]bool
	for t := range v.size {
		if p := v.piece(llm.Token(t)); len(p) == 1 {
			single[p[0]] = true
		}
	}
	return !slices.Contains(single[1:0xc0], false) // larger ones begin a character
}

func testOddBytes(t *testing.T, v *vocabulary) {
	for _, text := range []string{
		"\xff\xfe", "a\x00b", "\x00", "\xed\xa0\x80", "\xf0\x9f\x94", "\xc0\x80", "\ufeffa", "\u2028", "\x01\x02\x03\x04", "\x7f",
		strings.Repeat("\xff", 10000), "\U0010ffff", "\u0300\u0301", "",
	} {
		tokens, err := v.Tokenize(llm.Text{Parts: []string{text, text}, Special: true})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := strings.ToValidUTF8(text, "\uFFFD")
		if got := strings.TrimPrefix(v.spell(tokens), " "); got != want+want && v.lossless() {
			t.Logf("%q came back as %q", text, got)
		}
	}
}

func testSpecials(t *testing.T, v *vocabulary) {
	list := v.Specials()
	t.Logf("%d special tokens, such as %q", len(list), list[:min(len(list), 5)])
	for _, s := range list[:min(len(list), 200)] {
		parsed, err := v.Tokenize(llm.Text{Parts: []string{s}, Special: true})
		if err != nil {
			t.Fatal(err)
		}
		token := parsed[len(parsed)-1]
		plain, err := v.Tokenize(llm.Text{Parts: []string{"x" + s}})
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 0 && plain[0] == v.bos {
			plain = plain[1:]
		}
		if slices.Contains(plain, token) {
			t.Errorf("%q became token %d in plain text: %v", s, token, plain)
		}
	}
}

func TestTooLongText(t *testing.T) {
	v := loadVocabulary(t, modelPath(t, smolFile))
	_, err := v.Tokenize(llm.Text{Parts: []string{strings.Repeat("a", maxTextBytes), "b"}})
	if want := fmt.Sprint(maxTextBytes + 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with the size %s", err, want)
	}
}

func TestPiecesAreQuick(t *testing.T) {
	path := modelPath(t, gemmaFile)
	control := newControl()
	defer control.free()
	model, err := loadFile(t.Context(), path, true, control, nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	v, err := readVocabulary(model)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts, %d bytes, in %v", v.size, len(v.pieces), time.Since(begin))
	freeModel(v.close())
	if v.size != 262144 {
		t.Errorf("the vocabulary has %d entries, want 262144", v.size)
	}
	if allocs := testing.AllocsPerRun(100, func() { v.AppendPiece(make([]byte, 0, 64), 1000) }); allocs > 0 {
		t.Errorf("a piece costs %v allocations", allocs)
	}
}

func TestIsMarkup(t *testing.T) {
	for text, want := range map[string]bool{
		"<|im_end|>": true, "<｜User｜>": true, "<think>": true, "</think>": true, "<tool_call>": true, "[INST]": true,
		"[/INST]": true, "<unused42>": true, "<extra_id_3>": true, "[|endofturn|]": true, "<end_of_turn>": true,
		"\n\n": false, "    ": false, "<p>": false, "<h1>": false, "</h6>": false, "<table>": false, "[]": false, "<>": false,
		"</td>": false, "...": false, "hello": false, "<": false, "[a b]": false, "▁▁": false,
	} {
		if got := isMarkup(text); got != want {
			t.Errorf("isMarkup(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestSpecialSet(t *testing.T) {
	s := newSpecialSet([]string{"<a>", "<ab>", "[x]"})
	text := "<a><ab>[x]<abc"
	var got bytes.Buffer
	for i := range text {
		if s.at(text, i) {
			fmt.Fprintf(&got, "%d ", i)
		}
	}
	if got.String() != "0 3 7 " {
		t.Errorf("found at %s, want 0 3 7", got.String())
	}
}
