package llamacpp

import (
	"context"
	"testing"

	"pichat/llm"
)

// forEachModel runs a benchmark on both models, with one slot.
func forEachModel(b *testing.B, run func(b *testing.B, m *Model)) {
	for _, name := range []string{smolFile, gemmaFile} {
		b.Run(name, func(b *testing.B) {
			run(b, loadModel(b, name, Config{Window: 2048, DecodeThreads: DefaultThreads()}))
		})
	}
}

// prompt returns n tokens of text.
func prompt(tb testing.TB, m *Model, n int) []llm.Token {
	tb.Helper()
	var text string
	for len(text) < 8*n {
		text += "The river rose in the night, and by morning the lower road was gone. "
	}
	tokens, err := m.Tokenize(llm.Text{Parts: []string{text}})
	if err != nil {
		tb.Fatal(err)
	}
	return tokens[:n]
}

// fill evaluates tokens on the empty sequence 0 in one batch after the other.
func fill(tb testing.TB, m *Model, tokens []llm.Token) (index int) {
	tb.Helper()
	if err := m.TrimSequence(0, 0); err != nil {
		tb.Fatal(err)
	}
	var batch llm.Batch
	for i, t := range tokens {
		index = batch.Add(t, i, 0, i == len(tokens)-1)
		if batch.Len() < m.info.BatchTokens && i < len(tokens)-1 {
			continue
		}
		batch.Prefill = true
		if err := m.Evaluate(tb.Context(), &batch); err != nil {
			tb.Fatal(err)
		}
		batch.Reset()
	}
	return index
}

// BenchmarkDecode is the bare loop that everything above is measured against:
// evaluate a token, pick the next.
func BenchmarkDecode(b *testing.B) {
	forEachModel(b, func(b *testing.B, m *Model) {
		tokens := prompt(b, m, 64)
		s, err := m.NewSampler(llm.Sampling{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		index, position := fill(b, m, tokens), len(tokens)
		var batch llm.Batch
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if position == 512 {
				b.StopTimer()
				index, position = fill(b, m, tokens), len(tokens)
				b.StartTimer()
			}
			t, err := s.Sample(index)
			if err != nil {
				b.Fatal(err)
			}
			batch.Reset()
			index = batch.Add(t, position, 0, true)
			position++
			if err := m.Evaluate(ctx, &batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
	})
}

// BenchmarkPrefill reads prompts of 512 tokens.
func BenchmarkPrefill(b *testing.B) {
	forEachModel(b, func(b *testing.B, m *Model) {
		tokens := prompt(b, m, 512)
		b.ReportAllocs()
		for b.Loop() {
			fill(b, m, tokens)
		}
		b.ReportMetric(float64(b.N*len(tokens))/b.Elapsed().Seconds(), "tokens/s")
	})
}

// BenchmarkSample picks from one output again and again.
func BenchmarkSample(b *testing.B) {
	for name, sampling := range map[string]llm.Sampling{
		"greedy":         {},
		"greedy penalty": {RepeatPenalty: 1.1},
		"default":        llm.DefaultSampling(),
		"penalty":        {Temperature: 0.7, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1},
		"no top-k":       {Temperature: 0.7},
		"top-p alone":    {Temperature: 0.7, TopP: 0.95},
	} {
		b.Run(name, func(b *testing.B) {
			forEachModel(b, func(b *testing.B, m *Model) {
				tokens := prompt(b, m, 64)
				index := fill(b, m, tokens)
				s, err := m.NewSampler(sampling, tokens)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Sample(index); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkTokenize takes a text of about 1,000 tokens.
func BenchmarkTokenize(b *testing.B) {
	forEachModel(b, func(b *testing.B, m *Model) {
		text := llm.Text{Parts: []string{m.spell(prompt(b, m, 1000))}}
		b.SetBytes(int64(len(text.Parts[0])))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.Tokenize(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
