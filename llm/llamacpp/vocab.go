package llamacpp

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"pichat/llm"
)

// Kinds of vocabularies that matter here (llama_vocab_type).
const (
	vocabNone = 0
	vocabSPM  = 1
	vocabWPM  = 3
	vocabUGM  = 4
)

// vocabulary is a model's tokens, with all their texts read at load, so that
// pieces cost no call into C. Its methods may be called from any goroutine.
type vocabulary struct {
	// mu is held for reading by calls into the model and for writing by close.
	mu     sync.RWMutex
	model  *C.pc_model // nil once closed
	size   int
	kind   int       // vocabSPM, …
	bos    llm.Token // -1 when there is none
	eos    llm.Token // -1 when there is none
	addBOS bool

	kinds  []uint8     // [size] PC_TOKEN_* bits
	ends   []uint32    // [size] end of each token's piece in pieces
	pieces []byte      // the bytes of all tokens
	eog    []C.int32_t // the tokens that end a generation

	specials []string   // see Specials
	breakers specialSet // user-defined markup, which is never parsed in plain text
	// guard separates parts where the vocabulary would put a space before each
	// text; 0 where it would not. guardToken is its token.
	guard      byte
	guardToken llm.Token
}

// readVocabulary takes over the vocabulary of a loaded model.
func readVocabulary(model *C.pc_model) (*vocabulary, error) {
	var cerr C.pc_error
	var info C.pc_vocab_info
	if C.pc_vocab_describe(model, &info, &cerr) != C.PC_OK {
		return nil, backendError("read the vocabulary", &cerr)
	}
	if info._type == vocabNone || info.size <= 0 {
		return nil, errors.New("the model has no vocabulary: it cannot read or write text")
	}
	v := &vocabulary{
		model:  model,
		size:   int(info.size),
		kind:   int(info._type),
		bos:    known(info.bos, info.size),
		eos:    known(info.eos, info.size),
		addBOS: info.add_bos != 0,
		kinds:  make([]uint8, info.size),
		ends:   make([]uint32, info.size),
	}
	var arena *C.char
	if C.pc_vocab_pieces(model, info.size, (*C.uint8_t)(&v.kinds[0]), (*C.uint32_t)(&v.ends[0]), &arena, &cerr) != C.PC_OK {
		return nil, backendError("read the vocabulary's texts", &cerr)
	}
	v.pieces = C.GoBytes(unsafe.Pointer(arena), C.int(v.ends[v.size-1]))
	C.pc_free(unsafe.Pointer(arena))
	for t, kind := range v.kinds {
		if kind&C.PC_TOKEN_EOG != 0 {
			v.eog = append(v.eog, C.int32_t(t))
		}
	}
	v.findSpecials()
	return v, v.findGuard()
}

// known returns the token, or -1 when it is none of the vocabulary.
func known(id, size C.int32_t) llm.Token {
	if id < 0 || id >= size {
		return -1
	}
	return llm.Token(id)
}

// piece returns the bytes of a token; they are the vocabulary's.
func (v *vocabulary) piece(t llm.Token) []byte {
	if t < 0 || int(t) >= v.size {
		return nil
	}
	begin := uint32(0)
	if t > 0 {
		begin = v.ends[t-1]
	}
	return v.pieces[begin:v.ends[t]]
}

// AppendPiece appends the bytes of a token to dst. Control tokens and tokens
// outside the vocabulary have none.
func (v *vocabulary) AppendPiece(dst []byte, t llm.Token) []byte {
	return append(dst, v.piece(t)...)
}

// IsEOG reports whether t ends a generation.
func (v *vocabulary) IsEOG(t llm.Token) bool {
	return t >= 0 && int(t) < v.size && v.kinds[t]&C.PC_TOKEN_EOG != 0
}

// text returns a token's spelling, control tokens included.
func (v *vocabulary) text(t llm.Token) string {
	if t < 0 || int(t) >= v.size {
		return ""
	}
	text := C.pc_vocab_text(v.model, C.int32_t(t))
	if text == nil {
		return ""
	}
	return C.GoString(text)
}

// forEmbeddings reports whether the vocabulary is of a kind that only models
// for embeddings and translation have (BERT's WordPiece, T5's Unigram). Such a
// one does not give every text back.
func (v *vocabulary) forEmbeddings() bool { return v.kind == vocabWPM || v.kind == vocabUGM }

// findGuard looks for a character that keeps a part of a text from being taken
// for the text's beginning. SentencePiece vocabularies put a space before the
// first text and after each special token, so a second part tokenized on its
// own would gain one. With a control character in front that no token but its
// own byte's holds, the space comes before that character, and both are
// dropped afterwards.
func (v *vocabulary) findGuard() error {
	if v.kind != vocabSPM {
		return nil
	}
	for guard := byte(1); guard < ' '; guard++ {
		tokens, err := v.tokenizeParts(string(guard), []int{1}, false)
		if err != nil {
			return err
		}
		if len(tokens) == 0 {
			continue
		}
		last := tokens[len(tokens)-1]
		if len(tokens) == 1 && bytes.Equal(v.piece(last), []byte{guard}) {
			return nil // no space is put before a text
		}
		if bytes.Equal(v.piece(last), []byte{guard}) && bytes.Count(v.pieces, []byte{guard}) == 1 {
			v.guard, v.guardToken = guard, last
			return nil
		}
	}
	return fmt.Errorf("%w: the vocabulary has no tokens for single bytes", llm.ErrBackend)
}

// close waits for running calls and makes later ones fail. It returns the
// model to free, nil when it was closed already.
func (v *vocabulary) close() *C.pc_model {
	v.mu.Lock()
	defer v.mu.Unlock()
	model := v.model
	v.model = nil
	return model
}
