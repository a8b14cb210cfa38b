package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pichat/llm/gguf"
)

// Every answer that is no model is named for what it is before anything is
// stored.
func TestWhatIsNoModel(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"a web page":  {"<!DOCTYPE html><html>" + strings.Repeat("<p>sign in</p>", 100), "it is a web page"},
		"JSON":        {`{"error":"Repository not found"}`, "it is JSON text"},
		"an LFS stub": {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "Git LFS pointer"},
		"nothing":     {"", "empty"},
		"noise":       {strings.Repeat("noise", 1000), "no model"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ranges := range []bool{true, false} {
				h := newHub(t, []byte(tt.body))
				h.noRanges = !ranges
				c, _ := config(t)
				bad(t, t.Context(), c, h.file(), tt.want)
				holds(t, c.Dir)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	for status, want := range map[int]string{
		401: "sends no credentials", 403: "sends no credentials", 404: "no such file", 410: "no such file",
		429: "try again in 2m0s", 500: "out of order", 503: "try again in 2m0s", 418: "does not give the file",
	} {
		h := newHub(t, nil)
		h.handler = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(status)
		}
		c, _ := config(t)
		bad(t, t.Context(), c, h.file(), want, strconv.Itoa(status))
		holds(t, c.Dir)
		if len(h.requests) != 1 {
			t.Errorf("%d: asked %d times", status, len(h.requests))
		}
	}
}

func TestNobodyThere(t *testing.T) {
	h := newHub(t, nil)
	h.Close()
	c, _ := config(t)
	bad(t, t.Context(), c, h.file(), "the connection failed", "refused")
	holds(t, c.Dir)
}

// A file that is shorter than its own header needs is refused by the header.
func TestALengthThatIsTooShort(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content[:len(content)/2])
	c, _ := config(t)
	if err := bad(t, t.Context(), c, h.file(), "cut short", strconv.Itoa(len(content)/2)); !errors.Is(err, gguf.ErrModelInvalid) {
		t.Errorf("got %v", err)
	}
	holds(t, c.Dir)
}

// lying answers ranges of a file that it calls longer than it is.
func lying(content []byte, claimed int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, to := 0, len(content)-1
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil && from == 0 {
			w.Header().Set("Content-Length", strconv.Itoa(claimed))
			_, _ = w.Write(content)
			return
		}
		if from >= len(content) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		to = min(to, len(content)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, claimed))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[from : to+1])
	}
}

func TestALengthThatIsTooLong(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	h.handler = lying(content, len(content)+1000)
	c, _ := config(t)
	bad(t, t.Context(), c, h.file(), strconv.Itoa(len(content)+1000), "none after "+strconv.Itoa(len(content)), "nothing was kept")
	holds(t, c.Dir)
	// Without ranges it is a connection that is cut, each time at the same byte.
	h.handler = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)+1000))
		_, _ = w.Write(content)
	}
	bad(t, t.Context(), c, h.file(), "3 connections in a row failed at byte "+strconv.Itoa(len(content)))
	holds(t, c.Dir, "m.gguf.part", "m.gguf.part.json")
}

func TestMoreThanWasAnnounced(t *testing.T) {
	content := modelFile("Tiny", 40_000)
	h := newHub(t, content)
	honest := lying(content, len(content))
	h.handler = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			honest(w, r)
			return
		}
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(append(content[:len(content):len(content)], "and more"...))
	}
	c, _ := config(t)
	bad(t, t.Context(), c, h.file(), "sends more than", strconv.Itoa(len(content)))
	holds(t, c.Dir)
}

func TestTheJudge(t *testing.T) {
	h := newHub(t, modelFile("Tiny", 40_000))
	c, _ := config(t)
	c.Judge = func(*gguf.Info) error { return errors.New("too large for this machine") }
	bad(t, t.Context(), c, h.file(), "too large for this machine")
	holds(t, c.Dir)
	if n := h.sent(); n != 0 {
		t.Errorf("%d bytes were fetched", n)
	}
}

// A header that is larger than one request is read over several, of the same
// version.
func TestALargeHeader(t *testing.T) {
	content := modelFile(strings.Repeat("x", 900_000), 40_000)
	h := newHub(t, content)
	c, _ := config(t)
	good(t, c, h.file(), content)
	if want := `bytes=1048576-2097151|"one"`; len(h.requests) != 3 || h.requests[1] != want {
		t.Errorf("asked %q, want %q second", h.requests, want)
	}
}
