package gguf

import (
	"errors"
	"fmt"
	"math"

	parser "github.com/gpustack/gguf-parser-go"

	"pichat/llm/modelname"
)

// Bounds of what llama.cpp's loader asserts (a file beyond them ends the
// process there), and of what any model has.
const (
	maxLayers  = 512
	maxExperts = 1024
	maxWidth   = 1 << 20 // embedding, heads and their widths
)

// text returns a text value, "" when it is missing.
func (h *header) text(key string) (string, error) {
	i, ok := h.index[key]
	if !ok {
		return "", nil
	}
	s, ok := h.values[i].Value.(string)
	if !ok {
		return "", fmt.Errorf("%s is no text; the file is damaged: download it again", key)
	}
	return s, nil
}

// number returns a whole number from lo to hi, or what stands for a missing
// one.
func (h *header) number(key string, missing, lo, hi int) (int, error) {
	i, ok := h.index[key]
	if !ok {
		return missing, nil
	}
	n, ok := whole(h.values[i].Value)
	if !ok || n < int64(lo) || n > int64(hi) {
		return 0, fmt.Errorf("%s is %v, allowed is %d to %d; the file is damaged: download it again", key, shown(h.values[i].Value), lo, hi)
	}
	return int(n), nil
}

// numbers returns a whole number for each of n layers: an array's, or one for
// all.
func (h *header) numbers(key string, n int, missing []int) ([]int, error) {
	i, ok := h.index[key]
	if !ok {
		return missing, nil
	}
	out := make([]int, n)
	a, isArray := h.values[i].Value.(parser.GGUFMetadataKVArrayValue)
	if isArray && len(a.Array) < n {
		return nil, fmt.Errorf("%s has %d numbers for %d layers; the file is damaged: download it again", key, a.Len, n)
	}
	for l := range out {
		v := h.values[i].Value
		if isArray {
			v = a.Array[l]
		}
		w, ok := whole(v)
		if !ok || w < 0 || w > maxWidth {
			return nil, fmt.Errorf("%s is %v in layer %d, allowed is 0 to %d; the file is damaged: download it again", key, shown(v), l, maxWidth)
		}
		out[l] = int(w)
	}
	return out, nil
}

// whole returns a value of any whole-number type.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case uint8:
		return int64(n), true
	case int8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case int16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(min(n, math.MaxInt64)), true
	}
	return 0, false
}

// shown makes a value short enough for an error.
func shown(v any) string { return shorten(fmt.Sprint(v)) }

// describe reads what the header says of the model.
func (h *header) describe(path string, size int64, arch string, t traits) (*Info, error) {
	info := &Info{
		Path: path, SizeBytes: uint64(size), Architecture: arch,
		Parameters: h.elements, WeightsBytes: h.weights,
		Recurrent: t&(recurrent|hybrid) != 0, TiedEmbeddings: true,
		BOS: h.bos, EOS: h.eos, header: h,
	}
	for i := range h.tensors {
		if h.tensors[i].Name == "output.weight" {
			info.TiedEmbeddings = false
		}
	}
	for key, into := range map[string]*string{
		"general.name": &info.OwnName, "general.license": &info.License, "tokenizer.chat_template": &info.ChatTemplate,
	} {
		var err error
		if *into, err = h.text(key); err != nil {
			return nil, err
		}
	}
	info.Name = modelname.Display(path, info.OwnName)
	for _, n := range []struct {
		key         string
		into        *int
		missing, lo int
		hi          int
	}{
		{arch + ".context_length", &info.ContextTrain, 0, 0, math.MaxInt32},
		{arch + ".embedding_length", &info.EmbeddingLength, 0, 1, maxWidth},
		{arch + ".block_count", &info.Layers, 0, 1, maxLayers},
		{arch + ".expert_count", new(int), 0, 0, maxExperts},
		{arch + ".nextn_predict_layers", new(int), 0, 0, maxLayers},
	} {
		var err error
		if *n.into, err = h.number(n.key, n.missing, n.lo, n.hi); err != nil {
			return nil, err
		}
	}
	if info.Layers == 0 || info.EmbeddingLength == 0 {
		return nil, fmt.Errorf("it does not say how many layers it has, or how wide they are (%s.block_count, %s.embedding_length); the file is damaged: download it again", arch, arch)
	}
	if !h.flag(arch+".attention.causal", true) {
		return nil, errors.New("it is an embedding model (attention.causal is false), which turns text into vectors and cannot write; choose a chat model")
	}
	info.Quantization = h.quantization()
	if err := h.describeVocabulary(info); err != nil {
		return nil, err
	}
	return info, h.describeAttention(info)
}

// flag returns a truth value, or what stands for a missing one.
func (h *header) flag(key string, missing bool) bool {
	if i, ok := h.index[key]; ok {
		if b, ok := h.values[i].Value.(bool); ok {
			return b
		}
	}
	return missing
}

// describeVocabulary sets the size of the vocabulary.
func (h *header) describeVocabulary(info *Info) error {
	size, err := h.number(info.Architecture+".vocab_size", 0, 0, maxArray)
	if err != nil {
		return err
	}
	if tokens := h.array("tokenizer.ggml.tokens"); tokens != nil {
		size = int(tokens.Len)
	}
	if size == 0 {
		return errors.New("it holds no vocabulary (tokenizer.ggml.tokens); get a complete file of this model")
	}
	info.VocabSize = size
	return nil
}

// array returns an array value, nil when there is none.
func (h *header) array(key string) *parser.GGUFMetadataKVArrayValue {
	if i, ok := h.index[key]; ok {
		if a, ok := h.values[i].Value.(parser.GGUFMetadataKVArrayValue); ok {
			return &a
		}
	}
	return nil
}

// describeAttention sets what the KV memory depends on.
func (h *header) describeAttention(info *Info) error {
	arch := info.Architecture + ".attention."
	heads, err := h.numbers(arch+"head_count", info.Layers, make([]int, info.Layers))
	if err != nil {
		return err
	}
	if info.HeadsKV, err = h.numbers(arch+"head_count_kv", info.Layers, heads); err != nil {
		return err
	}
	width := 0
	for _, n := range heads {
		if n > 0 {
			width = info.EmbeddingLength / n
			break
		}
	}
	if info.KeyLength, err = h.number(arch+"key_length", width, 0, maxWidth); err != nil {
		return err
	}
	if info.ValueLength, err = h.number(arch+"value_length", width, 0, maxWidth); err != nil {
		return err
	}
	if window := h.array(arch + "sliding_window"); window == nil {
		if info.SlidingWindow, err = h.number(arch+"sliding_window", 0, 0, math.MaxInt32); err != nil {
			return err
		}
	}
	every, err := h.number(info.Architecture+".full_attention_interval", 0, 0, maxLayers)
	if err != nil {
		return err
	}
	// Hybrids that name an interval keep state, not keys, in between.
	for l := range info.HeadsKV {
		if every > 0 && info.Recurrent && (l+1)%every != 0 {
			info.HeadsKV[l] = 0
		}
	}
	return nil
}

// quantization returns the name of the file's type, or of the type that most
// of its bytes are of.
func (h *header) quantization() string {
	if n, err := h.number("general.file_type", -1, 0, 1<<16); err == nil && n >= 0 {
		if name, ok := fileTypes[n]; ok {
			return name
		}
	}
	bytesOf := map[parser.GGMLType]uint64{}
	most := parser.GGMLTypeF32
	for i := range h.tensors {
		t := h.tensors[i].Type
		bytesOf[t] += h.tensors[i].Bytes()
		if bytesOf[t] > bytesOf[most] {
			most = t
		}
	}
	return most.String()
}

// fileTypes are llama.cpp's names of general.file_type.
var fileTypes = map[int]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
	11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
	19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S",
	27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0",
	38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}
