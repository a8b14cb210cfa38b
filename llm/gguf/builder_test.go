package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// builder makes small GGUF files for tests.
type builder struct {
	version uint32
	values  [][]byte
	tensors []tensorSpec
	counts  *[2]uint64 // tensors and values as claimed; nil for the true ones
	cut     int        // bytes cut off the end
}

// tensorSpec is one tensor; data is 32-byte aligned zeros of its size.
type tensorSpec struct {
	name   string
	kind   uint32
	dims   []uint64
	offset *uint64 // nil for the right one
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			put(b, uint64(len(v)), []byte(v))
		default:
			if err := binary.Write(b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
}

// kindOf returns a Go value's GGUF type.
func kindOf(v any) uint32 {
	switch v.(type) {
	case uint8:
		return 0
	case int8:
		return 1
	case uint16:
		return 2
	case int16:
		return 3
	case uint32:
		return 4
	case int32:
		return 5
	case float32:
		return 6
	case bool:
		return 7
	case string:
		return 8
	case uint64:
		return 10
	case int64:
		return 11
	case float64:
		return 12
	}
	panic(fmt.Sprintf("no GGUF type for %T", v))
}

// kv adds a value, or an array when v is []any.
func (b *builder) kv(key string, v any) *builder {
	var out bytes.Buffer
	put(&out, key)
	if items, ok := v.([]any); ok {
		put(&out, uint32(9), kindOf(items[0]), uint64(len(items)))
		for _, item := range items {
			put(&out, item)
		}
	} else {
		put(&out, kindOf(v), v)
	}
	return b.raw(out.Bytes())
}

// raw adds the bytes of a key-value pair.
func (b *builder) raw(pair []byte) *builder {
	b.values = append(b.values, pair)
	return b
}

// tensor adds a tensor of 32-bit floats.
func (b *builder) tensor(name string, dims ...uint64) *builder {
	b.tensors = append(b.tensors, tensorSpec{name: name, dims: dims})
	return b
}

// bytes returns the file.
func (b *builder) bytes() []byte {
	var out bytes.Buffer
	version := b.version
	if version == 0 {
		version = 3
	}
	counts := [2]uint64{uint64(len(b.tensors)), uint64(len(b.values))}
	if b.counts != nil {
		counts = *b.counts
	}
	put(&out, []byte("GGUF"), version, counts[0], counts[1])
	for _, v := range b.values {
		out.Write(v)
	}
	data := uint64(0)
	for _, t := range b.tensors {
		offset := data
		if t.offset != nil {
			offset = *t.offset
		}
		put(&out, t.name, uint32(len(t.dims)))
		size := uint64(4)
		for _, d := range t.dims {
			put(&out, d)
			size *= d
		}
		put(&out, t.kind, offset)
		data += (size + 31) / 32 * 32
	}
	if data > 1<<20 {
		data = 0 // shapes of bad files
	}
	out.Write(make([]byte, (32-out.Len()%32)%32+int(data)))
	return out.Bytes()[:out.Len()-b.cut]
}

// model returns a small valid model to change.
func model() *builder {
	return (&builder{}).
		kv("general.architecture", "llama").
		kv("general.name", "Tiny").
		kv("general.license", "mit").
		kv("general.file_type", uint32(0)).
		kv("llama.block_count", uint32(2)).
		kv("llama.context_length", uint32(128)).
		kv("llama.embedding_length", uint32(16)).
		kv("llama.feed_forward_length", uint32(32)).
		kv("llama.attention.head_count", uint32(4)).
		kv("llama.attention.head_count_kv", uint32(2)).
		kv("tokenizer.ggml.model", "gpt2").
		kv("tokenizer.ggml.tokens", []any{"<s>", "</s>", "a", "b"}).
		kv("tokenizer.ggml.bos_token_id", uint32(0)).
		kv("tokenizer.ggml.eos_token_id", uint32(1)).
		kv("tokenizer.chat_template", "{{ messages }}").
		tensor("token_embd.weight", 16, 4).
		tensor("blk.0.attn_q.weight", 16, 16).
		tensor("output.weight", 16, 4)
}

// write puts a file into a test's folder and returns its path.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
