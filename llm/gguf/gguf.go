// Package gguf checks a model file before any C code reads it, and says what
// the model is and how much memory it will take.
//
// The file is taken for hostile: every count, length and offset is held
// against the file's size before it is used. [Check] reads the header only,
// in bounded time and memory.
package gguf

import "errors"

// ErrModelInvalid marks a file that cannot be used as a model. The text that
// wraps it says what is wrong, the value, and what to do.
var ErrModelInvalid = errors.New("model file cannot be used")

// Info describes a model file. It is read-only and may be used from any
// goroutine.
type Info struct {
	Path         string
	SizeBytes    uint64 // of the file, or of all files of a split model
	Name         string // as people call it, by package modelname
	OwnName      string // as the file calls itself (general.name); "" where it does not
	Architecture string // as GGUF names it, e.g. "llama"
	Parameters   uint64 // number of weights
	Quantization string // e.g. "Q4_1"
	License      string // "" when the file does not say

	ContextTrain    int // tokens the model was trained for; 0 when unknown
	VocabSize       int
	EmbeddingLength int
	Layers          int
	HeadsKV         []int // [Layers] key-value heads of each layer; 0 where a layer keeps no keys
	KeyLength       int   // width of a key head
	ValueLength     int   // width of a value head
	SlidingWindow   int   // tokens of sliding-window attention; 0 when none
	TiedEmbeddings  bool  // the output layer shares the input's weights
	Recurrent       bool  // the architecture keeps recurrent state, wholly or beside attention

	ChatTemplate string // Jinja source; "" for a base model
	BOS, EOS     string // texts of those tokens; "" when the file names none

	WeightsBytes uint64 // of all tensors

	header *header // for MemoryEstimate
}

// HasTemplate reports whether the file carries a chat template.
func (i *Info) HasTemplate() bool { return i.ChatTemplate != "" }
