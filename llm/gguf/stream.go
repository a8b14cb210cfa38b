package gguf

import (
	"errors"
	"fmt"
	"io"
)

// CheckReader is Check for a file that is elsewhere: src gives its bytes at
// any offset, size is its length, name what to call it. It reads the header
// alone, mostly in order, and a second time the part with the vocabulary. Of a
// split model it refuses every part. What src fails with is in the error's
// chain.
func CheckReader(name string, src io.ReaderAt, size int64) (*Info, error) {
	info, err := checkReader(name, src, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrModelInvalid, name, err)
	}
	return info, nil
}

func checkReader(name string, src io.ReaderAt, size int64) (*Info, error) {
	if size <= 0 {
		return nil, errors.New("it is empty (0 bytes)")
	}
	h, err := read(src, size)
	if err != nil {
		return nil, err
	}
	parts, err := h.number("split.count", 0, 0, maxParts)
	if err != nil {
		return nil, err
	}
	if parts > 1 {
		return nil, fmt.Errorf("it is one of %d parts of a split model; choose a file that holds the whole model", parts)
	}
	return h.checkModel(name, size)
}
