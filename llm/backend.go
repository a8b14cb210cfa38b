package llm

import (
	"context"
	"time"
)

// Token is an id in a model's vocabulary, 0 <= id < ModelInfo.VocabSize.
type Token int32

// Text is text on its way to a tokenizer.
type Text struct {
	// Parts are tokenized in order. No special token is recognised across the
	// cut between two parts, and no space is put there: a cut leaves the text
	// as it is and only keeps "<" + "|im_end|>" from becoming a control token.
	Parts []string
	// Special says whether special tokens spelled out in a part (as a chat
	// template does) are recognised. User text on its own never sets it.
	Special bool
}

// Vocabulary turns text into tokens and back. Its methods may be called from
// any goroutine.
type Vocabulary interface {
	// Tokenize returns the tokens of text, beginning with exactly one
	// beginning-of-sequence token where the vocabulary asks for one. It never
	// appends an end-of-sequence token. The slice is the caller's.
	Tokenize(text Text) ([]Token, error)
	// AppendPiece appends the bytes of a token to dst. They may be part of a
	// UTF-8 sequence. Control tokens have none.
	AppendPiece(dst []byte, t Token) []byte
	// IsEOG reports whether t ends a generation (end of text, end of turn, …).
	IsEOG(t Token) bool
}

// Backend evaluates tokens of several sequences on one loaded model. Slot i
// uses sequence i. Unless said otherwise its methods are called from one
// goroutine only, the engine's.
type Backend interface {
	Vocabulary

	// Info describes the model and the context. It may be called from any
	// goroutine and does not change.
	Info() ModelInfo

	// Evaluate runs one batch through the model and keeps its results in the
	// sequences' KV memory. When ctx ends first the call stops at the next
	// opportunity and returns ErrInterrupted; what of the batch was kept is
	// then told by SequenceSpan. On any other error the memory is as before,
	// as far as SequenceSpan says so.
	Evaluate(ctx context.Context, b *Batch) error

	// TrimSequence removes the positions from..end of a sequence. It returns
	// an error where the model cannot remove a part; from 0 always succeeds.
	TrimSequence(seq, from int) error

	// CopySequence makes the first n positions of sequence from the beginning
	// of sequence to as well, which must be empty. The two share the memory, so
	// it costs next to nothing. It returns an error where a model cannot: where
	// ModelInfo.CanShare is false.
	CopySequence(from, to, n int) error

	// SequenceSpan returns the first and last position kept for a sequence,
	// -1 and -1 when there is none. Models with a sliding window may have
	// first > 0.
	SequenceSpan(seq int) (first, last int)

	// NewSampler makes a sampler for one reply. Recent holds the last prompt
	// tokens, which penalties count; it is not kept. The caller closes it.
	NewSampler(s Sampling, recent []Token) (Sampler, error)

	// Close frees the context and the model. Nothing may be called after it.
	Close() error
}

// CanShare tells whether sequences of the model may share memory. Recurrent
// state belongs to one sequence; the small memory of a sliding window frees
// only cells that no second sequence holds, so that shared ones would fill it.
func (i ModelInfo) CanShare() bool { return !i.Recurrent && i.SlidingWindow == 0 }

// ComputeTimer is a Backend that knows the CPU time its callers have spent
// computing. It may be called from any goroutine.
type ComputeTimer interface {
	ComputeTime() time.Duration
}

// Ticker is a Backend that shows that it computes. It may be called from any
// goroutine, after Close too.
type Ticker interface {
	// Ticks moves many times a second while Evaluate computes, stands still
	// otherwise, and wraps around.
	Ticks() uint32
}

// Sampler picks the next token of one reply. It belongs to the engine's
// goroutine.
type Sampler interface {
	// Sample picks a token from the output at index i of the last batch
	// (an entry with Output set) and remembers it for penalties.
	Sample(i int) (Token, error)
	// Close frees the sampler.
	Close()
}

// Batch is what one Evaluate call takes: up to ModelInfo.BatchTokens entries
// as parallel slices of equal length, so that they reach C without a copy
// per entry. The zero value is an empty batch. It is reused between steps.
type Batch struct {
	Tokens    []Token // [n]
	Positions []int32 // [n] position of the token in its sequence, from 0
	Sequences []int32 // [n] sequence id, 0 <= id < ModelInfo.Slots
	Output    []int8  // [n] 1 where the entry's logits will be sampled
	// Prefill tells that the batch holds prompt tokens, so that the backend
	// can choose its prefill threads. Decode steps leave it false.
	Prefill bool
}

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.Tokens) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Tokens, b.Positions = b.Tokens[:0], b.Positions[:0]
	b.Sequences, b.Output = b.Sequences[:0], b.Output[:0]
	b.Prefill = false
}

// Add appends an entry and returns its index, which Sampler.Sample takes.
func (b *Batch) Add(t Token, position, sequence int, output bool) int {
	b.Tokens = append(b.Tokens, t)
	b.Positions = append(b.Positions, int32(position))
	b.Sequences = append(b.Sequences, int32(sequence))
	out := int8(0)
	if output {
		out = 1
	}
	b.Output = append(b.Output, out)
	return len(b.Tokens) - 1
}

// ModelInfo describes a loaded model and its context.
type ModelInfo struct {
	Name          string // as people call it, by package modelname, e.g. "SmolLM2 135M Instruct"
	File          string // base name of the model file; "" for a scripted backend
	Architecture  string // as GGUF names it, e.g. "llama"
	Quantization  string // e.g. "Q4_1"
	Parameters    uint64 // number of weights; 0 when unknown
	FileBytes     uint64 // size on disk; 0 when unknown
	KVBytes       uint64 // KV memory of all slots; 0 when unknown
	VocabSize     int
	TrainWindow   int // tokens the model was trained for; 0 when unknown
	Window        int // tokens one slot holds, prompt and reply together
	Slots         int // serving places; the KV memory holds Slots x Window tokens
	BatchTokens   int // most tokens one Evaluate takes
	SlidingWindow int // tokens of sliding-window attention; 0 when none
	// Recurrent is set for recurrent and hybrid models, whose memory can only
	// be dropped as a whole.
	Recurrent bool
	// Scripted is set for a backend that plays a script instead of a model:
	// the page says so wherever it shows a figure.
	Scripted       bool
	DecodeThreads  int
	PrefillThreads int
}
