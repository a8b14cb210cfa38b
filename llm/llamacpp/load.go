package llamacpp

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
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

	mu      sync.Mutex      // guards what follows and every use of context
	context *C.pc_context   // nil once closed
	worker  *worker         // evaluates what takes long
	last    []int32         // [slots] last position kept, -1 when empty
	outputs []bool          // [n] which entries of the last batch have logits
	slot    [maxSlots]int32 // scratch of one call
	// decodeThreads and prefillThreads are the counts that steps use now.
	decodeThreads, prefillThreads int
	// decodeTook is how long the last step without prompt tokens took; past
	// longStep the next one runs on the worker's thread.
	decodeTook, longStep time.Duration
	cerr                 C.pc_error // the text of the last failure in C
}

var _ llm.Backend = (*Model)(nil)

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
	worker     *worker
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
	var err error
	l.worker, err = newWorker()
	return err
}

// finish hands everything over to a Model.
func (l *loader) finish() *Model {
	l.drain()
	m := &Model{
		vocabulary: l.vocabulary,
		logger:     l.config.Logger,
		control:    l.control,
		context:    l.context,
		worker:     l.worker,
		longStep:   longStep,
		last:       make([]int32, l.config.Slots),
		outputs:    make([]bool, 0, l.config.BatchTokens),
		info:       l.info(),

		decodeThreads:  l.config.DecodeThreads,
		prefillThreads: l.config.PrefillThreads,
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

// drain moves llama.cpp's log on and notes what is of use here. What failed
// goes into the error that Load returns, and so not into the log as well.
func (l *loader) drain() {
	drainLog(l.config.Logger, func(level slog.Level, line string) slog.Level {
		l.kvBytes += kvBytes(line)
		switch {
		case level >= slog.LevelError:
			l.failures = append(l.failures, line)
			return slog.LevelDebug
		case strings.Contains(line, "possible training context overflow"):
			// It compares what all slots hold together. describe warns rightly.
			return slog.LevelDebug
		}
		return level
	})
}

// explain adds to an error what llama.cpp logged.
func (l *loader) explain(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if reasons := reasons(l.failures); reasons != "" {
		return fmt.Errorf("%w: %s", err, reasons)
	}
	return err
}

// reasons joins lines of llama.cpp's log without the names of its functions and
// the lines that only say that something failed.
func reasons(lines []string) string {
	var out []string
	for _, line := range lines {
		if function, rest, found := strings.Cut(line, ": "); found && !strings.Contains(function, " ") {
			line = rest
		}
		line = strings.TrimPrefix(line, "error loading model: ")
		if line == "failed to load model" || strings.HasPrefix(line, "llama_model_loader: failed to load model from") {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func (l *loader) release() {
	l.worker.close()
	if l.context != nil {
		C.pc_context_free(l.context)
	}
	if l.model != nil {
		C.pc_model_free(l.model)
	}
	l.control.free()
}
