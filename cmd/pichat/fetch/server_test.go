package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// modelFile returns a small valid model with that many rows of weights.
func modelFile(name string, rows uint64) []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				_ = binary.Write(&b, binary.LittleEndian, uint64(len(s)))
				b.WriteString(s)
				continue
			}
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	const number, text, array = uint32(4), uint32(8), uint32(9)
	b.WriteString("GGUF")
	put(uint32(3), uint64(1), uint64(10))
	put("general.architecture", text, "llama", "general.name", text, name, "general.license", text, name, "general.file_type", number, uint32(0))
	put("llama.block_count", number, uint32(2), "llama.context_length", number, uint32(128))
	put("llama.embedding_length", number, uint32(16), "llama.attention.head_count", number, uint32(4))
	put("tokenizer.ggml.model", text, "gpt2", "tokenizer.ggml.tokens", array, text, uint64(2), "<s>", "</s>")
	put("token_embd.weight", uint32(2), uint64(16), rows, uint32(0), uint64(0))
	b.Write(make([]byte, (32-b.Len()%32)%32+int(rows)*16*4))
	return b.Bytes()
}

func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// hub is a server of one file that misbehaves on demand. Its fields may be
// changed between two pulls.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	content  []byte
	tag      string
	cuts     []int // bytes after which the answers to come are cut off, those for the header aside
	noRanges bool
	handler  http.HandlerFunc // in place of all this

	requests []string // "Range|If-Range" of each request
	served   int      // bytes of bodies, the header's aside
}

const headerRange = "bytes=0-1048575"

func newHub(t *testing.T, content []byte) *hub {
	h := &hub{content: content, tag: `"one"`}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, r.Header.Get("Range")+"|"+r.Header.Get("If-Range"))
	handler, content, cut := h.handler, h.content, -1
	header := r.Header.Get("Range") == headerRange
	if !header && len(h.cuts) > 0 {
		cut, h.cuts = h.cuts[0], h.cuts[1:]
	}
	if h.tag != "" {
		w.Header().Set("ETag", h.tag)
	}
	if h.noRanges {
		r.Header.Del("Range")
	}
	h.mu.Unlock()
	if handler != nil {
		handler(w, r)
		return
	}
	out := &cutter{ResponseWriter: w, hub: h, left: cut, counts: !header}
	http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(content))
}

// cutter ends a connection after so many bytes; never where left is negative.
type cutter struct {
	http.ResponseWriter
	hub    *hub
	left   int
	counts bool
}

func (c *cutter) Write(b []byte) (int, error) {
	stop := c.left >= 0 && len(b) >= c.left
	if stop {
		b = b[:c.left]
	}
	if c.counts { // before the client can have them
		c.hub.mu.Lock()
		c.hub.served += len(b)
		c.hub.mu.Unlock()
	}
	n, err := c.ResponseWriter.Write(b)
	if c.left -= n; stop {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// sent returns the bytes served since it was asked last.
func (h *hub) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.served
	h.served = 0
	return n
}

// last is the latest request.
func (h *hub) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests[len(h.requests)-1]
}

// file is what the hub has, pinned to its present content.
func (h *hub) file() File {
	return File{URL: h.URL + "/m.gguf", Name: "m.gguf", SHA256: sum(h.content)}
}

// log is what a pull said, by the sentence.
type log struct{ lines []string }

func (l *log) has(what string) bool {
	return slices.ContainsFunc(l.lines, func(s string) bool { return strings.Contains(s, what) })
}

func config(t *testing.T) (Config, *log) {
	l := new(log)
	return Config{
		Dir: filepath.Join(t.TempDir(), "models"), Pause: time.Millisecond, Tries: 3,
		Note: func(s string) { l.lines = append(l.lines, s) },
	}, l
}

// holds fails unless the folder has exactly these files.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}

// good pulls and wants the content, alone in its folder.
func good(t *testing.T, c Config, f File, content []byte) Result {
	t.Helper()
	r, err := Pull(t.Context(), c, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(c.Dir, "m.gguf"))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes are there, %v; want %d", len(got), err, len(content))
	}
	holds(t, c.Dir, "m.gguf")
	if r.SHA256 != sum(content) || r.Bytes != uint64(len(content)) {
		t.Errorf("got %+v", r)
	}
	return r
}

// bad pulls and wants an error with each of these in it.
func bad(t *testing.T, ctx context.Context, c Config, f File, want ...string) error {
	t.Helper()
	r, err := Pull(ctx, c, f)
	if err == nil {
		t.Fatalf("it went well: %+v", r)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
	if _, statErr := os.Stat(filepath.Join(c.Dir, f.Name)); statErr == nil {
		t.Errorf("a file bears the final name after: %v", err)
	}
	return err
}

func rangeFrom(n int) string { return fmt.Sprintf("bytes=%d-", n) }
