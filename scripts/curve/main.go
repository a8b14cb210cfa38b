// Command curve measures T(B), the time of a step with B streams, and the
// prefill speed of a model on this machine through the llama.cpp binding, and
// writes them as JSON for the simulator (llm/policy/sim/testdata):
//
//	go run ./scripts/curve models/MODEL.gguf "2 cores of …" out.json
//
// Run it while nothing else does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"pichat/llm"
	"pichat/llm/llamacpp"
	"pichat/llm/policy/sim"
)

const (
	slots   = 8
	history = 256 // tokens that each stream has behind it, about a second turn
	rounds  = 12  // every size is measured in each, so that a disturbance hits all alike
	steps   = 40  // of a size in a round
	prompt  = 512 // tokens of a prefill that runs alone
	chunk   = 48  // prompt tokens beside running streams
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: curve MODEL MACHINE OUT.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "curve:", err)
		os.Exit(1)
	}
}

func run(file, machine, out string) error {
	m, err := llamacpp.Load(context.Background(), llamacpp.Config{Path: file, Slots: slots, Window: 1024})
	if err != nil {
		return err
	}
	defer m.Close()
	b, err := newBench(m)
	if err != nil {
		return err
	}
	result, err := b.measure()
	if err != nil {
		return err
	}
	info := m.Info()
	result.Machine, result.Model = machine, info.Name+" "+info.Quantization
	result.Date = time.Now().UTC().Format(time.DateOnly)
	result.Source = fmt.Sprintf("measured by scripts/curve: the median of %d steps, of the second quietest of %d rounds; %d tokens of context, %d threads, sampling included",
		steps, rounds, history, info.DecodeThreads)
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", text)
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// bench holds one context with a text in each sequence.
type bench struct {
	m        *llamacpp.Model
	tokens   []llm.Token
	samplers [slots]llm.Sampler
	batch    llm.Batch
}

func newBench(m *llamacpp.Model) (*bench, error) {
	text := strings.Repeat("The river rose in the night, and by morning the lower road was gone. ", 100)
	tokens, err := m.Tokenize(llm.Text{Parts: []string{text}})
	if err != nil {
		return nil, err
	}
	b := &bench{m: m, tokens: tokens}
	for i := range b.samplers {
		if b.samplers[i], err = m.NewSampler(llm.DefaultSampling(), nil); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *bench) measure() (sim.Curve, error) {
	took := make([][]float64, slots+1)
	var alone, shared []float64
	for round := range rounds {
		var ds []float64
		for streams := 1; streams <= slots; streams++ {
			if err := b.fill(streams); err != nil {
				return sim.Curve{}, err
			}
			ds = ds[:0]
			for step := range steps + 4 {
				d, err := b.step(streams, history+step, 0)
				if err != nil {
					return sim.Curve{}, err
				}
				if step >= 4 { // the first ones wake the threads
					ds = append(ds, d)
				}
			}
			took[streams] = append(took[streams], median(ds))
		}
		ds = ds[:0]
		for range 4 {
			d, err := b.prefill()
			if err != nil {
				return sim.Curve{}, err
			}
			ds = append(ds, d/prompt)
		}
		alone = append(alone, median(ds))
		if err := b.fill(2); err != nil {
			return sim.Curve{}, err
		}
		ds = ds[:0]
		for i := range 12 {
			d, err := b.step(2, history+i, chunk)
			if err != nil {
				return sim.Curve{}, err
			}
			ds = append(ds, d)
		}
		shared = append(shared, median(ds))
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
	}
	var c sim.Curve
	for streams := 1; streams <= slots; streams++ {
		c.StepSeconds = append(c.StepSeconds, round6(quiet(took[streams])))
	}
	c.PrefillTokensPerSecond = math.Round(10/quiet(alone)) / 10
	c.SharedPrefillTokensPerSecond = math.Round(10*chunk/(quiet(shared)-quiet(took[2]))) / 10
	return c, nil
}

// fill gives the first streams a context, and the others none.
func (b *bench) fill(streams int) error {
	for seq := range slots {
		if err := b.m.TrimSequence(seq, 0); err != nil {
			return err
		}
	}
	for seq := range streams {
		b.batch.Reset()
		b.batch.Prefill = true
		for at := range history {
			b.batch.Add(b.tokens[at+seq], at, seq, false)
		}
		if err := b.m.Evaluate(context.Background(), &b.batch); err != nil {
			return err
		}
	}
	return nil
}

// step evaluates and samples a token of each stream, and a chunk of a prompt
// beside them, and returns the seconds.
func (b *bench) step(streams, position, chunk int) (float64, error) {
	b.batch.Reset()
	start := time.Now()
	for seq := range streams {
		b.batch.Add(b.tokens[position+seq], position, seq, true)
	}
	if chunk > 0 {
		b.batch.Prefill = true
		from := (position - history) * chunk
		for at := from; at < from+chunk; at++ {
			b.batch.Add(b.tokens[at], at, slots-1, false)
		}
	}
	if err := b.m.Evaluate(context.Background(), &b.batch); err != nil {
		return 0, err
	}
	for seq := range streams {
		if _, err := b.samplers[seq].Sample(seq); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds(), nil
}

// prefill evaluates a prompt on an empty sequence and returns the seconds.
func (b *bench) prefill() (float64, error) {
	if err := b.m.TrimSequence(0, 0); err != nil {
		return 0, err
	}
	b.batch.Reset()
	b.batch.Prefill = true
	for at := range prompt {
		b.batch.Add(b.tokens[at], at, 0, at == prompt-1)
	}
	start := time.Now()
	err := b.m.Evaluate(context.Background(), &b.batch)
	return time.Since(start).Seconds(), err
}

// quiet is the second smallest of the rounds' values: others may have used the
// machine meanwhile.
func quiet(rounds []float64) float64 {
	slices.Sort(rounds)
	return rounds[1]
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }
