package gguf

import (
	"io"
	"math"

	parser "github.com/gpustack/gguf-parser-go"
)

// maxTokenBytes bounds the text of a token.
const maxTokenBytes = 4096

// readSpecialTokens looks up the texts of the tokens that begin and end a
// sequence, in a second walk over the vocabulary.
func (h *header) readSpecialTokens(src io.ReaderAt, size int64) error {
	tokens := h.array("tokenizer.ggml.tokens")
	if tokens == nil || tokens.Type != parser.GGUFMetadataValueTypeString {
		return nil
	}
	wanted := map[uint64][]*string{} // by token id; one token may be both
	h.want(wanted, "tokenizer.ggml.bos_token_id", tokens.Len, &h.bos)
	h.want(wanted, "tokenizer.ggml.eos_token_id", tokens.Len, &h.eos)
	r := newReader(src, size)
	if err := r.skip(uint64(tokens.StartOffset)+4+8, "the vocabulary"); err != nil {
		return err
	}
	for id := uint64(0); len(wanted) > 0; id++ {
		if wanted[id] == nil {
			if err := r.skipTexts(1, "the vocabulary"); err != nil {
				return err
			}
			continue
		}
		text, err := r.text(maxTokenBytes, "a token")
		if err != nil {
			return err
		}
		for _, into := range wanted[id] {
			*into = text
		}
		delete(wanted, id)
	}
	return nil
}

// want notes where the text of the token goes that a key names. An id outside
// of the vocabulary stands for none, as in llama.cpp.
func (h *header) want(wanted map[uint64][]*string, key string, tokens uint64, into *string) {
	i, ok := h.index[key]
	if !ok {
		return
	}
	if id, ok := whole(h.values[i].Value); ok && id >= 0 && id < math.MaxInt64 && uint64(id) < tokens {
		wanted[uint64(id)] = append(wanted[uint64(id)], into)
	}
}
