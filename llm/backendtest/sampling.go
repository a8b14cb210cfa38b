package backendtest

import (
	"errors"
	"slices"
	"testing"

	"pichat/llm"
)

func seeded(s llm.Sampling, seed uint32) llm.Sampling {
	s.Seed = &seed
	return s
}

func testGreedy(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, counting)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	for range 2 {
		expect(t, b, answer(t, b, llm.Sampling{}, prompt, compared), want)
	}
	if !b.Info().Scripted {
		if got := spell(b, want); len(got) < 6 || got[:6] != " five " && got[:5] != " five" {
			t.Errorf("counting went on with %q, want \" five six …\"", got)
		}
	}
}

// openEnded is a text that can go on in many ways.
const openEnded = "My favourite thing in the world is"

func testSeeds(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, openEnded)
	wide := llm.Sampling{Temperature: 1.5}
	seen := map[string]bool{}
	for seed := range uint32(6) {
		got := answer(t, b, seeded(wide, seed), prompt, compared)
		expect(t, b, answer(t, b, seeded(wide, seed), prompt, compared), got)
		seen[spell(b, got)] = true
	}
	if len(seen) < 2 {
		t.Errorf("six seeds gave the same text %v", seen)
	}
	// The seed that means "any" to some libraries is one like all others.
	got := answer(t, b, seeded(wide, 1<<32-1), prompt, compared)
	expect(t, b, answer(t, b, seeded(wide, 1<<32-1), prompt, compared), got)
}

func testTemperatures(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, counting)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	for _, temperature := range []float64{1e-300, 1e-30, 1e-9, 1e-4, 0.01} {
		got := answer(t, b, seeded(llm.Sampling{Temperature: temperature}, 1), prompt, compared)
		if !b.Info().Scripted {
			expect(t, b, got, want)
		}
	}
	for _, s := range []llm.Sampling{
		{Temperature: 2},
		{Temperature: 2, TopK: 1 << 20, TopP: 1, MinP: 0},
		{Temperature: 2, TopK: 5, TopP: 1e-9, MinP: 1},
		{Temperature: 2, RepeatPenalty: 4},
		{Temperature: 0.1, RepeatPenalty: 0.1},
		llm.DefaultSampling(),
	} {
		for _, tok := range answer(t, b, s, prompt, compared) {
			if tok < 0 || int(tok) >= b.Info().VocabSize {
				t.Errorf("%+v picked token %d", s, tok)
			}
		}
	}
}

// testNarrowSamplers lets each of the filters leave a single token.
func testNarrowSamplers(t *testing.T, b llm.Backend) {
	if b.Info().Scripted {
		t.Skip("a script does not sample")
	}
	prompt := tokenize(t, b, openEnded)
	want := answer(t, b, llm.Sampling{}, prompt, compared)
	for _, s := range []llm.Sampling{
		{Temperature: 2, TopK: 1},
		{Temperature: 2, TopP: 1e-6},
		{Temperature: 2, MinP: 1},
	} {
		expect(t, b, answer(t, b, seeded(s, 1), prompt, compared), want)
	}
	// A penalty changes a text that repeats itself.
	prompt = tokenize(t, b, counting)
	want = answer(t, b, llm.Sampling{}, prompt, compared)
	got := answer(t, b, llm.Sampling{RepeatPenalty: 4}, prompt, compared)
	if slices.Equal(got, want) {
		t.Errorf("a repeat penalty of 4 changed nothing in %q", spell(b, got))
	}
}

// finished is a text after which a chat model ends its turn at once.
const finished = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\nHi!"

// testNoEnd writes on past the place where the text would end.
func testNoEnd(t *testing.T, b llm.Backend) {
	prompt, err := b.Tokenize(llm.Text{Parts: []string{finished}, Special: true})
	if err != nil {
		t.Fatal(err)
	}
	const more = 20
	usual := answer(t, b, llm.Sampling{}, prompt, b.Info().Window-len(prompt)-more)
	if n := len(usual); !b.IsEOG(usual[n-1]) {
		t.Skip("a model that was not trained to chat, and does not end this text by itself")
	}
	for _, s := range []llm.Sampling{{}, {Temperature: 2, TopK: 3}} {
		s.IgnoreEOG = true
		got := answer(t, b, s, prompt, len(usual)+more)
		if n := len(got); n != len(usual)+more || b.IsEOG(got[n-1]) {
			t.Errorf("%+v: ended after %d tokens", s, n)
		}
	}
}

func testRefusedSamples(t *testing.T, b llm.Backend) {
	s := sampler(t, b, llm.Sampling{}, nil)
	prompt := tokenize(t, b, "a b c")
	index := feed(t, b, 0, prompt, 64)
	for _, bad := range []int{-2, -1, index - 1, index + 1, 1 << 20} {
		if tok, err := s.Sample(bad); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("sampling at %d of %d gave %d, %v, want ErrBackend", bad, index, tok, err)
		}
	}
	if _, err := s.Sample(index); err != nil {
		t.Error(err)
	}
	for _, bad := range []llm.Token{-1, llm.Token(b.Info().VocabSize)} {
		if _, err := b.NewSampler(llm.Sampling{}, []llm.Token{bad}); !errors.Is(err, llm.ErrBackend) {
			t.Errorf("a recent token %d gave %v, want ErrBackend", bad, err)
		}
	}
	s.Close()
	if _, err := s.Sample(index); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("a closed sampler gave %v, want ErrBackend", err)
	}
}

func testClosed(t *testing.T, b llm.Backend) {
	prompt := tokenize(t, b, "a b c")
	index := feed(t, b, 0, prompt, 64)
	s := sampler(t, b, llm.Sampling{Temperature: 1}, prompt)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("a second Close gave %v", err)
	}
	var batch llm.Batch
	batch.Add(prompt[0], len(prompt), 0, true)
	if err := b.Evaluate(t.Context(), &batch); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("Evaluate gave %v, want ErrBackend", err)
	}
	if _, err := s.Sample(index); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("Sample gave %v, want ErrBackend", err)
	}
	if err := b.TrimSequence(0, 0); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("TrimSequence gave %v, want ErrBackend", err)
	}
	if _, err := b.NewSampler(llm.Sampling{}, nil); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("NewSampler gave %v, want ErrBackend", err)
	}
	if first, last := b.SequenceSpan(0); first != -1 || last != -1 {
		t.Errorf("SequenceSpan gave %d, %d, want -1, -1", first, last)
	}
}
