// Package backendtest is the conformance suite for llm.Backend. Every backend
// runs it in its own tests, so that the engine may rely on what llm.Backend
// promises, whichever of them it drives.
package backendtest

import (
	"slices"
	"testing"

	"pichat/llm"
)

// Run tests the backends that open makes. Each has at least 2 slots, a window
// of 256 to 4096 tokens, and takes at least 64 tokens a batch; open closes it
// with the test, a second Close included. Evaluating a full batch should take
// 50 ms or more, or interruptions cannot be tried.
//
// What is compared between two ways of evaluating the same tokens are the first
// few tokens of a predictable text: further on, rounding differs with the
// shape of batches, and so may the text.
func Run(t *testing.T, open func(t *testing.T) llm.Backend) {
	b := open(t)
	info := b.Info()
	if info.Slots < 2 || info.Window < 256 || info.BatchTokens < 64 {
		t.Fatalf("the suite needs 2 slots, a window of 256 and batches of 64 tokens, got %+v", info)
	}
	for _, tt := range []struct {
		name string
		test func(t *testing.T, b llm.Backend)
	}{
		{"info", testInfo},
		{"round trip", testRoundTrip},
		{"beginning of text", testBeginning},
		{"parts", testParts},
		{"special tokens", testSpecials},
		{"pieces of no token", testNoToken},
		{"tokenize at once", testTokenizeAtOnce},
		{"spans", testSpans},
		{"chunks", testChunks},
		{"interleaved sequences", testInterleaved},
		{"trim", testTrim},
		{"copy", testCopy},
		{"refusals", testRefusals},
		{"refused samples", testRefusedSamples},
		{"interrupted before", testInterruptedBefore},
		{"interrupted meanwhile", testInterruptedMeanwhile},
		{"late cancel", testLateCancel},
		{"greedy", testGreedy},
		{"seeds", testSeeds},
		{"temperatures", testTemperatures},
		{"narrow samplers", testNarrowSamplers},
		{"no end", testNoEnd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			empty(t, b)
			tt.test(t, b)
		})
	}
	t.Run("closed", func(t *testing.T) { testClosed(t, open(t)) })
}

func testInfo(t *testing.T, b llm.Backend) {
	info := b.Info()
	if info.Name == "" || info.Architecture == "" || info.VocabSize < 256 {
		t.Errorf("the description lacks something: %+v", info)
	}
	if !info.Scripted && (info.File == "" || info.Parameters == 0 || info.FileBytes == 0 || info.KVBytes == 0 ||
		info.DecodeThreads < 1 || info.PrefillThreads < 1 || info.Quantization == "") {
		t.Errorf("the description of a model lacks something: %+v", info)
	}
}

// empty empties all sequences.
func empty(t *testing.T, b llm.Backend) {
	t.Helper()
	for s := range b.Info().Slots {
		if err := b.TrimSequence(s, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// tokenize returns the tokens of plain text.
func tokenize(t *testing.T, b llm.Backend, text string) []llm.Token {
	t.Helper()
	tokens, err := b.Tokenize(llm.Text{Parts: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// spell returns the bytes of tokens.
func spell(b llm.Backend, tokens []llm.Token) string {
	var dst []byte
	for _, tok := range tokens {
		dst = b.AppendPiece(dst, tok)
	}
	return string(dst)
}

// feed evaluates tokens that follow the kept ones of a sequence, in batches of
// at most chunk tokens, and returns the index of the last one's output.
func feed(t *testing.T, b llm.Backend, seq int, tokens []llm.Token, chunk int) (index int) {
	t.Helper()
	_, last := b.SequenceSpan(seq)
	position := last + 1
	var batch llm.Batch
	for part := range slices.Chunk(tokens, min(chunk, b.Info().BatchTokens)) {
		batch.Reset()
		batch.Prefill = true
		for i, tok := range part {
			index = batch.Add(tok, position, seq, i == len(part)-1)
			position++
		}
		if err := b.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	return index
}

// sampler makes a sampler that is closed with the test.
func sampler(t *testing.T, b llm.Backend, s llm.Sampling, recent []llm.Token) llm.Sampler {
	t.Helper()
	out, err := b.NewSampler(s, recent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	return out
}

// step evaluates one token that follows the kept ones of a sequence.
func step(t *testing.T, b llm.Backend, seq int, tok llm.Token) {
	t.Helper()
	_, last := b.SequenceSpan(seq)
	var batch llm.Batch
	batch.Add(tok, last+1, seq, true)
	if err := b.Evaluate(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
}

// write picks n tokens after a prompt of which the output at index was the
// last, or fewer when the text ends.
func write(t *testing.T, b llm.Backend, s llm.Sampler, seq, index, n int) []llm.Token {
	t.Helper()
	var out []llm.Token
	for len(out) < n {
		tok, err := s.Sample(index)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tok)
		if b.IsEOG(tok) {
			break
		}
		step(t, b, seq, tok)
		index = 0
	}
	return out
}

// answer writes n tokens after a prompt on an empty sequence.
func answer(t *testing.T, b llm.Backend, s llm.Sampling, prompt []llm.Token, n int) []llm.Token {
	t.Helper()
	if err := b.TrimSequence(0, 0); err != nil {
		t.Fatal(err)
	}
	index := feed(t, b, 0, prompt, len(prompt))
	return write(t, b, sampler(t, b, s, prompt), 0, index, n)
}

// counting is a text that any language model goes on with in the same way.
const counting = "one two three four five six seven eight nine ten\n" +
	"one two three four five six seven eight nine ten\n" +
	"one two three four five six seven eight nine ten\n" +
	"one two three four"

// compared is how many tokens of a continuation have to be equal.
const compared = 6

// expect fails when a continuation differs from the expected one.
func expect(t *testing.T, b llm.Backend, got, want []llm.Token) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("went on with %q, want %q", spell(b, got), spell(b, want))
	}
}
