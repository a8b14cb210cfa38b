package llm

import (
	"maps"
	"strings"
	"testing"
)

// tagged is a vocabulary in which some texts are control tokens, after a BOS.
type tagged struct{ control []string }

func (v tagged) Tokenize(text Text) ([]Token, error) {
	tokens := []Token{1000}
	rest := strings.Join(text.Parts, "")
	for rest != "" {
		n := 1
		id := Token(rest[0])
		for i, c := range v.control {
			if strings.HasPrefix(rest, c) {
				n, id = len(c), Token(2000+i)
			}
		}
		tokens, rest = append(tokens, id), rest[n:]
	}
	return tokens, nil
}

func (v tagged) AppendPiece(dst []byte, t Token) []byte {
	if t >= 1000 {
		return dst
	}
	return append(dst, byte(t))
}

func (v tagged) IsEOG(Token) bool { return false }

func TestThoughtTags(t *testing.T) {
	tests := []struct {
		name        string
		control     []string
		open, close string
		want        map[Token]string
	}{
		{"tags are plain text", nil, "<think>", "</think>", map[Token]string{1000: ""}},
		{"tags are control tokens", []string{"[THINK]", "[/THINK]"}, "[THINK]", "[/THINK]", map[Token]string{2000: "[THINK]", 2001: "[/THINK]"}},
		{"a control token and text", []string{"<|channel>", "<channel|>"}, "<|channel>thought", "<channel|>", map[Token]string{2000: "<|channel>", 2001: "<channel|>"}},
		{"no reasoning", nil, "", "", map[Token]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := thoughtTags(tagged{tt.control}, TemplateInfo{ThinkOpen: tt.open, ThinkClose: tt.close})
			maps.DeleteFunc(tt.want, func(_ Token, text string) bool { return text == "" })
			if !maps.Equal(got, tt.want) {
				t.Errorf("thoughtTags = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestThoughtSplitter(t *testing.T) {
	tags := TemplateInfo{ThinkOpen: "<think>", ThinkClose: "</think>"}
	tests := []struct {
		name            string
		info            TemplateInfo
		inside          bool
		pieces          []string
		thought, answer string
	}{
		{"a model without reasoning", TemplateInfo{}, false, []string{"<think>", "x"}, "", "<think>x"},
		{"reasoning, then answer", tags, false, []string{"<think>", "\nhm", "</think>", "\n\n", "Yes."}, "\nhm", "Yes."},
		{"tags split over tokens", tags, false, []string{"<th", "ink>h", "m</", "thi", "nk>Y"}, "hm", "Y"},
		{"the prompt opened it", tags, true, []string{"hm", "</think>", "Y"}, "hm", "Y"},
		{"no reasoning this time", tags, false, []string{"Y", "es"}, "", "Yes"},
		{"something like a tag", tags, false, []string{"<", "b>"}, "", "<b>"},
		{"cut while thinking", tags, true, []string{"hm </th"}, "hm </th", ""},
		{"a tag inside the answer stays", tags, true, []string{"</think>a</think>b"}, "", "a</think>b"},
		{"space before it", tags, false, []string{" \n<think>h</think>\nY"}, "h", "Y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newThoughtSplitter(tt.info, tt.inside)
			var thought, answer string
			for _, p := range tt.pieces {
				th, an := s.push(p)
				thought, answer = thought+th, answer+an
			}
			th, an := s.flush()
			thought, answer = thought+th, answer+an
			if thought != tt.thought || answer != tt.answer {
				t.Errorf("got thought %q, answer %q; want %q, %q", thought, answer, tt.thought, tt.answer)
			}
		})
	}
}
