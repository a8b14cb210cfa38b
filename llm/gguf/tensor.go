package gguf

import (
	"fmt"
	"math/bits"

	parser "github.com/gpustack/gguf-parser-go"
)

// readTensor reads where one tensor lies and how large it is, with the checks
// that llama.cpp makes.
func (h *header) readTensor(r *reader, align int64, names map[string]bool) error {
	var t parser.GGUFTensorInfo
	var err error
	if t.Name, err = r.text(maxTensorName, "a tensor's name"); err != nil {
		return err
	}
	if names[t.Name] {
		return fmt.Errorf("%q comes twice; the file is damaged: download it again", t.Name)
	}
	names[t.Name] = true
	if err := readShape(r, &t); err != nil {
		return err
	}
	kind, err := r.uint32("a tensor's type")
	if err != nil {
		return err
	}
	t.Type = parser.GGMLType(kind)
	elements, size, err := tensorSize(&t)
	if err != nil {
		return err
	}
	if t.Offset, err = r.uint64("a tensor's offset"); err != nil {
		return err
	}
	// The data of the tensors follow each other in the order of the header.
	start, carry := bits.Add64(h.dataBytes, uint64(align-1), 0)
	start &^= uint64(align - 1)
	if carry != 0 || t.Offset != start {
		return fmt.Errorf("%q lies at offset %d of the data, it must lie at %d; the file is damaged: download it again", t.Name, t.Offset, start)
	}
	var over [3]uint64
	h.dataBytes, over[0] = bits.Add64(start, size, 0)
	h.weights, over[1] = bits.Add64(h.weights, size, 0)
	h.elements, over[2] = bits.Add64(h.elements, elements, 0)
	if over != [3]uint64{} {
		return fmt.Errorf("the tensors up to %q have more bytes than can be counted; the file is damaged: download it again", t.Name)
	}
	h.tensors = append(h.tensors, t)
	return nil
}

func readShape(r *reader, t *parser.GGUFTensorInfo) error {
	n, err := r.uint32("a tensor's shape")
	if err != nil {
		return err
	}
	if n == 0 || n > maxDimensions {
		return fmt.Errorf("%q has %d dimensions, 1 to %d are allowed; the file is damaged: download it again", t.Name, n, maxDimensions)
	}
	t.NDimensions, t.Dimensions = n, make([]uint64, n)
	for i := range t.Dimensions {
		if t.Dimensions[i], err = r.uint64("a tensor's shape"); err != nil {
			return err
		}
	}
	return nil
}

// tensorSize returns the elements of a tensor and its bytes.
func tensorSize(t *parser.GGUFTensorInfo) (elements, size uint64, err error) {
	trait, known := t.Type.Trait()
	if !known || trait.BlockSize == 0 || removed(t.Type) {
		return 0, 0, fmt.Errorf("%q is of type %d, which this llama.cpp does not read; get another quantization of this model", t.Name, uint32(t.Type))
	}
	if t.Dimensions[0]%trait.BlockSize != 0 {
		return 0, 0, fmt.Errorf("%q has rows of %d elements, which is no multiple of its blocks of %d; the file is damaged: download it again", t.Name, t.Dimensions[0], trait.BlockSize)
	}
	elements = 1
	for _, d := range t.Dimensions {
		high, low := bits.Mul64(elements, d)
		if high != 0 || low > 1<<62 {
			return 0, 0, fmt.Errorf("%q with the shape %v has more elements than can be counted; the file is damaged: download it again", t.Name, t.Dimensions)
		}
		elements = low
	}
	high, size := bits.Mul64(elements/trait.BlockSize, trait.TypeSize)
	if high != 0 || size > 1<<62 {
		return 0, 0, fmt.Errorf("%q with the shape %v has more bytes than can be counted; the file is damaged: download it again", t.Name, t.Dimensions)
	}
	return elements, size, nil
}

// removed tells the tensor types that llama.cpp took out of the format.
func removed(t parser.GGMLType) bool {
	switch t {
	case parser.GGMLTypeQ4_0_4_4, parser.GGMLTypeQ4_0_4_8, parser.GGMLTypeQ4_0_8_8,
		parser.GGMLTypeIQ4_NL_4_4, parser.GGMLTypeIQ4_NL_4_8, parser.GGMLTypeIQ4_NL_8_8:
		return true
	}
	return false
}
