package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
)

// reader walks a file from its beginning. Every length is held against what
// is left of the file before anything is allocated or read.
type reader struct {
	src    io.ReaderAt
	size   int64
	offset int64 // of window[0] in the file
	window []byte
	pos    int // in window
	buffer []byte
}

// readAhead is how much of the file is read at once.
const readAhead = 128 << 10

func newReader(src io.ReaderAt, size int64) *reader {
	return &reader{src: src, size: size, buffer: make([]byte, readAhead)}
}

// tell returns the offset in the file of what comes next.
func (r *reader) tell() int64 { return r.offset + int64(r.pos) }

// left returns the bytes between here and the file's end.
func (r *reader) left() uint64 { return uint64(r.size - r.tell()) }

// shortError says that the file ends inside of something.
func (r *reader) shortError(need uint64, what string) error {
	return fmt.Errorf("the file ends in its header: %s at byte %d needs %d bytes, %d are left; download the file again",
		what, r.tell(), need, r.left())
}

// next returns the next n bytes, n <= readAhead, valid until the next call.
func (r *reader) next(n int, what string) ([]byte, error) {
	if uint64(n) > r.left() {
		return nil, r.shortError(uint64(n), what)
	}
	if len(r.window)-r.pos < n {
		if err := r.fill(r.tell()); err != nil {
			return nil, err
		}
		if len(r.window) < n {
			return nil, r.shortError(uint64(n), what) // the file shrank meanwhile
		}
	}
	b := r.window[r.pos : r.pos+n]
	r.pos += n
	return b, nil
}

// fill reads ahead from an offset.
func (r *reader) fill(offset int64) error {
	n, err := r.src.ReadAt(r.buffer[:min(int64(len(r.buffer)), r.size-offset)], offset)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading fails at byte %d: %w; check the disk", offset, err)
	}
	r.offset, r.pos, r.window = offset, 0, r.buffer[:n]
	return nil
}

// skip passes over n bytes.
func (r *reader) skip(n uint64, what string) error {
	if n > r.left() {
		return r.shortError(n, what)
	}
	if n <= uint64(len(r.window)-r.pos) {
		r.pos += int(n)
		return nil
	}
	r.offset, r.pos, r.window = r.tell()+int64(n), 0, nil
	return nil
}

func (r *reader) uint32(what string) (uint32, error) {
	b, err := r.next(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) uint64(what string) (uint64, error) {
	b, err := r.next(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text reads a string of at most limit bytes.
func (r *reader) text(limit int, what string) (string, error) {
	n, err := r.uint64(what)
	if err != nil {
		return "", err
	}
	if n > r.left() {
		return "", r.shortError(n, what)
	}
	if n > uint64(limit) {
		return "", fmt.Errorf("%s at byte %d has %d bytes, at most %d are allowed; the file is damaged: download it again", what, r.tell(), n, limit)
	}
	if n <= readAhead {
		b, err := r.next(int(n), what)
		return string(b), err
	}
	b := make([]byte, n)
	if _, err := r.src.ReadAt(b, r.tell()); err != nil {
		return "", fmt.Errorf("reading fails at byte %d: %w; check the disk", r.tell(), err)
	}
	return string(b), r.skip(n, what)
}

// skipTexts passes over n strings.
func (r *reader) skipTexts(n uint64, what string) error {
	for range n {
		size, err := r.uint64(what)
		if err != nil {
			return err
		}
		if err := r.skip(size, what); err != nil {
			return err
		}
	}
	return nil
}
