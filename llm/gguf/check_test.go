package gguf

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestCheckReadsATinyModel(t *testing.T) {
	path := write(t, "tiny.gguf", model().bytes())
	info, err := Check(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		Path: path, SizeBytes: uint64(len(model().bytes())), Name: "Tiny", Architecture: "llama", Parameters: 64 + 256 + 64,
		Quantization: "F32", License: "mit", ContextTrain: 128, VocabSize: 4, EmbeddingLength: 16, Layers: 2,
		HeadsKV: []int{2, 2}, KeyLength: 4, ValueLength: 4, ChatTemplate: "{{ messages }}", BOS: "<s>", EOS: "</s>",
		WeightsBytes: 4 * (64 + 256 + 64),
	}
	got := *info
	got.header = nil
	if !slices.Equal(got.HeadsKV, want.HeadsKV) {
		t.Errorf("HeadsKV %v, want %v", got.HeadsKV, want.HeadsKV)
	}
	got.HeadsKV, want.HeadsKV = nil, nil
	if !sameInfo(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !info.HasTemplate() {
		t.Error("the template is not seen")
	}
	if got, want := info.KVBytes(100), uint64(100*2*2*(4+4)*2); got != want {
		t.Errorf("KVBytes %d, want %d", got, want)
	}
}

// sameInfo compares what has no slices.
func sameInfo(a, b Info) bool {
	a.HeadsKV, b.HeadsKV, a.header, b.header = nil, nil, nil, nil
	return a.Path == b.Path && a.SizeBytes == b.SizeBytes && a.Name == b.Name && a.Architecture == b.Architecture &&
		a.Parameters == b.Parameters && a.Quantization == b.Quantization && a.License == b.License &&
		a.ContextTrain == b.ContextTrain && a.VocabSize == b.VocabSize && a.EmbeddingLength == b.EmbeddingLength &&
		a.Layers == b.Layers && a.KeyLength == b.KeyLength && a.ValueLength == b.ValueLength &&
		a.SlidingWindow == b.SlidingWindow && a.TiedEmbeddings == b.TiedEmbeddings && a.Recurrent == b.Recurrent &&
		a.ChatTemplate == b.ChatTemplate && a.BOS == b.BOS && a.EOS == b.EOS && a.WeightsBytes == b.WeightsBytes
}

func TestTheRealModels(t *testing.T) {
	for name, want := range map[string]struct {
		info    Info
		heads   int
		kv      uint64 // of 8192 tokens, by hand: layers x heads x (key + value) x 2 bytes
		sliding uint64 // the same as 4 slots of 2048, by llama.cpp's own log
		compute uint64 // the same, by llama.cpp's own log
	}{
		"SmolLM2-135M-Instruct.Q4_1.gguf": {Info{SizeBytes: 98362432, Architecture: "llama", Parameters: 134515008, Quantization: "Q4_1",
			License: "apache-2.0", ContextTrain: 8192, VocabSize: 49152, EmbeddingLength: 576, Layers: 30, KeyLength: 64, ValueLength: 64,
			TiedEmbeddings: true, BOS: "<|im_start|>", EOS: "<|im_end|>", WeightsBytes: 96576768}, 3, 8192 * 30 * 3 * 128 * 2, 180 << 20, 22 << 20},
		"gemma-3-270m-q4_k_m.gguf": {Info{SizeBytes: 253113024, Architecture: "gemma3", Parameters: 268098176, Quantization: "Q4_K_M",
			License: "gemma", ContextTrain: 32768, VocabSize: 262144, EmbeddingLength: 640, Layers: 18, KeyLength: 256, ValueLength: 256,
			SlidingWindow: 512, TiedEmbeddings: true, BOS: "<bos>", EOS: "<eos>", WeightsBytes: 246587904}, 1, 8192 * 18 * 512 * 2, 24<<20 + 75<<19, 29 << 20},
	} {
		path := filepath.Join(root, "models", name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v: run make test, which fetches the models", err)
		}
		started := time.Now()
		info, err := Check(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(started); d > 50*time.Millisecond {
			t.Logf("%s: checked in %v", name, d) // a busy machine; BenchmarkCheck measures
		}
		want.info.Path, want.info.Name, want.info.ChatTemplate = path, info.Name, info.ChatTemplate
		if !sameInfo(*info, want.info) || info.Name == "" {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *info, want.info)
		}
		if info.HasTemplate() != strings.HasPrefix(name, "SmolLM2") {
			t.Errorf("%s: HasTemplate %v", name, info.HasTemplate())
		}
		if len(info.HeadsKV) != info.Layers || info.HeadsKV[0] != want.heads {
			t.Errorf("%s: HeadsKV %v", name, info.HeadsKV)
		}
		if got := info.KVBytes(8192); got != want.kv {
			t.Errorf("%s: KVBytes %d, want %d", name, got, want.kv)
		}
		m := info.MemoryEstimate(4, 2048)
		if m.Weights != info.WeightsBytes || m.KV != want.sliding || m.Compute < want.compute || m.Compute > 2*want.compute {
			t.Errorf("%s: %+v, want KV %d, compute from %d to twice that", name, m, want.sliding, want.compute)
		}
		if m.Total() != m.Weights+m.KV+m.Compute {
			t.Errorf("%s: total %d", name, m.Total())
		}
	}
}

var odd = uint64(64)

// badFiles is case B5 and its kind: what is in the file, and what is said of it.
var badFiles = map[string]struct {
	content []byte
	says    string
}{
	"empty":              {nil, "it is empty (0 bytes); download the file again"},
	"web page":           {[]byte("\n<!DOCTYPE html><title>404</title>"), "it is a web page"},
	"web page, bare":     {[]byte("<HTML><body>login"), "it is a web page"},
	"server's error":     {[]byte(`{"error":"Invalid credentials"}`), "it is JSON text"},
	"Git LFS pointer":    {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"), "it is a Git LFS pointer"},
	"old format":         {[]byte("tjgg\x03\x00\x00\x00"), "old GGJT format"},
	"archive":            {[]byte("PK\x03\x04...."), "it is a ZIP archive"},
	"safetensors":        {[]byte("\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":1}"), "it is a safetensors file"},
	"text":               {[]byte("hello, world"), `it begins with "hell" where a GGUF file has "GGUF"`},
	"three bytes":        {[]byte("GGU"), `it begins with "GGU"`},
	"the magic alone":    {[]byte("GGUF"), "the file ends in its header: the version at byte 4 needs 4 bytes, 0 are left"},
	"big-endian":         {append([]byte("GGUF"), 0, 0, 0, 3, 0, 0, 0, 0), "it is big-endian"},
	"version 0":          {append([]byte("GGUF"), make([]byte, 20)...), "GGUF version 0 is not supported"},
	"version 1":          {(&builder{version: 1}).bytes(), "GGUF version 1 is not supported, 2 and 3 are"},
	"version 99":         {(&builder{version: 99}).bytes(), "GGUF version 99 is not supported"},
	"too many tensors":   {(&builder{counts: &[2]uint64{1 << 40, 0}}).bytes(), "it claims 1099511627776 tensors"},
	"negative tensors":   {(&builder{counts: &[2]uint64{1 << 63, 0}}).bytes(), "it claims 9223372036854775808 tensors"},
	"too many values":    {(&builder{counts: &[2]uint64{0, 1 << 50}}).bytes(), "it claims 1125899906842624 metadata entries"},
	"cut in the header":  {model().bytes()[:600], "the file ends in its header"},
	"cut very early":     {model().bytes()[:200], "it claims 15 metadata entries, at most 12 are possible in its 200 bytes; the file is damaged or cut short"},
	"cut in the data":    {(&builder{values: model().values, tensors: model().tensors, cut: 200}).bytes(), "it is cut short: "},
	"nothing in it":      {(&builder{}).bytes(), "it names no architecture"},
	"a key twice":        {model().kv("general.name", "again").bytes(), `key "general.name" comes twice`},
	"an empty key":       {model().kv("", "x").bytes(), "its key is empty"},
	"unknown value type": {model().raw([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x63\x00\x00\x00")).bytes(), `value "k" is of type 99`},
	"text out of bounds": {model().raw([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x08\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f")).bytes(), "needs 9223372036854775807 bytes"},
	"key out of bounds":  {model().raw([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")).bytes(), "a key at byte"},
	"array of arrays":    {model().raw([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x09\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00")).bytes(), "array of arrays"},
	"endless array":      {model().raw([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x09\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")).bytes(), "has 18446744073709551615 items"},
	"long array of text": {model().raw([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x09\x00\x00\x00\x08\x00\x00\x00\x00\x00\xff\x00\x00\x00\x00\x00")).bytes(), "the file ends in its header"},
	"odd alignment":      {model().kv("general.alignment", uint32(12)).bytes(), "general.alignment is 12"},
	"no alignment":       {model().kv("general.alignment", uint32(0)).bytes(), "general.alignment is 0"},
	"alignment as text":  {model().kv("general.alignment", "32").bytes(), "general.alignment is 32, it must be"},
	"a tensor twice":     {model().tensor("output.weight", 1).bytes(), `"output.weight" comes twice`},
	"a tensor's name":    {model().tensor(strings.Repeat("n", 64), 1).bytes(), "a tensor's name at byte"},
	"five dimensions":    {model().tensor("t", 1, 1, 1, 1, 1).bytes(), "has 5 dimensions"},
	"no dimensions":      {model().tensor("t").bytes(), "has 0 dimensions"},
	"elements overflow":  {model().tensor("t", 1<<40, 1<<40).bytes(), "more elements than can be counted"},
	"bytes overflow":     {model().tensor("t", 1<<61).bytes(), "more bytes than can be counted"},
	"sums overflow":      {model().tensor("t", 1<<60).tensor("u", 1<<60).tensor("v", 1<<60).tensor("w", 1<<60).tensor("x", 1<<60).bytes(), "more bytes than can be counted"},
	"data is missing":    {model().tensor("t", 1<<50).bytes(), "it is cut short"},
	"offset of another":  {with(tensorSpec{name: "t", dims: []uint64{1}, offset: &odd}), `"t" lies at offset 64 of the data, it must lie at`},
	"unknown type":       {with(tensorSpec{name: "t", dims: []uint64{32}, kind: 99}), `"t" is of type 99, which this llama.cpp does not read`},
	"a type of the past": {with(tensorSpec{name: "t", dims: []uint64{32}, kind: 31}), `"t" is of type 31`},
	"rows of no blocks":  {with(tensorSpec{name: "t", dims: []uint64{33}, kind: 2}), "rows of 33 elements, which is no multiple of its blocks of 32"},
	"architecture":       {arch("nosuch"), `llama.cpp 0.5.0 does not know the architecture "nosuch"`},
	"architecture, long": {arch(strings.Repeat("é", 5000)), "…"},
	"embedding":          {arch("nomic-bert"), "it is an embedding model"},
	"encoder":            {arch("t5encoder"), "it is an embedding model"},
	"diffusion":          {arch("dream"), "it is a diffusion model"},
	"eyes":               {arch("clip"), "vision or audio part"},
	"adapter":            {(&builder{}).kv("general.type", "adapter").kv("general.architecture", "llama").bytes(), "it is a LoRA adapter"},
	"mmproj":             {(&builder{}).kv("general.type", "mmproj").bytes(), "vision or audio part"},
	"imatrix":            {(&builder{}).kv("general.type", "imatrix").bytes(), `it holds "imatrix", not a model`},
	"vocabulary only":    {(&builder{values: model().values}).bytes(), "a vocabulary but no weights (0 tensors)"},
	"not causal":         {model().kv("llama.attention.causal", false).bytes(), "it is an embedding model (attention.causal is false)"},
	"type as a number":   {(&builder{}).kv("general.type", uint32(1)).bytes(), "general.type is no text"},
	"600 layers":         {replaced("llama.block_count", uint32(600)), "llama.block_count is 600, allowed is 1 to 512"},
	"layers as text":     {replaced("llama.block_count", "two"), "llama.block_count is two"},
	"no layers":          {replaced("llama.block_count", nil), "it does not say how many layers it has"},
	"too few heads":      {replaced("llama.attention.head_count_kv", []any{uint32(1)}), "has 1 numbers for 2 layers"},
	"absurd heads":       {replaced("llama.attention.head_count_kv", uint32(1<<30)), "head_count_kv is 1073741824"},
	"no vocabulary":      {replaced("tokenizer.ggml.tokens", nil), "it holds no vocabulary"},
	"far split":          {model().kv("split.count", uint16(60000)).bytes(), "split.count is 60000, allowed is 0 to 1000"},
}

func TestBadFiles(t *testing.T) {
	for name, c := range badFiles {
		t.Run(name, func(t *testing.T) {
			path := write(t, "model.gguf", c.content)
			_, err := Check(path)
			if !errors.Is(err, ErrModelInvalid) {
				t.Fatalf("got %v, want ErrModelInvalid", err)
			}
			text := err.Error()
			if !strings.Contains(text, c.says) || !strings.Contains(text, path) || strings.Contains(text, "\n") || len(text) > 500+len(path) {
				t.Errorf("got %q, want one line with the path and %q", text, c.says)
			}
		})
	}
}

// with returns the tiny model with one more tensor.
func with(spec tensorSpec) []byte {
	b := model()
	b.tensors = append(b.tensors, spec)
	return b.bytes()
}

// arch returns a model of an architecture.
func arch(name string) []byte { return replaced("general.architecture", name) }

// replaced returns the tiny model with another value of a key; nil leaves it out.
func replaced(key string, v any) []byte {
	b := model()
	for i := range b.values {
		if bytes.HasPrefix(b.values[i][8:], []byte(key)) && b.values[i][0] == byte(len(key)) {
			b.values = slices.Delete(b.values, i, i+1)
			break
		}
	}
	if v != nil {
		b.kv(key, v)
	}
	return b.bytes()
}

func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		filepath.Join(dir, "none.gguf"): "there is no such file",
		dir:                             "it is a folder",
		fifo:                            "it is no regular file",
		"":                              "there is no such file",
	} {
		if _, err := Check(path); !errors.Is(err, ErrModelInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", path, err, says)
		}
	}
	if _, err := Check(filepath.Join(dir, "none.gguf")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestSplitModels(t *testing.T) {
	first := model().kv("split.count", uint16(2)).kv("split.no", uint16(0)).kv("split.tensors.count", int32(4))
	second := (&builder{}).kv("split.count", uint16(2)).kv("split.no", uint16(1)).tensor("blk.1.attn_q.weight", 16, 16)
	write := func(files map[string]*builder) string {
		dir := t.TempDir()
		for name, b := range files {
			if err := os.WriteFile(filepath.Join(dir, name), b.bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	const one, two = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
	whole := write(map[string]*builder{one: first, two: second})
	info, err := Check(filepath.Join(whole, one))
	if err != nil {
		t.Fatal(err)
	}
	if info.Parameters != 64+256+64+256 || info.SizeBytes != uint64(len(first.bytes())+len(second.bytes())) {
		t.Errorf("%+v", info)
	}
	short := *second
	short.cut = 100
	for name, c := range map[string]struct{ path, says string }{
		"second part":  {filepath.Join(whole, two), "it is part 2 of 2; name the first part, " + one},
		"missing part": {filepath.Join(write(map[string]*builder{one: first}), one), "part 2 of 2, " + two + ": there is no such file"},
		"short part":   {filepath.Join(write(map[string]*builder{one: first, two: &short}), one), "part 2 of 2, " + two + ": it is cut short"},
		"renamed":      {filepath.Join(write(map[string]*builder{"big.gguf": first}), "big.gguf"), "but is not named so (…-00001-of-00002.gguf)"},
		"parts mixed":  {filepath.Join(write(map[string]*builder{one: first, two: second.tensor("x", 1)}), one), "hold 5 tensors where the first part says 4"},
	} {
		if _, err := Check(c.path); !errors.Is(err, ErrModelInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

func TestOtherShapesOfModels(t *testing.T) {
	for name, c := range map[string]struct {
		b     []byte
		check func(*Info) bool
	}{
		"heads by layer":        {replaced("llama.attention.head_count_kv", []any{uint32(1), uint32(0)}), func(i *Info) bool { return i.KVBytes(1) == 1*8*2 }},
		"heads not named":       {replaced("llama.attention.head_count_kv", nil), func(i *Info) bool { return slices.Equal(i.HeadsKV, []int{4, 4}) }},
		"named widths":          {model().kv("llama.attention.key_length", uint32(10)).kv("llama.attention.value_length", uint32(6)).bytes(), func(i *Info) bool { return i.KVBytes(1) == 2*2*16*2 }},
		"version 2":             {(&builder{version: 2, values: model().values, tensors: model().tensors}).bytes(), func(i *Info) bool { return i.Name == "Tiny" }},
		"without a name":        {replaced("general.name", nil), func(i *Info) bool { return i.Name == "model" }},
		"without a template":    {replaced("tokenizer.chat_template", nil), func(i *Info) bool { return !i.HasTemplate() }},
		"file type not known":   {replaced("general.file_type", uint32(77)), func(i *Info) bool { return i.Quantization == "F32" }},
		"one token for both":    {replaced("tokenizer.ggml.eos_token_id", uint32(0)), func(i *Info) bool { return i.BOS == "<s>" && i.EOS == "<s>" }},
		"a token beyond":        {replaced("tokenizer.ggml.bos_token_id", uint32(0xFFFFFFFF)), func(i *Info) bool { return i.BOS == "" && i.EOS == "</s>" }},
		"estimate from nothing": {model().kv("llama.attention.sliding_window", uint32(4)).bytes(), func(i *Info) bool { return i.MemoryEstimate(0, 0).KV > 0 }},
	} {
		info, err := Check(write(t, "model.gguf", c.b))
		if err != nil || !c.check(info) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// TestHostileHeadersTakeLittleMemory: what a header claims is not what is
// allocated.
func TestHostileHeadersTakeLittleMemory(t *testing.T) {
	big := bytes.Repeat([]byte{0xff}, 8<<20)
	claims := []*builder{
		model().raw(append([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x08\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00"), big...)),
		model().raw(append([]byte("\x01\x00\x00\x00\x00\x00\x00\x00k\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00"), big...)),
		{counts: &[2]uint64{maxTensors, maxMetadata}, values: [][]byte{big}},
	}
	for i, b := range claims {
		path := write(t, "hostile.gguf", b.bytes())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Check(path)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("claim %d: %d bytes allocated (%v)", i, used, err)
		}
	}
}

func TestCheckIsSafeForManyGoroutines(t *testing.T) {
	path := write(t, "tiny.gguf", model().bytes())
	shared, err := Check(path)
	if err != nil {
		t.Fatal(err)
	}
	want := shared.MemoryEstimate(2, 64)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := Check(path); err != nil || shared.MemoryEstimate(2, 64) != want {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// FuzzCheck: no content makes read panic, and what it accepts can be
// estimated. Time and memory are bounded by the fuzzer's own limits.
func FuzzCheck(f *testing.F) {
	f.Add(model().bytes())
	f.Add(model().bytes()[:150])
	f.Add(model().kv("llama.attention.sliding_window", uint32(4)).kv("llama.attention.sliding_window_pattern", []any{true, false}).bytes())
	f.Add(replaced("general.architecture", "gemma3"))
	f.Add((&builder{}).kv("split.count", uint16(2)).bytes())
	f.Add([]byte("GGUF"))
	f.Add([]byte("<!doctype html>"))
	f.Fuzz(func(t *testing.T, content []byte) {
		size := int64(len(content))
		h, err := read(bytes.NewReader(content), size)
		if err != nil {
			return
		}
		if h.checkKind() != nil {
			return
		}
		name, err := h.text("general.architecture")
		if err != nil {
			return
		}
		traits, err := checkArchitecture(name)
		if err != nil {
			return
		}
		info, err := h.describe("fuzz.gguf", size, name, traits)
		if err != nil {
			return
		}
		if info.Layers < 1 || info.Layers > maxLayers || len(info.HeadsKV) != info.Layers || info.VocabSize < 1 {
			t.Errorf("accepted %+v", info)
		}
		info.MemoryEstimate(2, 1024)
	})
}

func BenchmarkCheck(b *testing.B) {
	path := filepath.Join(root, "models", "gemma-3-270m-q4_k_m.gguf")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(path); err != nil {
			b.Fatal(err)
		}
	}
}
