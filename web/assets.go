package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"pichat/web/fault"
)

// assets are the page's files, compressed once. They are immutable and may be
// used from any goroutine.
type assets struct {
	files map[string]asset
}

type asset struct {
	mime string
	etag string
	raw  []byte
	gzip []byte // nil where it saves nothing
}

// newAssets reads every file of the top level of files.
func newAssets(files fs.FS) (*assets, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read the page's files: %w", err)
	}
	a := &assets{files: map[string]asset{}}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		raw, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the page's files: %w", err)
		}
		sum := sha256.Sum256(raw)
		f := asset{mime: mimeOf(e.Name()), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, raw: raw}
		if packed := compress(raw, gzip.BestCompression); len(packed) < len(raw) {
			f.gzip = packed
		}
		a.files[e.Name()] = f
	}
	return a, nil
}

// serve answers GET /static/{name}. The browser asks each time whether a file
// has changed, which costs little on the local network and never leaves a
// page with files of two versions.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) error {
	f, ok := a.files[r.PathValue("name")]
	if !ok {
		return fault.Newf(http.StatusNotFound, fault.CodeNotFound, "The page has no file %.100q", r.PathValue("name"))
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.mime)
	writeBody(w, r, f.raw, f.gzip)
	return nil
}

// writeBody sends packed to a client that takes gzip and raw to others.
func writeBody(w http.ResponseWriter, r *http.Request, raw, packed []byte) {
	body := raw
	if packed != nil && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(q) != "q=0" {
			return true
		}
	}
	return false
}

func compress(data []byte, level int) []byte {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, level)
	if err != nil {
		panic(err) // the level is a constant of ours
	}
	_, _ = w.Write(data)
	_ = w.Close()
	return buf.Bytes()
}

// mimeOf does not ask the machine's own tables: a wrong entry there would keep
// the browser from running a module.
func mimeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
