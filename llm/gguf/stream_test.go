package gguf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestCheckReader(t *testing.T) {
	file := model().bytes()
	// A size that is not known yet is taken for a huge one.
	for _, size := range []int64{int64(len(file)), math.MaxInt64} {
		info, err := CheckReader("tiny.gguf", bytes.NewReader(file), size)
		if err != nil || info.Name != "Tiny" || info.MemoryEstimate(1, 128).Total() == 0 {
			t.Errorf("size %d: %+v, %v", size, info, err)
		}
	}
	if _, err := CheckReader("tiny.gguf", bytes.NewReader(file), int64(len(file))-8); !errors.Is(err, ErrModelInvalid) || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a short one: %v", err)
	}
	split := model().kv("split.count", uint32(2)).bytes()
	if _, err := CheckReader("x-00001-of-00002.gguf", bytes.NewReader(split), int64(len(split))); err == nil || !strings.Contains(err.Error(), "2 parts") {
		t.Errorf("a split one: %v", err)
	}
}

// The cause of a failed read is found again, for whoever reads over a network.
func TestCheckReaderKeepsTheCause(t *testing.T) {
	broken := errors.New("the network is down")
	_, err := CheckReader("tiny.gguf", failing{broken}, 1000)
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

var _ io.ReaderAt = failing{}
