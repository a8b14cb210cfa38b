package fakellm

import (
	"fmt"
	"math/rand/v2"

	"pichat/llm"
)

// sampler plays the answer to one prompt.
type sampler struct {
	b        *Backend
	sampling llm.Sampling
	seed     uint32
	reply    []llm.Token // nil until the first Sample
	next     int
	closed   bool
}

// NewSampler implements llm.Backend.
func (b *Backend) NewSampler(s llm.Sampling, recent []llm.Token) (llm.Sampler, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("%w: new sampler: %w", llm.ErrBackend, errClosed)
	}
	for _, t := range recent {
		if !b.known(t) {
			return nil, fmt.Errorf("%w: new sampler: token %d is none of the vocabulary", llm.ErrBackend, t)
		}
	}
	out := &sampler{b: b, sampling: s, seed: rand.Uint32()}
	if s.Seed != nil {
		out.seed = *s.Seed
	}
	b.counters.OpenSamplers++
	return out, nil
}

// Sample implements llm.Sampler. The first call asks the script for the answer
// to what the sequence holds; each gives the next token of it, and then the
// end-of-generation token, or with IgnoreEOG the answer anew.
func (s *sampler) Sample(i int) (llm.Token, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	b := s.b
	if b.closed || s.closed {
		return -1, fmt.Errorf("%w: sample: %w", llm.ErrBackend, errClosed)
	}
	if i < 0 || i >= len(b.outputs) || !b.outputs[i].logits {
		return -1, fmt.Errorf("%w: sample: entry %d of the last batch has no output", llm.ErrBackend, i)
	}
	b.counters.Samples++
	if f := b.config.Faults; f.SampleCall == b.counters.Samples {
		if f.SampleErr != nil {
			return -1, f.SampleErr
		}
		return -1, fmt.Errorf("%w: sample: the script asked call %d to fail", llm.ErrBackend, f.SampleCall)
	}
	if s.reply == nil {
		out := b.outputs[i]
		turn := Turn{
			Prompt:   b.text(b.sequences[out.sequence].tokens[:out.length]),
			Number:   b.replies,
			Sampling: s.sampling,
			Seed:     s.seed,
		}
		b.replies++
		s.reply = b.config.Script(turn).tokens(&b.tokenizer)
	}
	if s.next >= len(s.reply) {
		if !s.sampling.IgnoreEOG || len(s.reply) == 0 {
			return TokenEnd, nil
		}
		s.next = 0
	}
	t := s.reply[s.next]
	s.next++
	return t, nil
}

// Close implements llm.Sampler.
func (s *sampler) Close() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.b.counters.OpenSamplers--
	}
}
