package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Check reads the header of a model file and returns what it says, or an
// error that wraps ErrModelInvalid and, for a missing file, fs.ErrNotExist. It
// opens no other file but the siblings of a split model, and takes some
// milliseconds and megabytes whatever the file claims. It cannot know whether
// the weights themselves are right: that is what a checksum is for.
func Check(path string) (*Info, error) {
	info, err := check(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrModelInvalid, path, err)
	}
	return info, nil
}

func check(path string) (*Info, error) {
	h, size, err := open(path)
	if err != nil {
		return nil, err
	}
	parts, err := h.checkParts(path)
	if err != nil {
		return nil, err
	}
	if _, _, err := h.kind(); err != nil {
		return nil, err // before other parts are opened
	}
	if size, err = h.addParts(path, parts, size); err != nil {
		return nil, err
	}
	return h.checkModel(path, size)
}

// kind refuses what is no model that can be run, and returns its architecture.
func (h *header) kind() (arch string, t traits, err error) {
	if err := h.checkKind(); err != nil {
		return "", 0, err
	}
	if arch, err = h.text("general.architecture"); err != nil {
		return "", 0, err
	}
	t, err = checkArchitecture(arch)
	return arch, t, err
}

// checkModel describes a model whose tensors are all known.
func (h *header) checkModel(path string, size int64) (*Info, error) {
	arch, t, err := h.kind()
	if err != nil {
		return nil, err
	}
	if len(h.tensors) == 0 {
		return nil, errors.New("it holds a vocabulary but no weights (0 tensors); choose the model's own file")
	}
	return h.describe(path, size, arch, t)
}

// open reads one file's header and holds its tensors against its size.
func open(path string) (*header, int64, error) {
	st, err := os.Stat(path) // before opening: a FIFO would wait for a writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("there is no such file (%w); check the path, or fetch the default model with make model", fs.ErrNotExist)
	case err != nil:
		return nil, 0, err
	case st.IsDir():
		return nil, 0, errors.New("it is a folder; name the .gguf file inside it")
	case !st.Mode().IsRegular():
		return nil, 0, fmt.Errorf("it is no regular file (%v); name a .gguf file", st.Mode().Type())
	case st.Size() == 0:
		return nil, 0, errors.New("it is empty (0 bytes); download the file again")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("it cannot be opened: %w; check its permissions", err)
	}
	defer f.Close()
	h, err := read(f, st.Size())
	return h, st.Size(), err
}

// read checks the content of one file.
func read(src io.ReaderAt, size int64) (*header, error) {
	if err := checkMagic(src, size); err != nil {
		return nil, err
	}
	h, err := readHeader(newReader(src, size))
	if err != nil {
		return nil, err
	}
	if len(h.tensors) > 0 {
		if need := uint64(h.dataStart) + h.dataBytes; need < h.dataBytes || need > uint64(size) {
			return nil, fmt.Errorf("it is cut short: %d bytes are there, its tensors need %d; download the file again", size, need)
		}
	}
	if err := h.readSpecialTokens(src, size); err != nil {
		return nil, err
	}
	return h, nil
}

// magics tells what people take for a model, by its first bytes.
var magics = []struct{ begins, is string }{
	{"version https://git-lfs", "it is a Git LFS pointer, a few lines of text in place of the model; fetch the file itself (git lfs pull)"},
	{"FUGG", "it is big-endian; get the little-endian file of this model"},
	{"lmgg", "it is of the old GGML format; get a GGUF file of this model"},
	{"fmgg", "it is of the old GGMF format; get a GGUF file of this model"},
	{"tjgg", "it is of the old GGJT format; get a GGUF file of this model"},
	{"PK\x03\x04", "it is a ZIP archive or a PyTorch file; unpack it, or get a GGUF file of this model"},
	{"\x1f\x8b", "it is compressed (gzip); unpack it"},
	{"\x28\xb5\x2f\xfd", "it is compressed (zstd); unpack it"},
	{"{", "it is JSON text, perhaps a server's error message; look at it, and download the model again"},
}

// checkMagic recognises a GGUF file, or says what the file is instead.
func checkMagic(src io.ReaderAt, size int64) error {
	begin := make([]byte, min(size, 512))
	if n, err := src.ReadAt(begin, 0); err != nil && (err != io.EOF || n < len(begin)) {
		return fmt.Errorf("reading fails: %w; check the disk", err)
	}
	if bytes.HasPrefix(begin, []byte("GGUF")) {
		return nil
	}
	for _, m := range magics {
		if bytes.HasPrefix(begin, []byte(m.begins)) {
			return errors.New(m.is)
		}
	}
	text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(begin), "\uFEFF")))
	switch {
	case strings.HasPrefix(text, "<!doctype"), strings.HasPrefix(text, "<html"), strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<head"):
		return errors.New("it is a web page, not a model: the download led to a page for people; use the link of the file itself")
	case len(begin) > 9 && begin[8] == '{' && begin[9] == '"':
		return errors.New("it is a safetensors file; get a GGUF file of this model")
	}
	return fmt.Errorf("it begins with %q where a GGUF file has %q; it is no model for llama.cpp: choose another file", begin[:min(len(begin), 4)], "GGUF")
}

// checkKind refuses GGUF files that are not models.
func (h *header) checkKind() error {
	kind, err := h.text("general.type")
	if err != nil {
		return err
	}
	switch kind {
	case "", "model":
		return nil
	case "adapter":
		return errors.New("it is a LoRA adapter, which changes another model and is none itself; choose the model's own file")
	case "mmproj":
		return errors.New("it is the vision or audio part of a model (mmproj), not a model; choose the model's own file")
	case "vocab":
		return errors.New("it holds a vocabulary but no weights; choose the model's own file")
	}
	return fmt.Errorf("it holds %q, not a model; choose the model's own file", shorten(kind))
}

// maxParts bounds the files of a split model; the largest have some hundred.
const maxParts = 1000

// checkParts returns how many files a model is split into, 0 or 1 for none,
// and refuses one that is not the first or not named by its number.
func (h *header) checkParts(path string) (int, error) {
	count, err := h.number("split.count", 0, 0, maxParts)
	if err != nil || count <= 1 {
		return count, err
	}
	no, err := h.number("split.no", 0, 0, maxParts)
	if err != nil {
		return 0, err
	}
	prefix, ok := strings.CutSuffix(path, partName(no+1, count))
	switch {
	case !ok:
		return 0, fmt.Errorf("it is part %d of a model split into %d files, but is not named so (…%s); give the files their names back", no+1, count, partName(no+1, count))
	case no != 0:
		return 0, fmt.Errorf("it is part %d of %d; name the first part, %s", no+1, count, filepath.Base(prefix+partName(1, count)))
	}
	return count, nil
}

// addParts takes in the other files of a split model and returns the size of
// all.
func (h *header) addParts(path string, count int, size int64) (int64, error) {
	if count <= 1 {
		return size, nil
	}
	prefix := strings.TrimSuffix(path, partName(1, count))
	for i := 2; i <= count; i++ {
		part, partSize, err := open(prefix + partName(i, count))
		if err != nil {
			return 0, fmt.Errorf("part %d of %d, %s: %w", i, count, filepath.Base(prefix+partName(i, count)), err)
		}
		size += partSize
		h.tensors = append(h.tensors, part.tensors...)
		h.weights += part.weights
		h.elements += part.elements
		if len(h.tensors) > maxTensors {
			return 0, fmt.Errorf("its parts hold more than %d tensors; the files are damaged: download them again", maxTensors)
		}
	}
	want, err := h.number("split.tensors.count", len(h.tensors), 0, maxTensors)
	if err != nil {
		return 0, err
	}
	if want != len(h.tensors) {
		return 0, fmt.Errorf("its %d parts hold %d tensors where the first part says %d; download them again, all of one model", count, len(h.tensors), want)
	}
	return size, nil
}

func partName(no, count int) string { return fmt.Sprintf("-%05d-of-%05d.gguf", no, count) }
