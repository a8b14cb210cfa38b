package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	parser "github.com/gpustack/gguf-parser-go"
)

// Bounds of a header. They are far above every model known and keep a hostile
// file from taking time or memory: the whole header is at most some 50 MB of
// ours, whatever the file claims.
const (
	maxMetadata    = 1 << 16 // key-value pairs
	maxTensors     = 1 << 17
	maxKeyBytes    = 1 << 16
	maxTextBytes   = 1 << 20 // a text value, the chat template among them
	maxTexts       = 1 << 24 // all text values together
	maxArrayKept   = 1 << 12 // numbers of an array that are kept; longer ones are passed over
	maxArray       = 1 << 24 // items of an array; the largest vocabularies have 2^18
	maxTensorName  = 63      // GGML_MAX_NAME less the final zero
	maxDimensions  = 4
	defaultAlign   = 32
	currentVersion = 3
)

// header is what a file says before its tensors' data.
type header struct {
	values    []parser.GGUFMetadataKV
	index     map[string]int // in values
	tensors   []parser.GGUFTensorInfo
	dataStart int64  // offset of the tensors' data in the file
	dataBytes uint64 // of all tensors, without the last one's padding
	weights   uint64 // bytes of all tensors, without padding
	elements  uint64 // of all tensors
	texts     int    // bytes of text values kept so far
	bos, eos  string // texts of the tokens that begin and end a sequence
}

// readHeader walks the header of a file whose magic was seen already.
func readHeader(r *reader) (*header, error) {
	if err := r.skip(4, "the magic"); err != nil {
		return nil, err
	}
	if err := readVersion(r); err != nil {
		return nil, err
	}
	tensors, err := readCount(r, "tensors", maxTensors, 8+4+8+4+8)
	if err != nil {
		return nil, err
	}
	values, err := readCount(r, "metadata entries", maxMetadata, 8+1+4+1)
	if err != nil {
		return nil, err
	}
	h := &header{index: make(map[string]int, values)}
	for i := range values {
		if err := h.readValue(r); err != nil {
			return nil, fmt.Errorf("metadata entry %d of %d: %w", i+1, values, err)
		}
	}
	align, err := h.alignment()
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, tensors)
	for i := range tensors {
		if err := h.readTensor(r, align, names); err != nil {
			return nil, fmt.Errorf("tensor %d of %d: %w", i+1, tensors, err)
		}
	}
	h.dataStart = (r.tell() + align - 1) / align * align
	return h, nil
}

func readVersion(r *reader) error {
	version, err := r.uint32("the version")
	switch {
	case err != nil:
		return err
	case version&0xFFFF == 0 && version != 0:
		return fmt.Errorf("it is big-endian (version reads as %#x); get the little-endian file of this model", version)
	case version != 2 && version != currentVersion:
		return fmt.Errorf("GGUF version %d is not supported, 2 and %d are; get a newer file of this model", version, currentVersion)
	}
	return nil
}

// readCount reads a count of things that take at least so many bytes each.
func readCount(r *reader, what string, limit, least uint64) (int, error) {
	n, err := r.uint64("the number of " + what)
	if err != nil {
		return 0, err
	}
	// The bytes left hold the other count and everything else, too.
	if n > limit || n > r.left()/least {
		return 0, fmt.Errorf("it claims %d %s, at most %d are possible in its %d bytes; the file is damaged or cut short: download it again",
			n, what, min(limit, r.left()/least), r.size)
	}
	return int(n), nil
}

// sizes of the fixed-size value types, by type; 0 for texts and arrays.
var valueSizes = [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// readValue reads one key-value pair.
func (h *header) readValue(r *reader) error {
	key, err := r.text(maxKeyBytes, "a key")
	if err != nil {
		return err
	}
	if key == "" {
		return fmt.Errorf("its key is empty; the file is damaged: download it again")
	}
	if _, twice := h.index[key]; twice {
		return fmt.Errorf("key %q comes twice; the file is damaged: download it again", key)
	}
	kind, err := readType(r, key)
	if err != nil {
		return err
	}
	v := parser.GGUFMetadataKV{Key: key, ValueType: kind}
	switch kind {
	case parser.GGUFMetadataValueTypeString:
		v.Value, err = h.readText(r, key)
	case parser.GGUFMetadataValueTypeArray:
		v.Value, err = readArray(r, key)
	default:
		v.Value, err = readNumber(r, kind, key)
	}
	if err != nil {
		return err
	}
	h.index[key] = len(h.values)
	h.values = append(h.values, v)
	return nil
}

func readType(r *reader, key string) (parser.GGUFMetadataValueType, error) {
	n, err := r.uint32(quoted(key))
	if err != nil {
		return 0, err
	}
	if n >= uint32(len(valueSizes)) {
		return 0, fmt.Errorf("%s is of type %d, known are 0 to %d; the file is damaged: download it again", quoted(key), n, len(valueSizes)-1)
	}
	return parser.GGUFMetadataValueType(n), nil
}

// quoted names a key in an error, cut short when it is absurd.
func quoted(key string) string {
	if len(key) > 64 {
		key = key[:64] + "…"
	}
	return fmt.Sprintf("value %q", key)
}

// readText keeps a text value.
func (h *header) readText(r *reader, key string) (string, error) {
	s, err := r.text(maxTextBytes, quoted(key))
	if err != nil {
		return "", err
	}
	if h.texts += len(s); h.texts > maxTexts {
		return "", fmt.Errorf("its text values have more than %d bytes together; the file is damaged: download it again", maxTexts)
	}
	return s, nil
}

// readNumber reads a value of fixed size as the Go type of its kind.
func readNumber(r *reader, kind parser.GGUFMetadataValueType, key string) (any, error) {
	b, err := r.next(valueSizes[kind], quoted(key))
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	switch kind {
	case parser.GGUFMetadataValueTypeUint8:
		return b[0], nil
	case parser.GGUFMetadataValueTypeInt8:
		return int8(b[0]), nil
	case parser.GGUFMetadataValueTypeBool:
		return b[0] != 0, nil
	case parser.GGUFMetadataValueTypeUint16:
		return le.Uint16(b), nil
	case parser.GGUFMetadataValueTypeInt16:
		return int16(le.Uint16(b)), nil
	case parser.GGUFMetadataValueTypeUint32:
		return le.Uint32(b), nil
	case parser.GGUFMetadataValueTypeInt32:
		return int32(le.Uint32(b)), nil
	case parser.GGUFMetadataValueTypeFloat32:
		return math.Float32frombits(le.Uint32(b)), nil
	case parser.GGUFMetadataValueTypeUint64:
		return le.Uint64(b), nil
	case parser.GGUFMetadataValueTypeInt64:
		return int64(le.Uint64(b)), nil
	default:
		return math.Float64frombits(le.Uint64(b)), nil
	}
}

// readArray reads an array. Long ones and those of texts are passed over: of
// them only place and length are kept.
func readArray(r *reader, key string) (a parser.GGUFMetadataKVArrayValue, err error) {
	a.StartOffset = r.tell()
	if a.Type, err = readType(r, key); err != nil {
		return a, err
	}
	if a.Len, err = r.uint64(quoted(key)); err != nil {
		return a, err
	}
	start := r.tell()
	size := uint64(valueSizes[a.Type])
	switch {
	case a.Type == parser.GGUFMetadataValueTypeArray:
		return a, fmt.Errorf("%s is an array of arrays, which no model has; the file is damaged: download it again", quoted(key))
	case a.Len > maxArray:
		return a, fmt.Errorf("%s has %d items, at most %d are allowed; the file is damaged: download it again", quoted(key), a.Len, maxArray)
	case a.Type == parser.GGUFMetadataValueTypeString:
		err = r.skipTexts(a.Len, quoted(key))
	case a.Len > maxArrayKept:
		err = r.skip(a.Len*size, quoted(key))
	case a.Len*size > r.left():
		err = r.shortError(a.Len*size, quoted(key))
	default:
		a.Array = make([]any, a.Len)
		for i := range a.Array {
			if a.Array[i], err = readNumber(r, a.Type, key); err != nil {
				return a, err
			}
		}
	}
	a.Size = r.tell() - start
	return a, err
}

// alignment returns the alignment of the tensors' data.
func (h *header) alignment() (int64, error) {
	i, ok := h.index["general.alignment"]
	if !ok {
		return defaultAlign, nil
	}
	align, isUint32 := h.values[i].Value.(uint32)
	if !isUint32 || bits.OnesCount32(align) != 1 {
		return 0, fmt.Errorf("general.alignment is %v, it must be a power of two in 32 bits; the file is damaged: download it again", h.values[i].Value)
	}
	return int64(align), nil
}
