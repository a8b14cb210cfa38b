package fakellm

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pichat/llm"
)

// The vocabulary: 256 single bytes, the special tokens, and words.
const (
	vocabSize  = 1 << 16
	firstWord  = 512
	maxWord    = 6 // characters of a word that one token holds, so that English has about 1.3 tokens a word
	bytesBegin = 0
)

// Special tokens.
const (
	TokenBOS   llm.Token = 256 // <|startoftext|>, put before every text
	TokenStart llm.Token = 257 // <|im_start|>
	TokenEnd   llm.Token = 258 // <|im_end|>, ends a generation
)

var specials = map[llm.Token]string{
	TokenBOS:   "<|startoftext|>",
	TokenStart: "<|im_start|>",
	TokenEnd:   "<|im_end|>",
}

var errClosed = errors.New("the backend is closed")

// tokenizer cuts text into words, and into bytes where a word has no token of
// its own. A word's token is its hash, so it does not depend on what else was
// tokenized, but for the rare second word of one hash, which is cut into bytes.
// The zero value is ready; it may be used from any goroutine.
type tokenizer struct {
	words sync.Map // llm.Token: string
}

// Specials returns the spellings of special tokens.
func (t *tokenizer) Specials() []string {
	return []string{specials[TokenEnd], specials[TokenStart], specials[TokenBOS]}
}

// Tokenize implements llm.Vocabulary. Any bytes come back from AppendPiece.
func (t *tokenizer) Tokenize(text llm.Text) ([]llm.Token, error) {
	tokens := []llm.Token{TokenBOS}
	for i, part := range text.Parts {
		begin := len(tokens)
		tokens = t.tokenize(tokens, part, text.Special)
		if i == 0 && len(tokens) > begin && tokens[begin] == TokenBOS {
			tokens = tokens[begin:] // spelled in the text: once is enough
		}
	}
	return tokens, nil
}

func (t *tokenizer) tokenize(tokens []llm.Token, text string, special bool) []llm.Token {
	for text != "" {
		if special {
			if id, ok := specialAt(text); ok {
				tokens = append(tokens, id)
				text = text[len(specials[id]):]
				continue
			}
		}
		n := wordLength(text)
		tokens = t.appendWord(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

func specialAt(text string) (llm.Token, bool) {
	for id, spelling := range specials {
		if strings.HasPrefix(text, spelling) {
			return id, true
		}
	}
	return 0, false
}

// wordLength returns how many bytes of text the next word has: up to maxWord
// letters or digits with the space before them, or else one character.
func wordLength(text string) int {
	n, letters := 0, 0
	if text[0] == ' ' {
		n = 1
	}
	for letters < maxWord {
		r, size := utf8.DecodeRuneInString(text[n:])
		if size == 0 || r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		n += size
		letters++
	}
	if n > 0 {
		return n
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// appendWord appends the token of a word, or those of its bytes. Single bytes
// and characters other than letters and digits are bytes, so that an emoji is
// split over tokens as it is by real vocabularies.
func (t *tokenizer) appendWord(tokens []llm.Token, word string) []llm.Token {
	last, _ := utf8.DecodeLastRuneInString(word)
	if len(word) > 1 && (unicode.IsLetter(last) || unicode.IsDigit(last)) {
		if id, ok := t.intern(word); ok {
			return append(tokens, id)
		}
	}
	for i := range len(word) {
		tokens = append(tokens, bytesBegin+llm.Token(word[i]))
	}
	return tokens
}

// intern returns the token of a text, which may be any bytes; false when its
// hash is taken by another.
func (t *tokenizer) intern(text string) (llm.Token, bool) {
	h := fnv.New32a()
	h.Write([]byte(text))
	id := llm.Token(firstWord + h.Sum32()%(vocabSize-firstWord))
	have, _ := t.words.LoadOrStore(id, text)
	return id, have == text
}

// pieceToken returns a token that stands for a text as a whole. It panics when
// the vocabulary cannot have one, since a script is part of a program.
func (t *tokenizer) pieceToken(text string) llm.Token {
	if len(text) == 1 {
		return bytesBegin + llm.Token(text[0])
	}
	id, ok := t.intern(text)
	if !ok {
		panic(fmt.Sprintf("fakellm: the token %q of a script has the same hash as another: change one of them", text))
	}
	return id
}

// known reports whether id is a token that was handed out.
func (t *tokenizer) known(id llm.Token) bool {
	if id >= bytesBegin && id < 256 || specials[id] != "" {
		return true
	}
	_, ok := t.words.Load(id)
	return ok
}

// AppendPiece implements llm.Vocabulary.
func (t *tokenizer) AppendPiece(dst []byte, id llm.Token) []byte {
	if id >= bytesBegin && id < 256 {
		return append(dst, byte(id-bytesBegin))
	}
	if word, ok := t.words.Load(id); ok {
		return append(dst, word.(string)...)
	}
	return dst
}

// IsEOG implements llm.Vocabulary.
func (t *tokenizer) IsEOG(id llm.Token) bool { return id == TokenEnd }

// text spells tokens out, special ones included.
func (t *tokenizer) text(tokens []llm.Token) string {
	var dst []byte
	for _, id := range tokens {
		dst = append(dst, specials[id]...)
		dst = t.AppendPiece(dst, id)
	}
	return string(dst)
}
