package gguf

import (
	"math"

	parser "github.com/gpustack/gguf-parser-go"
)

// Memory is what a model will take, in bytes.
type Memory struct {
	// Weights of the tensors, mapped from the file or repacked. A shared
	// output layer counts once.
	Weights uint64
	// KV memory of keys and values in 16 bits.
	KV uint64
	// Compute is an estimate of the work buffers, on the generous side; 0
	// when it cannot be told.
	Compute uint64
}

// Total is the sum.
func (m Memory) Total() uint64 { return m.Weights + m.KV + m.Compute }

// KVBytes returns the bytes of KV memory for so many tokens over all slots:
// keys and values in 16 bits, every layer at full length. Models that compress
// or share their keys, or keep a sliding window only, take less; the state of
// recurrent layers, which does not grow with the tokens, is not counted.
func (i *Info) KVBytes(contextTotal int) uint64 {
	perToken := uint64(0)
	for _, heads := range i.HeadsKV {
		perToken += uint64(heads) * uint64(i.KeyLength+i.ValueLength) * 2
	}
	return perToken * uint64(max(contextTotal, 0))
}

const (
	// batchTokens is how many tokens the engine takes in one run of the graph.
	batchTokens = 512
	// cellBlock is what llama.cpp rounds numbers of KV cells up to.
	cellBlock = 256
)

// MemoryEstimate returns what the model takes with so many slots of so many
// tokens each, as the engine runs it: one KV memory for all slots, layers of a
// sliding window kept as far as it reaches, logits of one token per slot. It
// may be called from any goroutine.
func (i *Info) MemoryEstimate(slots, window int) Memory {
	slots = min(max(slots, 1), math.MaxInt16)
	cells := min(int64(slots)*int64(max(window, 1)), math.MaxInt32-cellBlock)
	cells = (cells + cellBlock - 1) / cellBlock * cellBlock
	m := Memory{Weights: i.WeightsBytes, KV: i.KVBytes(int(cells))}
	e, ok := i.estimate(slots, int32(cells))
	if !ok {
		return m
	}
	m.KV = min(m.KV, i.slidingKV(e, slots, cells))
	c := e.Computation
	// The library reserves logits for a whole batch; the engine for its slots,
	// once in the graph and once as output.
	logits := uint64(slots) * uint64(i.VocabSize+i.EmbeddingLength) * 4 * 2
	m.Compute = uint64(c.Footprint+c.Input+c.Compute) + logits
	return m
}

// slidingKV returns the KV memory with layers of a sliding window cut down to
// what it reaches for every slot, and a batch.
func (i *Info) slidingKV(e parser.LLaMACppRunDeviceUsage, slots int, cells int64) uint64 {
	if e.HandleSWALayers == 0 || e.HandleSWALayers > uint64(i.Layers) {
		return math.MaxUint64
	}
	if !i.uniformHeads() || i.header.has(i.Architecture+".attention.key_length_swa") {
		return uint64(e.KVCache.Key + e.KVCache.Value)
	}
	kept := int64(i.SlidingWindow)*int64(slots) + batchTokens
	kept = min(cells, (kept+cellBlock-1)/cellBlock*cellBlock)
	perLayer := i.KVBytes(1) / uint64(i.Layers)
	return perLayer * ((uint64(i.Layers)-e.HandleSWALayers)*uint64(cells) + e.HandleSWALayers*uint64(kept))
}

// uniformHeads reports whether all layers keep keys of the same size.
func (i *Info) uniformHeads() bool {
	for _, n := range i.HeadsKV {
		if n != i.HeadsKV[0] {
			return false
		}
	}
	return true
}

func (h *header) has(key string) bool {
	_, ok := h.index[key]
	return ok
}

// estimate asks the library what a run on the CPU takes. It gets what our own
// walk found, never the file: its parser recurses into arrays of arrays, reads
// a large vocabulary for seconds, and follows what the file claims. What it
// makes of odd values may still be a panic.
func (i *Info) estimate(slots int, cells int32) (e parser.LLaMACppRunDeviceUsage, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if i.header == nil {
		return e, false
	}
	file := parser.GGUFFile{
		Header:      parser.GGUFHeader{MetadataKV: i.header.values},
		TensorInfos: i.header.tensors,
	}
	run := file.EstimateLLaMACppRun(
		parser.WithLLaMACppContextSize(cells),
		parser.WithLLaMACppPhysicalBatchSize(batchTokens),
		parser.WithParallelSize(int32(slots)),
		parser.WithLLaMACppOffloadLayers(0),
		parser.WithFlashAttention(),
	)
	return run.Devices[0], true
}
