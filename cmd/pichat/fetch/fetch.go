// Package fetch downloads a model file so that nothing half-written ever bears
// its name.
//
// A download first reads the file's own header by range requests and lets the
// caller judge it. The bytes go into NAME.part, which outlives a cut and is
// continued with Range and If-Range; NAME.part.json beside it says which
// version of which file they are of. What is whole is held against the
// checksum, synced and renamed. A lock keeps two programs from fetching the
// same file. Functions are safe for concurrent use.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"pichat/cmd/pichat/boot"
	"pichat/llm/gguf"
)

// Errors that a caller may want to tell apart; the texts around them say what
// to do.
var (
	ErrBusy     = errors.New("another pichat is working on this file")
	ErrNoRoom   = errors.New("not enough room on the disk")
	ErrChecksum = errors.New("wrong checksum")
	// ErrConnection means that a connection was refused or ended too soon;
	// another may do better.
	ErrConnection = errors.New("the connection failed")
)

// File is what to fetch.
type File struct {
	URL string
	// Name of the file in the folder; it ends in .gguf.
	Name string
	// SHA256 in hexadecimal; "" where nobody has pinned it.
	SHA256 string
}

// Config says how to fetch. The zero value but for Dir is fit for use.
type Config struct {
	// Dir is the folder of models; it is made where it is missing.
	Dir string
	// Judge is called with what the header says before anything is stored; its
	// error ends the download. nil takes every model.
	Judge func(*gguf.Info) error
	// Force goes on where the disk seems too full.
	Force bool
	// Progress is called with the bytes that are there and the file's size, 0
	// where unknown, often. Note is called with a sentence about what goes on.
	// Both from Pull's goroutine; nil for neither.
	Progress func(done, total uint64)
	Note     func(string)
	// Free returns the free bytes of a folder's disk; nil asks the system.
	Free func(dir string) (uint64, error)
	// Tries is how often in a row a connection may be lost without a byte
	// gained, 5; Pause the time after the first of them, which doubles, 1 s;
	// Stall how long a server may be silent, 60 s.
	Tries        int
	Pause, Stall time.Duration
	// Transport is how to reach servers; nil is Go's, with its proxy settings.
	Transport http.RoundTripper
}

// Result is a file that is there, whole and verified as far as it can be.
type Result struct {
	Path    string
	Bytes   uint64
	SHA256  string // as computed
	Already bool   // it was there before
}

// NameOf returns the file name in an address of a model. The error says what
// is wrong with the address.
func NameOf(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("the address %q cannot be read: %w", address, err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return "", fmt.Errorf("the address %q must begin with https:// or http:// and a host", address)
	case u.User != nil:
		return "", errors.New("the address holds a user name: pichat sends no credentials; take it out")
	}
	name := path.Base(u.Path)
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("the address %q leads to no model file: %w", address, err)
	}
	return name, nil
}

func checkName(name string) error {
	if !strings.HasSuffix(strings.ToLower(name), ".gguf") || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00\n\r\x1b") {
		return fmt.Errorf("%q is not the name of a .gguf file", name)
	}
	return nil
}

// Pull fetches a file, or finds that it is there. A context that ends leaves
// the part for another try; the error wraps the context's.
func Pull(ctx context.Context, c Config, file File) (Result, error) {
	if err := checkName(file.Name); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("the folder of models cannot be made: %w; choose another with --dir", err)
	}
	unlock, err := lock(c.Dir, file.Name)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	p := newPull(c, file)
	if r, found, err := p.already(); found || err != nil {
		return r, err
	}
	for anew := 0; ; anew++ {
		r, err := p.attempt(ctx)
		switch {
		case ctx.Err() != nil:
			return Result{}, p.interrupted(ctx)
		case errors.Is(err, errChanged) && anew < 2:
			p.note("the server's file has changed: beginning anew")
			p.discard()
		case errors.Is(err, errChanged):
			p.discard()
			return Result{}, fmt.Errorf("%s: %w each time it was tried: nothing was kept; try again later", file.URL, err)
		default:
			return r, err
		}
	}
}

// pull is one call of Pull.
type pull struct {
	Config
	file   File
	client *http.Client
	final  string // path of the file when it is whole
	part   string // path until then

	// write stores bytes; tests let it fail.
	write func(*os.File, []byte) (int, error)
}

func newPull(c Config, file File) *pull {
	if c.Tries == 0 {
		c.Tries = 5
	}
	if c.Pause == 0 {
		c.Pause = time.Second
	}
	if c.Stall == 0 {
		c.Stall = time.Minute
	}
	if c.Free == nil {
		c.Free = freeBytes
	}
	final := filepath.Join(c.Dir, file.Name)
	return &pull{Config: c, file: file, client: newClient(c), final: final, part: final + ".part", write: (*os.File).Write}
}

func (p *pull) note(format string, args ...any) {
	if p.Note != nil {
		p.Note(fmt.Sprintf(format, args...))
	}
}

func (p *pull) progress(done, total int64) {
	if p.Progress != nil {
		p.Progress(uint64(done), uint64(max(total, 0)))
	}
}

// attempt fetches one version of the server's file.
func (p *pull) attempt(ctx context.Context) (Result, error) {
	remote, info, err := p.look(ctx)
	if err != nil {
		return Result{}, err
	}
	if p.Judge != nil {
		if err := p.Judge(info); err != nil {
			return Result{}, err
		}
	}
	have, err := p.resume(remote)
	if err != nil {
		return Result{}, err
	}
	if err := p.checkRoom(remote.size, have); err != nil {
		return Result{}, err
	}
	if err := p.download(ctx, remote, have); err != nil {
		return Result{}, err
	}
	return p.finish(ctx)
}

// interrupted says what is left of a download that the user ended.
func (p *pull) interrupted(ctx context.Context) error {
	st, err := os.Stat(p.part)
	if err != nil {
		return fmt.Errorf("interrupted before anything was stored: %w", ctx.Err())
	}
	return fmt.Errorf("interrupted: %s are kept in %s; the same command goes on from there: %w", boot.Bytes(uint64(st.Size())), p.part, ctx.Err())
}

// checkRoom holds the rest of the file against the disk.
func (p *pull) checkRoom(size, have int64) error {
	free, err := p.Free(p.Dir)
	switch {
	case err != nil:
		p.note("the free space of the disk is not known: %v", err)
	case size < 0:
		p.note("the server does not say how large the file is; %s are free on the disk", boot.Bytes(free))
	case uint64(size-have) <= free:
	case p.Force:
		p.note("the rest of the file has %s and %s are free on the disk: going on, as --force says", boot.Bytes(uint64(size-have)), boot.Bytes(free))
	default:
		return fmt.Errorf("%w: the rest of the file has %s, %s has %s free: make room, choose another folder with --dir, or go on with --force",
			ErrNoRoom, boot.Bytes(uint64(size-have)), p.Dir, boot.Bytes(free))
	}
	return nil
}
