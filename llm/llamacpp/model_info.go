package llamacpp

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"pichat/llm"
	"pichat/llm/modelname"
)

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

func (l *loader) info() llm.ModelInfo {
	info := llm.ModelInfo{
		Name:           modelname.Display(l.config.Path, metaString(l.model, "general.name")),
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
