package llamacpp

// #include "shim.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"pichat/llm"
)

const (
	// maxTextBytes bounds one Tokenize call: some pre-tokenizers of llama.cpp
	// take seconds for a megabyte.
	maxTextBytes = 4 << 20
	// maxRun is how many characters may follow each other without a change
	// between white space and other text before they are cut.
	maxRun = 8192
)

// Tokenize implements llm.Vocabulary. Bytes that are not UTF-8 become U+FFFD.
// Texts of more than 4 MB are refused. A run of more than 8,192 characters
// without white space, or of white space alone, is tokenized in pieces of that
// length, which no sensible text is affected by.
func (v *vocabulary) Tokenize(text llm.Text) ([]llm.Token, error) {
	total := 0
	for _, part := range text.Parts {
		total += len(part)
	}
	if total > maxTextBytes {
		return nil, fmt.Errorf("%w: the text has %d bytes, at most %d can be tokenized", llm.ErrInvalidRequest, total, maxTextBytes)
	}
	var joined strings.Builder
	joined.Grow(total)
	var ends []int
	for _, part := range text.Parts {
		part = strings.ToValidUTF8(part, "\uFFFD")
		ends = v.cut(ends, part, joined.Len(), !text.Special)
		joined.WriteString(part)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.model == nil {
		return nil, fmt.Errorf("%w: tokenize: %w", llm.ErrBackend, errClosed)
	}
	tokens, err := v.tokenizeParts(joined.String(), ends, text.Special)
	if err != nil {
		return nil, err
	}
	if v.addBOS && v.bos >= 0 && (len(tokens) == 0 || tokens[0] != v.bos) {
		tokens = slices.Insert(tokens, 0, v.bos)
	}
	return tokens, nil
}

// cut appends to ends where the pieces of a part end that begins at offset in
// the joined text: inside of every overlong run, and after the first character
// of every special token when plain, since llama.cpp recognises user-defined
// ones in plain text too.
func (v *vocabulary) cut(ends []int, part string, offset int, plain bool) []int {
	if part == "" {
		return ends
	}
	run, inSpace := 0, false
	for i, r := range part {
		if space := unicode.IsSpace(r); space != inSpace {
			run, inSpace = 0, space
		}
		if run++; run > maxRun {
			ends = append(ends, offset+i)
			run = 1
		}
		if plain && v.breakers.at(part, i) {
			ends = append(ends, offset+i+utf8.RuneLen(r))
		}
	}
	return append(ends, offset+len(part))
}

// tokenizeParts calls C. ends are the ends of the parts in text. The caller
// holds mu, or is the only one that knows v.
func (v *vocabulary) tokenizeParts(text string, ends []int, special bool) ([]llm.Token, error) {
	if len(ends) == 0 {
		return nil, nil
	}
	sizes := make([]C.size_t, len(ends))
	for i, end := range ends {
		sizes[i] = C.size_t(end)
	}
	var (
		cerr     C.pc_error
		tokens   *C.int32_t
		n        C.size_t
		cSpecial C.int
	)
	if special {
		cSpecial = 1
	}
	code := C.pc_tokenize(v.model, (*C.char)(unsafe.Pointer(unsafe.StringData(text))), &sizes[0],
		C.size_t(len(sizes)), cSpecial, C.int(v.guard), C.int32_t(v.guardToken), &tokens, &n, &cerr)
	if code != C.PC_OK {
		return nil, backendError("tokenize", &cerr)
	}
	defer C.pc_free(unsafe.Pointer(tokens))
	out := make([]llm.Token, n, n+1) // room for a BOS
	copy(out, unsafe.Slice((*llm.Token)(unsafe.Pointer(tokens)), int(n)))
	return out, nil
}
