package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pichat/llm/gguf"
)

func TestPull(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, _ := config(t)
	seen, last := "", uint64(0)
	c.Judge = func(i *gguf.Info) error { seen = i.Name; return nil }
	c.Progress = func(done, total uint64) {
		if last = done; total != uint64(len(content)) {
			t.Errorf("the size is %d, want %d", total, len(content))
		}
	}
	if r := good(t, c, h.file(), content); r.Already {
		t.Errorf("it was there already: %+v", r)
	}
	if seen != "Tiny" || last != uint64(len(content)) {
		t.Errorf("judged %q, progress ended at %d", seen, last)
	}
	// Once more: the checksum is right, and the server is not asked.
	asked := len(h.requests)
	if r := good(t, c, h.file(), content); !r.Already || len(h.requests) != asked {
		t.Errorf("fetched again: %+v, %v", r, h.requests[asked:])
	}
}

// A connection that is cut goes on where it was, with the version named, and
// no byte is served twice.
func TestACutGoesOnInTheMiddle(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.cuts = []int{1_000_000, 500_000}
	c, l := config(t)
	good(t, c, h.file(), content)
	want := []string{headerRange + "|", "|", rangeFrom(1_000_000) + `|"one"`, rangeFrom(1_500_000) + `|"one"`}
	if !slices.Equal(h.requests, want) {
		t.Errorf("asked %q, want %q", h.requests, want)
	}
	if n := h.sent(); n != len(content) {
		t.Errorf("%d bytes were served for a file of %d", n, len(content))
	}
	if !l.has("at byte 1000000 of") {
		t.Errorf("it did not tell of the cut: %q", l.lines)
	}
}

func TestTheNextPullGoesOn(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.cuts = []int{1_000_000, 0, 0}
	c, l := config(t)
	bad(t, t.Context(), c, h.file(), "failed at byte 1000000", "m.gguf.part", "goes on from it")
	holds(t, c.Dir, "m.gguf.part", "m.gguf.part.json")
	h.sent()
	good(t, c, h.file(), content)
	if n := h.sent(); n != len(content)-1_000_000 || !l.has("going on after 1000000 of") {
		t.Errorf("%d bytes were served, %d were missing; it said %q", n, len(content)-1_000_000, l.lines)
	}
}

func TestAFileThatChangesBetweenTwoPulls(t *testing.T) {
	h := newHub(t, modelFile("Old", 40_000))
	h.cuts = []int{1_000_000, 0, 0}
	c, l := config(t)
	pinned, free := h.file(), h.file()
	free.SHA256 = ""
	bad(t, t.Context(), c, free, "failed at byte 1000000")
	content := modelFile("New", 50_000)
	h.content, h.tag = content, `"two"`
	// Whoever wants the old one is told, and keeps nothing of the new one.
	if err := bad(t, t.Context(), c, pinned, sum(content), pinned.SHA256, "removed"); !errors.Is(err, ErrChecksum) {
		t.Errorf("got %v", err)
	}
	holds(t, c.Dir)
	h.content, h.tag, h.cuts = modelFile("Old", 40_000), `"one"`, []int{1_000_000, 0, 0}
	bad(t, t.Context(), c, free)
	h.content, h.tag = content, `"two"`
	good(t, c, free, content)
	if !l.has("of another version") {
		t.Errorf("it did not tell of the change: %q", l.lines)
	}
}

func TestAFileThatChangesDuringAPull(t *testing.T) {
	content := modelFile("New", 50_000)
	h := newHub(t, modelFile("Old", 40_000))
	h.cuts = []int{1_000_000}
	c, l := config(t)
	note := c.Note
	c.Note = func(s string) {
		note(s)
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.Contains(s, "at byte") {
			h.content, h.tag = content, `"two"`
		}
	}
	f := h.file()
	f.SHA256 = ""
	good(t, c, f, content)
	if !l.has("has changed: beginning anew") {
		t.Errorf("it did not tell of the change: %q", l.lines)
	}
}

func TestAServerWithoutRanges(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.noRanges, h.tag = true, ""
	h.cuts = []int{1_000_000}
	c, l := config(t)
	good(t, c, h.file(), content)
	if n := h.sent(); !l.has("cannot go on in the middle") || n != len(content)+1_000_000 {
		t.Errorf("%d bytes were served; it said %q", n, l.lines)
	}
}

func TestAServerThatTellsNoLength(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.handler = func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush() // chunked from here on
		_, _ = w.Write(content)
	}
	c, l := config(t)
	good(t, c, h.file(), content)
	if !l.has("does not say how large") {
		t.Errorf("it said %q", l.lines)
	}
	// Cut short, and ended in good order: only the header can tell.
	content = content[:len(content)-1000]
	c, _ = config(t)
	f := h.file()
	f.SHA256 = ""
	bad(t, t.Context(), c, f, "cut short", "removed")
	holds(t, c.Dir)
}

func TestRedirects(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.cuts = []int{1_000_000}
	front := httptest.NewServer(http.RedirectHandler(h.URL+"/cdn?signature=1", http.StatusFound))
	defer front.Close()
	c, _ := config(t)
	f := h.file()
	f.URL = front.URL + "/m.gguf"
	good(t, c, f, content)
	if last := h.last(); last != rangeFrom(1_000_000)+`|"one"` {
		t.Errorf("the range was lost on the way: %q", h.requests)
	}
	secure := httptest.NewTLSServer(http.RedirectHandler(h.URL, http.StatusFound))
	defer secure.Close()
	c, _ = config(t)
	c.Transport = secure.Client().Transport
	f.URL = secure.URL
	bad(t, t.Context(), c, f, "redirects from https to http")
	holds(t, c.Dir)
}

func TestRoom(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, l := config(t)
	c.Free = func(string) (uint64, error) { return 1_500_000, nil }
	if err := bad(t, t.Context(), c, h.file(), "2.6 MB", "1.5 MB free", "--force", "--dir"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("got %v", err)
	}
	if n := h.sent(); n != 0 {
		t.Errorf("%d bytes were fetched", n)
	}
	c.Force = true
	good(t, c, h.file(), content)
	if !l.has("1.5 MB are free") {
		t.Errorf("it said %q", l.lines)
	}
}

// A disk that fills up during the download keeps what it has, and the next
// pull fetches the rest.
func TestADiskThatFillsUp(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, _ := config(t)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPull(c, h.file())
	left := 1_000_000
	p.write = func(f *os.File, b []byte) (int, error) {
		n, err := f.Write(b[:min(len(b), left)])
		if left -= n; left == 0 && err == nil {
			err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}
		return n, err
	}
	_, err := p.attempt(t.Context())
	if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "1.0 MB of 2.6 MB") || !strings.Contains(err.Error(), "make room") {
		t.Errorf("got %v", err)
	}
	holds(t, c.Dir, "m.gguf.part", "m.gguf.part.json")
	good(t, c, h.file(), content)
	if last := h.last(); last != rangeFrom(1_000_000)+`|"one"` {
		t.Errorf("it asked for %q", last)
	}
}

func TestWhatIsThereAlready(t *testing.T) {
	h := newHub(t, modelFile("Tiny", 100))
	c, _ := config(t)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "m.gguf"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Pull(t.Context(), c, h.file()); !errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), "model rm m.gguf") {
		t.Errorf("another one: %v", err)
	}
	f := h.file()
	f.SHA256 = ""
	if _, err := Pull(t.Context(), c, f); err == nil || !strings.Contains(err.Error(), "--sha256") {
		t.Errorf("an unknown one: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(c.Dir, "m.gguf")); string(got) != "mine" || len(h.requests) != 0 {
		t.Errorf("the file is %q, the server was asked %q", got, h.requests)
	}
}

func TestTwoPullsOfOneFile(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, _ := config(t)
	judging, goOn := make(chan bool), make(chan bool)
	first := c
	first.Judge = func(*gguf.Info) error { close(judging); <-goOn; return nil }
	ended := make(chan error, 1)
	go func() {
		_, err := Pull(t.Context(), first, h.file())
		ended <- err
	}()
	<-judging
	if err := bad(t, t.Context(), c, h.file(), "m.gguf", "wait"); !errors.Is(err, ErrBusy) {
		t.Errorf("the second one: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Errorf("the first one: %v", err)
	}
	if r := good(t, c, h.file(), content); !r.Already {
		t.Errorf("got %+v", r)
	}
}

func TestInterrupted(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, _ := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop := c
	stop.Progress = func(done, _ uint64) {
		if done >= 500_000 {
			cancel()
		}
	}
	if err := bad(t, ctx, stop, h.file(), "interrupted", "m.gguf.part", "goes on from there"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	holds(t, c.Dir, "m.gguf.part", "m.gguf.part.json")
	good(t, c, h.file(), content)
	if last := h.last(); !strings.HasPrefix(last, "bytes=") {
		t.Errorf("it began anew: %q", h.requests)
	}
}

// A server that falls silent is left, and asked again.
func TestSilence(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	c, l := config(t)
	c.Stall = 100 * time.Millisecond
	silent := true
	h.handler = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" && silent {
			silent = false
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
	}
	good(t, c, h.file(), content)
	if !l.has("trying again") {
		t.Errorf("it said %q", l.lines)
	}
}

func TestNameOf(t *testing.T) {
	if name, err := NameOf("https://example.org/a/resolve/main/M%20x.Q4.gguf?download=true"); err != nil || name != "M x.Q4.gguf" {
		t.Errorf("got %q, %v", name, err)
	}
	for _, address := range []string{
		"ftp://example.org/m.gguf", "m.gguf", "https://example.org/", "https://example.org/m.bin",
		"https://example.org/.m.gguf", "https://user:secret@example.org/m.gguf", "https://example.org/a%2F..%5Cm.gguf", "http:///m.gguf",
	} {
		if name, err := NameOf(address); err == nil {
			t.Errorf("%s: taken as %q", address, name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
