package backendtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pichat/llm"
)

func testSpans(t *testing.T, b llm.Backend) {
	expectSpan := func(seq, first, last int) {
		t.Helper()
		if f, l := b.SequenceSpan(seq); f != first || l != last {
			t.Errorf("sequence %d spans %d to %d, want %d to %d", seq, f, l, first, last)
		}
	}
	expectSpan(0, -1, -1)
	tokens := tokenize(t, b, counting)[:20]
	feed(t, b, 0, tokens, 64)
	expectSpan(0, 0, 19)
	expectSpan(1, -1, -1)
	feed(t, b, 1, tokens[:7], 64)
	step(t, b, 0, tokens[0])
	expectSpan(0, 0, 20)
	expectSpan(1, 0, 6)
	if !b.Info().Recurrent {
		if err := b.TrimSequence(0, 10); err != nil {
			t.Fatal(err)
		}
		expectSpan(0, 0, 9)
		if err := b.TrimSequence(0, 10); err != nil {
			t.Errorf("removing nothing: %v", err)
		}
	}
	if err := b.TrimSequence(0, 0); err != nil {
		t.Fatal(err)
	}
	expectSpan(0, -1, -1)
	expectSpan(1, 0, 6)
	expectSpan(-1, -1, -1)
	expectSpan(b.Info().Slots, -1, -1)
	for _, bad := range [][2]int{{-1, 0}, {b.Info().Slots, 0}, {0, -1}} {
		if err := b.TrimSequence(bad[0], bad[1]); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("removing positions %d.. of sequence %d gave %v, want ErrBackend", bad[1], bad[0], err)
		}
	}
}

func testChunks(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, counting)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	for _, chunk := range []int{1, 7, 32} {
		empty(t, b)
		index := feed(t, b, 0, prompt, chunk)
		expect(t, b, write(t, b, sampler(t, b, llm.Sampling{}, prompt), 0, index, compared), want)
	}
}

// testInterleaved lets one sequence decode while another's prompt is read, in
// the same batches, and then both decode together.
func testInterleaved(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, counting)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	empty(t, b)
	index := feed(t, b, 0, prompt, len(prompt))
	first, second := sampler(t, b, llm.Sampling{}, prompt), sampler(t, b, llm.Sampling{}, prompt)
	sample := func(s llm.Sampler, index int) llm.Token {
		t.Helper()
		tok, err := s.Sample(index)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	got0, got1 := []llm.Token{sample(first, index)}, []llm.Token(nil)
	var batch llm.Batch
	for pieces := slices.Collect(slices.Chunk(prompt, len(prompt)/3+1)); len(got1) < compared; {
		batch.Reset()
		// The second sequence's entries come first, so that an index is none
		// of a sequence's number.
		at1 := -1
		if len(pieces) > 0 {
			batch.Prefill = true
			_, last := b.SequenceSpan(1)
			for i, tok := range pieces[0] {
				out := len(pieces) == 1 && i == len(pieces[0])-1
				if at := batch.Add(tok, last+1+i, 1, out); out {
					at1 = at
				}
			}
			pieces = pieces[1:]
		} else {
			at1 = batch.Add(got1[len(got1)-1], len(prompt)+len(got1)-1, 1, true)
		}
		at0 := batch.Add(got0[len(got0)-1], len(prompt)+len(got0)-1, 0, true)
		if err := b.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
		got0 = append(got0, sample(first, at0))
		if at1 >= 0 {
			got1 = append(got1, sample(second, at1))
		}
	}
	expect(t, b, got0[:compared], want)
	expect(t, b, got1, want)
}

func testTrim(t *testing.T, b llm.Backend) {
	if b.Info().Recurrent {
		feed(t, b, 0, tokenize(t, b, counting), 64)
		if err := b.TrimSequence(0, 5); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("a recurrent model's memory was cut with %v, want ErrBackend", err)
		}
		return
	}
	prompt := tokenize(t, b, counting)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	empty(t, b)
	common := len(prompt) / 2
	feed(t, b, 0, prompt[:common], 64)
	feed(t, b, 0, tokenize(t, b, " and then something else entirely, which is dropped again"), 64)
	if err := b.TrimSequence(0, common); err != nil {
		t.Fatal(err)
	}
	index := feed(t, b, 0, prompt[common:], 64)
	expect(t, b, write(t, b, sampler(t, b, llm.Sampling{}, prompt), 0, index, compared), want)
}

// testCopy lets a second sequence begin as the first does; each then goes on by
// itself, and removing one leaves the other.
func testCopy(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, counting)
	if !b.Info().CanShare() {
		feed(t, b, 0, prompt, 64)
		if err := b.CopySequence(0, 1, 4); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("a model whose memory cannot be shared copied it with %v, want ErrBackend", err)
		}
		return
	}
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	empty(t, b)
	common := len(prompt) / 2
	feed(t, b, 0, prompt[:common+3], 64)
	for name, args := range map[string][3]int{
		"from outside": {b.Info().Slots, 1, 2}, "from a negative one": {-1, 1, 2}, "to outside": {0, b.Info().Slots, 2},
		"to itself": {0, 0, 2}, "nothing": {0, 1, 0}, "more than there is": {0, 1, common + 4}, "from an empty one": {1, 0, 1},
	} {
		if err := b.CopySequence(args[0], args[1], args[2]); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("copy %s: got %v, want ErrBackend", name, err)
		}
	}
	if err := b.CopySequence(0, 1, common); err != nil {
		t.Fatal(err)
	}
	if err := b.CopySequence(0, 1, common); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("copy to one that is not empty: got %v, want ErrBackend", err)
	}
	if first, last := b.SequenceSpan(1); first != 0 || last != common-1 {
		t.Errorf("the copy spans %d to %d, want 0 to %d", first, last, common-1)
	}
	index := feed(t, b, 1, prompt[common:], 64)
	expect(t, b, write(t, b, sampler(t, b, llm.Sampling{}, prompt), 1, index, compared), want)
	if err := b.TrimSequence(1, 0); err != nil {
		t.Fatal(err)
	}
	if _, last := b.SequenceSpan(0); last != common+2 {
		t.Errorf("with the copy removed, the first one ends at %d, want %d", last, common+2)
	}
	index = feed(t, b, 0, prompt[common+3:], 64)
	expect(t, b, write(t, b, sampler(t, b, llm.Sampling{}, prompt), 0, index, compared), want)
}

func testRefusals(t *testing.T, b llm.Backend) {
	info := b.Info()
	tok := tokenize(t, b, "a")[0]
	filled := func(n int, output bool) *llm.Batch {
		var batch llm.Batch
		for i := range n {
			batch.Add(tok, i, 0, output)
		}
		return &batch
	}
	one := func(tok llm.Token, position, seq int) *llm.Batch {
		var batch llm.Batch
		batch.Add(tok, position, seq, true)
		return &batch
	}
	uneven := filled(3, false)
	uneven.Positions = uneven.Positions[:2]
	short := filled(3, false)
	short.Output = nil
	repeated := filled(2, false)
	repeated.Positions[1] = 0
	backwards := filled(2, false)
	backwards.Positions[0], backwards.Positions[1] = 1, 0
	for name, batch := range map[string]*llm.Batch{
		"empty":                       {},
		"slices of different lengths": uneven,
		"no outputs slice":            short,
		"more than a batch":           filled(info.BatchTokens+1, false),
		"more outputs than slots":     filled(info.Slots+1, true),
		"negative token":              one(-1, 0, 0),
		"token outside":               one(llm.Token(info.VocabSize), 0, 0),
		"negative sequence":           one(tok, 0, -1),
		"sequence outside":            one(tok, 0, info.Slots),
		"negative position":           one(tok, -1, 0),
		"position with a gap":         one(tok, 1, 0),
		"position past the window":    one(tok, info.Window, 0),
		"position twice":              repeated,
		"positions backwards":         backwards,
	} {
		if err := b.Evaluate(t.Context(), batch); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("%s: got %v, want ErrBackend", name, err)
		}
		if _, last := b.SequenceSpan(0); last != -1 {
			t.Fatalf("%s: something was kept up to position %d", name, last)
		}
	}
	// A full window takes not one token more.
	for left := info.Window; left > 0; {
		n := min(left, info.BatchTokens)
		feed(t, b, 0, slices.Repeat([]llm.Token{tok}, n), n)
		left -= n
	}
	if err := b.Evaluate(t.Context(), one(tok, info.Window, 0)); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("a token after the full window: got %v, want ErrBackend", err)
	}
	empty(t, b)
	if err := b.Evaluate(t.Context(), one(tok, 0, 0)); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}

func testInterruptedBefore(t *testing.T, b llm.Backend) {
	feed(t, b, 0, tokenize(t, b, "a b c"), 64)
	_, before := b.SequenceSpan(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var batch llm.Batch
	batch.Add(tokenize(t, b, "a")[0], before+1, 0, true)
	if err := b.Evaluate(ctx, &batch); !errors.Is(err, llm.ErrInterrupted) {
		t.Errorf("got %v, want ErrInterrupted", err)
	}
	if _, last := b.SequenceSpan(0); last > before+1 {
		t.Errorf("position %d is kept, want at most %d", last, before+1)
	}
	empty(t, b)
	step(t, b, 0, batch.Tokens[0])
}

func testInterruptedMeanwhile(t *testing.T, b llm.Backend) {
	n := min(b.Info().BatchTokens, b.Info().Window)
	tok := tokenize(t, b, "a")[0]
	var batch llm.Batch
	batch.Prefill = true
	for i := range n {
		batch.Add(tok, i, 0, false)
	}
	begin := time.Now()
	if err := b.Evaluate(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begin)
	for try := 2; ; try *= 2 {
		empty(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), whole/time.Duration(2*try))
		err := b.Evaluate(ctx, &batch)
		late := time.Duration(0)
		if deadline, ok := ctx.Deadline(); ok {
			late = time.Since(deadline)
		}
		cancel()
		if err == nil && try < 256 {
			continue // this time it was quicker than that
		}
		if !errors.Is(err, llm.ErrInterrupted) {
			t.Fatalf("got %v, want ErrInterrupted", err)
		}
		t.Logf("a batch of %v ended %v after its context", whole, late)
		if late > 2*time.Second {
			t.Errorf("it ended %v after its context", late)
		}
		break
	}
	if _, last := b.SequenceSpan(0); last >= n-1 {
		t.Errorf("position %d is kept of an interrupted batch of %d", last, n)
	}
	// What was kept can be gone on with.
	step(t, b, 0, tok)
}

// testLateCancel ends contexts about when their call ends and looks whether
// the next call is hit.
func testLateCancel(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, "a b c d e f g h")
	feed(t, b, 0, prompt, 64)
	tok := prompt[len(prompt)-1]
	begin := time.Now()
	step(t, b, 0, tok)
	took := time.Since(begin)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rng.Float64()*2*float64(took)), cancel)
		_, last := b.SequenceSpan(0)
		var batch llm.Batch
		batch.Add(tok, last+1, 0, true)
		if err := b.Evaluate(ctx, &batch); err != nil && !errors.Is(err, llm.ErrInterrupted) {
			t.Fatal(err)
		}
		if timer.Stop() {
			go cancel() // the latest of all: after the call
		}
		if i%2 == 0 {
			step(t, b, 0, tok)
		} else {
			empty(t, b)
			feed(t, b, 0, prompt, 64)
		}
		cancel()
	}
}
