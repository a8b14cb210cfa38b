package llamacpp

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"pichat/llm"
)

const (
	// recentTokens is how many tokens the repeat penalty looks back.
	recentTokens = 64
	// coldest is the lowest temperature that is sampled. Below it the second
	// likeliest token has no chance that a float32 could hold.
	coldest = 1e-3
	// anySeed is what llama.cpp takes for "pick a seed at random".
	anySeed = math.MaxUint32
)

// sampler picks tokens from the logits of a Model's last batch.
type sampler struct {
	m *Model
	c *C.pc_sampler // nil once closed
}

// NewSampler implements llm.Backend. The chain is llama.cpp's: repeat penalty
// over the last 64 tokens, top-k, top-p, min-p, temperature. A temperature
// below 0.001 is greedy.
func (m *Model) NewSampler(s llm.Sampling, recent []llm.Token) (llm.Sampler, error) {
	config, err := samplerConfig(s)
	if err != nil {
		return nil, fmt.Errorf("%w: new sampler: %w", llm.ErrBackend, err)
	}
	tail := make([]C.int32_t, 0, recentTokens+1)
	for _, t := range recent[max(0, len(recent)-recentTokens):] {
		if t < 0 || int(t) >= m.size {
			return nil, fmt.Errorf("%w: new sampler: token %d is outside the vocabulary of %d", llm.ErrBackend, t, m.size)
		}
		tail = append(tail, C.int32_t(t))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil {
		return nil, fmt.Errorf("%w: new sampler: %w", llm.ErrBackend, errClosed)
	}
	var barred []C.int32_t
	if s.IgnoreEOG {
		barred = m.vocabulary.eog
	}
	var cerr C.pc_error
	out := &sampler{m: m}
	if C.pc_sampler_new(m.vocabulary.model, &config, &tail[:1][0], C.int32_t(len(tail)),
		unsafe.SliceData(barred), C.int32_t(len(barred)), &out.c, &cerr) != C.PC_OK {
		return nil, backendError("new sampler", &cerr)
	}
	return out, nil
}

// samplerConfig checks what C must not see and fills in what is off.
func samplerConfig(s llm.Sampling) (C.pc_sampling, error) {
	for _, f := range []struct {
		name          string
		value, lo, hi float64
	}{
		{"temperature", s.Temperature, 0, 1000},
		{"top-k", float64(s.TopK), 0, 1 << 20},
		{"top-p", s.TopP, 0, 1},
		{"min-p", s.MinP, 0, 1},
		{"repeat penalty", s.RepeatPenalty, 0, 1000},
	} {
		if math.IsNaN(f.value) || f.value < f.lo || f.value > f.hi {
			return C.pc_sampling{}, fmt.Errorf("%s %v is outside %v to %v", f.name, f.value, f.lo, f.hi)
		}
	}
	c := C.pc_sampling{
		temperature: C.float(s.Temperature),
		top_k:       C.int32_t(s.TopK),
		top_p:       C.float(s.TopP),
		min_p:       C.float(s.MinP),
		repeat:      C.float(s.RepeatPenalty),
	}
	if s.Temperature < coldest {
		c.temperature = 0
	}
	if s.TopP == 0 {
		c.top_p = 1
	}
	if s.RepeatPenalty == 0 {
		c.repeat = 1
	}
	seed := rand.Uint32()
	if s.Seed != nil {
		seed = *s.Seed
	}
	if seed == anySeed {
		seed-- // a seed given twice must give the same text twice
	}
	c.seed = C.uint32_t(seed)
	return c, nil
}

// Sample implements llm.Sampler.
func (s *sampler) Sample(i int) (llm.Token, error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.context == nil || s.c == nil {
		return -1, fmt.Errorf("%w: sample: %w", llm.ErrBackend, errClosed)
	}
	if i < 0 || i >= len(m.outputs) || !m.outputs[i] {
		return -1, fmt.Errorf("%w: sample: entry %d of the last batch has no output", llm.ErrBackend, i)
	}
	var token C.int32_t
	if C.pc_sample(s.c, m.context, C.int32_t(i), &token, &m.cerr) != C.PC_OK {
		return -1, backendError("sample", &m.cerr)
	}
	return llm.Token(token), nil
}

// Close implements llm.Sampler. It may be called after the Model's Close, and
// twice.
func (s *sampler) Close() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.c != nil {
		C.pc_sampler_free(s.c)
		s.c = nil
	}
}
