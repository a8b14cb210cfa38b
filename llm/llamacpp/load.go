package llamacpp

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"pichat/llm"
)

// Model is a loaded model and its context. It implements [llm.Backend].
//
// Tokenize, AppendPiece, IsEOG, Info, Meta, Specials and Ticks may be called
// from any goroutine at any time. The rest belongs to one goroutine; a call
// from a second one waits for the first.
type Model struct {
	*vocabulary
	info   llm.ModelInfo
	meta   Meta
	logger *slog.Logger

	control *control // shared with C

	mu      sync.Mutex    // guards what follows and every use of context
	context *C.pc_context // nil once closed
	last    []int32       // [slots] last position kept, -1 when empty
	outputs []bool        // [n] which entries of the last batch have logits
	slot    [maxSlots]int32 // scratch of one call
	cerr    C.pc_error      // the text of the last failure in C
}

var _ llm.Backend = (*Model)(nil)

// Meta is what a model file says about its chat format.
type Meta struct {
	Description  string // in llama.cpp's words, e.g. "llama 135M Q4_1"
	ChatTemplate string // a Jinja template; "" when the file has none
	BOS, EOS     string // spellings of the tokens; "" when there are none
	AddBOS       bool   // Tokenize puts a BOS at the start
}

// Meta returns what the model file says about its chat format.
func (m *Model) Meta() Meta { return m.meta }

// Info implements llm.Backend.
func (m *Model) Info() llm.ModelInfo { return m.info }

// Load reads a model and makes its context. It takes seconds to minutes; when
// ctx ends it gives up and returns ctx's error. The file is mapped, not read,
// as far as its weights can be used as they are. The error says what is wrong
// with every field of the Config at once, or why llama.cpp refuses the file.
func Load(ctx context.Context, config Config) (*Model, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("load model: %w", err)
	}
	m, err := load(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", config.Path, err)
	}
	return m, nil
}

func load(ctx context.Context, config Config) (_ *Model, err error) {
	l := loader{config: config, control: newControl()}
	defer func() {
		l.drain()
		if err != nil {
			err = l.explain(err)
			l.release()
		}
	}()
	if l.model, err = loadFile(ctx, config.Path, false, l.control, config.Progress); err != nil {
		return nil, err
	}
	if err = l.describe(); err != nil {
		return nil, err
	}
	if l.vocabulary, err = readVocabulary(l.model); err != nil {
		return nil, err
	}
	if l.vocabulary.forEmbeddings() {
		return nil, errors.New("the model's vocabulary is of a kind that is made for embeddings: it cannot write text")
	}
	if err = l.makeContext(); err != nil {
		return nil, err
	}
	return l.finish(), nil
}

// loader holds what a Model is made of while it is being made.
type loader struct {
	config     Config
	control    *control
	model      *C.pc_model
	raw        C.pc_model_info
	vocabulary *vocabulary
	context    *C.pc_context
	failures   []string // lines of level error in llama.cpp's log
	kvBytes    uint64
}

// loadFile calls C to read a model, or only its vocabulary, while a goroutine
// reports progress and passes on the end of ctx.
func loadFile(ctx context.Context, path string, vocabOnly bool, c *control, progress func(float64)) (*C.pc_model, error) {
	if err := startEngine(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cPath := C.CString(path)
	defer C.free(unsafe.Pointer(cPath))
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		c.watchLoad(ctx, done, progress)
	}()
	var (
		model *C.pc_model
		cerr  C.pc_error
		only  C.int
	)
	if vocabOnly {
		only = 1
	}
	code := C.pc_model_load(cPath, only, c.c, &model, &cerr)
	close(done)
	<-watched
	switch {
	case code == C.PC_CANCELLED:
		return nil, context.Cause(ctx)
	case code != C.PC_OK:
		return nil, backendError("read the file", &cerr)
	}
	if progress != nil {
		progress(1)
	}
	return model, nil
}

// describe reads what the model says about itself and refuses what cannot
// write text.
func (l *loader) describe() error {
	var cerr C.pc_error
	if C.pc_model_describe(l.model, &l.raw, &cerr) != C.PC_OK {
		return backendError("describe the model", &cerr)
	}
	arch := metaString(l.model, "general.architecture")
	switch {
	case l.raw.has_encoder != 0:
		return fmt.Errorf("a model of architecture %q has an encoder: only models that just decode can be served", arch)
	case l.raw.has_decoder == 0:
		return fmt.Errorf("a model of architecture %q has no decoder: it is made for embeddings and cannot write text", arch)
	case l.raw.is_diffusion != 0:
		return fmt.Errorf("a model of architecture %q writes by diffusion, which is not supported", arch)
	}
	if train := int(l.raw.train_window); train > 0 && l.config.Window > train {
		l.config.Logger.Warn("the context window is larger than the model was trained for: answers may get worse past that",
			"window", l.config.Window, "train_window", train)
	}
	return nil
}

func (l *loader) makeContext() error {
	params := C.pc_context_params{
		slots:           C.int32_t(l.config.Slots),
		window:          C.int32_t(l.config.Window),
		batch_tokens:    C.int32_t(l.config.BatchTokens),
		decode_threads:  C.int32_t(l.config.DecodeThreads),
		prefill_threads: C.int32_t(l.config.PrefillThreads),
	}
	var cerr C.pc_error
	if C.pc_context_new(l.model, &params, l.control.c, &l.context, &cerr) != C.PC_OK {
		return backendError(fmt.Sprintf("make a context of %d slots x %d tokens", l.config.Slots, l.config.Window), &cerr)
	}
	return nil
}

// finish hands everything over to a Model.
func (l *loader) finish() *Model {
	l.drain()
	m := &Model{
		vocabulary: l.vocabulary,
		logger:     l.config.Logger,
		control:    l.control,
		context:    l.context,
		last:       make([]int32, l.config.Slots),
		outputs:    make([]bool, 0, l.config.BatchTokens),
		info:       l.info(),
	}
	// The control memory stays until nothing can refer to it any more: Ticks
	// and Close may be called on a closed model.
	runtime.AddCleanup(m, func(c *control) { c.free() }, l.control)
	for i := range m.last {
		m.last[i] = -1
	}
	m.meta = Meta{
		Description: C.GoString(&l.raw.description[0]),
		BOS:         m.text(m.bos),
		EOS:         m.text(m.eos),
		AddBOS:      m.addBOS && m.bos >= 0,
	}
	if t := C.pc_model_template(l.model); t != nil {
		m.meta.ChatTemplate = C.GoString(t)
	}
	return m
}

func (l *loader) info() llm.ModelInfo {
	info := llm.ModelInfo{
		Name:           modelName(l.config.Path, metaString(l.model, "general.name")),
		File:           filepath.Base(l.config.Path),
		Architecture:   metaString(l.model, "general.architecture"),
		Quantization:   quantization(C.GoString(&l.raw.ftype[0])),
		Parameters:     uint64(l.raw.parameters),
		KVBytes:        l.kvBytes,
		VocabSize:      l.vocabulary.size,
		TrainWindow:    int(l.raw.train_window),
		Window:         l.config.Window,
		Slots:          l.config.Slots,
		BatchTokens:    l.config.BatchTokens,
		SlidingWindow:  int(l.raw.sliding_window),
		Recurrent:      l.raw.is_recurrent != 0 || l.raw.is_hybrid != 0,
		DecodeThreads:  l.config.DecodeThreads,
		PrefillThreads: l.config.PrefillThreads,
	}
	if st, err := os.Stat(l.config.Path); err == nil {
		info.FileBytes = uint64(st.Size())
	}
	return info
}

var (
	sizeLabel   = regexp.MustCompile(`(?i)[0-9](\.[0-9]+)?[mb]\b`)
	quantSuffix = regexp.MustCompile(`(?i)[-._](q[0-9]|iq[0-9]|tq[0-9]|f16|f32|bf16|mxfp4|ud-).*$`)
)

// modelName returns what people call a model. Names inside of files are often
// those of a training run ("Smollm2 135M 8k Lc100K Mix1 Ep2"), so a file name
// that tells the model's size is preferred ("SmolLM2 135M Instruct").
func modelName(path, name string) string {
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	stem = quantSuffix.ReplaceAllString(stem, "")
	if name == "" || sizeLabel.MatchString(stem) {
		return strings.Join(strings.FieldsFunc(stem, func(r rune) bool { return r == '-' || r == '_' }), " ")
	}
	return name
}

// quantization turns llama.cpp's "Q4_K - Medium" into the usual "Q4_K_M".
func quantization(ftype string) string {
	ftype = strings.TrimPrefix(ftype, "(guessed) ")
	name, rest, found := strings.Cut(ftype, " - ")
	if !found {
		return name
	}
	switch rest {
	case "Small":
		return name + "_S"
	case "Medium":
		return name + "_M"
	case "Large":
		return name + "_L"
	}
	return name // "IQ2_XS - 2.3125 bpw"
}

// metaString reads a metadata value as text; "" when there is none.
func metaString(model *C.pc_model, key string) string {
	cKey := C.CString(key)
	defer C.free(unsafe.Pointer(cKey))
	buf := make([]byte, 512)
	n := int(C.pc_model_meta(model, cKey, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf))))
	if n < 0 {
		return ""
	}
	return strings.ToValidUTF8(string(buf[:min(n, len(buf)-1)]), "")
}

// drain moves llama.cpp's log on and notes what is of use here.
func (l *loader) drain() {
	l.failures = append(l.failures, drainLog(l.config.Logger, func(line string) {
		l.kvBytes += kvBytes(line)
	})...)
}

// kvBytes reads the size of KV memory from a line of llama.cpp's log, since no
// function tells it; 0 for any other line. Models with a sliding window or a
// recurrent part have several such lines.
func kvBytes(line string) uint64 {
	for _, prefix := range []string{"llama_kv_cache: size = ", "llama_memory_recurrent: size = "} {
		rest, found := strings.CutPrefix(line, prefix)
		if !found {
			continue
		}
		var mib float64
		if _, err := fmt.Sscanf(rest, "%f MiB", &mib); err == nil && mib > 0 {
			return uint64(mib * (1 << 20))
		}
	}
	return 0
}

// explain adds what llama.cpp logged to an error.
func (l *loader) explain(err error) error {
	if len(l.failures) == 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (llama.cpp: %s)", err, strings.Join(l.failures, "; "))
}

func (l *loader) release() {
	if l.context != nil {
		C.pc_context_free(l.context)
	}
	if l.model != nil {
		C.pc_model_free(l.model)
	}
	l.control.free()
}

// control is the memory that Go and llama.cpp's threads share. It lies in C's
// heap because those threads read it after the call that gave it to them.
type control struct {
	c *C.pc_control
}

func newControl() *control {
	return &control{c: (*C.pc_control)(C.calloc(1, C.sizeof_pc_control))}
}

func (c *control) free() { C.free(unsafe.Pointer(c.c)) }

func (c *control) abort() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.c.abort)) }
func (c *control) cancel() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&c.c.cancel))
}
func (c *control) progress() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&c.c.progress))
}
func (c *control) ticks() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.c.ticks)) }

// watchLoad reports progress until done and passes on the end of ctx.
func (c *control) watchLoad(ctx context.Context, done <-chan struct{}, progress func(float64)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	ended := ctx.Done()
	for {
		select {
		case <-done:
			return
		case <-ended:
			c.cancel().Store(1)
			ended = nil
		case <-tick.C:
			if progress != nil {
				progress(float64(c.progress().Load()) / 1000)
			}
		}
	}
}
