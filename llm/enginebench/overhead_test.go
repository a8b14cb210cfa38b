package enginebench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pichat/llm"
	"pichat/llm/llamacpp"
	"pichat/llm/paired"
)

const (
	model       = "../../models/SmolLM2-135M-Instruct.Q4_1.gguf"
	pairs       = 31
	decodeRun   = 192 // tokens of a decode run
	prefillRun  = 450 // tokens of a prefill run
	bar         = 0.98
	warmupPairs = 2
	// frame is the time between two text frames of the server for a model as
	// fast as this.
	frame = 150 * time.Millisecond
	// rest is the time before a run in which the compute threads come to rest:
	// after a step they spin for some 0.1 s, which would favour whoever is next.
	rest = 500 * time.Millisecond
)

// endless is a model whose replies only end at their cap, so that both sides
// decode the same number of tokens.
type endless struct{ *llamacpp.Model }

func (e endless) IsEOG(llm.Token) bool { return false }

// raw is a template for tests that send bare prompts.
type raw struct{}

func (raw) Info() llm.TemplateInfo { return llm.TemplateInfo{} }
func (raw) Render([]llm.Message, *bool) (llm.Prompt, error) {
	return llm.Prompt{}, nil
}

// BenchmarkEngineOverhead compares decode and prefill through llm.Engine with
// a bare loop of binding calls: same process, same model, alternating. It
// prints the ratio engine/bare (1 is no cost).
func BenchmarkEngineOverhead(b *testing.B) {
	if _, err := os.Stat(model); err != nil {
		b.Fatalf("%v: run make model", err)
	}
	// One context for both: two differ by some percent, by where their memory
	// lies. Each side empties it first, and no prompt begins as the one before,
	// so that the engine asks for nothing that the loop has thrown away.
	m := load(b)
	engine := llm.NewEngine(llm.EngineConfig{Backend: endless{m}, Template: raw{}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = engine.Run(ctx) }()
	defer func() { cancel(); <-done }()

	var decode, prefill []float64
	for b.Loop() {
		decode, prefill = nil, nil
		for pair := range pairs + warmupPairs {
			prompt := longPrompt(m, pair)
			var e, l speeds
			if pair%2 == 0 {
				e, l = throughEngine(b, engine, prompt), throughLoop(b, m, prompt)
			} else {
				l, e = throughLoop(b, m, prompt), throughEngine(b, engine, prompt)
			}
			if pair >= warmupPairs {
				decode = append(decode, e.decode/l.decode)
				prefill = append(prefill, e.prefill/l.prefill)
			}
		}
	}
	d, p := paired.NewRatio(decode), paired.NewRatio(prefill)
	b.ReportMetric(d.Median, "decode-ratio")
	b.ReportMetric(p.Median, "prefill-ratio")
	fmt.Printf("decode  engine/bare: %v; at least %.2f: %s\n", d, bar, d.Verdict(paired.AtLeast(bar)))
	fmt.Printf("prefill engine/bare: %v; at least %.2f: %s\n", p, bar, p.Verdict(paired.AtLeast(bar)))
}

func load(b *testing.B) *llamacpp.Model {
	b.Helper()
	m, err := llamacpp.Load(context.Background(), llamacpp.Config{Path: model, Slots: 1, Window: 2048})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	return m
}

// speeds are tokens/s.
type speeds struct{ prefill, decode float64 }

// longPrompt is a prompt whose first words differ from run to run, so that no
// side finds it in its memory.
func longPrompt(v llm.Vocabulary, run int) string {
	text := string(rune('A'+run%26)) + " is the name of this run. "
	for {
		tokens, err := v.Tokenize(llm.Text{Parts: []string{text}})
		if err != nil || len(tokens) >= prefillRun {
			return text
		}
		text += strings.Repeat("The river carries its water past the old mill. ", 8)
	}
}

func throughEngine(b *testing.B, e *llm.Engine, prompt string) speeds {
	<-time.After(rest)
	s, err := e.Generate(context.Background(), llm.Request{Prompt: prompt, MaxTokens: decodeRun})
	if err != nil {
		b.Fatal(err)
	}
	for {
		<-time.After(frame) // as the page's server reads: a token alone wakes nobody
		events := s.Take()
		if len(events) == 0 {
			continue
		}
		done, ok := events[len(events)-1].(llm.Done)
		if !ok {
			continue
		}
		if done.Err != nil || done.Timings.Tokens() != decodeRun {
			b.Fatalf("engine: %d tokens, %v", done.Timings.Tokens(), done.Err)
		}
		tps, _ := done.Timings.TPS()
		pp, _ := done.Timings.PrefillSpeed()
		return speeds{prefill: pp, decode: tps}
	}
}

// throughLoop is the least that has to be done: evaluate, sample, again.
func throughLoop(b *testing.B, m *llamacpp.Model, prompt string) speeds {
	<-time.After(rest)
	tokens, err := m.Tokenize(llm.Text{Parts: []string{prompt}})
	if err != nil {
		b.Fatal(err)
	}
	if err := m.TrimSequence(0, 0); err != nil {
		b.Fatal(err)
	}
	sampler, err := m.NewSampler(llm.Sampling{}, tokens[len(tokens)-64:])
	if err != nil {
		b.Fatal(err)
	}
	defer sampler.Close()
	var batch llm.Batch
	begin := time.Now()
	output := -1
	for at := 0; at < len(tokens); {
		batch.Reset()
		batch.Prefill = true
		for ; at < len(tokens) && batch.Len() < m.Info().BatchTokens; at++ {
			output = batch.Add(tokens[at], at, 0, at == len(tokens)-1)
		}
		if err := m.Evaluate(context.Background(), &batch); err != nil {
			b.Fatal(err)
		}
	}
	prefill := time.Since(begin)
	next, err := sampler.Sample(output)
	if err != nil {
		b.Fatal(err)
	}
	begin = time.Now()
	for i := range decodeRun - 1 {
		batch.Reset()
		output = batch.Add(next, len(tokens)+i, 0, true)
		if err := m.Evaluate(context.Background(), &batch); err != nil {
			b.Fatal(err)
		}
		if next, err = sampler.Sample(output); err != nil {
			b.Fatal(err)
		}
	}
	decode := time.Since(begin)
	if err := m.TrimSequence(0, 0); err != nil {
		b.Fatal(err)
	}
	return speeds{float64(len(tokens)) / prefill.Seconds(), float64(decodeRun-1) / decode.Seconds()}
}
