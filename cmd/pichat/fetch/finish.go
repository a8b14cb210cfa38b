package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"pichat/llm/gguf"
)

// finish checks a complete part and gives it its name.
func (p *pull) finish(ctx context.Context) (Result, error) {
	p.note("checking what was fetched")
	sum, err := p.hash(p.part)
	if err != nil {
		return Result{}, err
	}
	if p.file.SHA256 != "" && sum != p.file.SHA256 {
		p.discard()
		return Result{}, fmt.Errorf("%w: what %s gave has the sha256 %s, wanted is %s: it was removed; the server has another file, or it was damaged on the way",
			ErrChecksum, p.file.URL, sum, p.file.SHA256)
	}
	f, err := os.Open(p.part)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Result{}, err
	}
	if _, err := gguf.CheckReader(p.file.Name, f, st.Size()); err != nil {
		p.discard()
		return Result{}, fmt.Errorf("what was fetched was removed: %w", err)
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err := p.place(f); err != nil {
		return Result{}, err
	}
	return Result{Path: p.final, Bytes: uint64(st.Size()), SHA256: sum}, nil
}

// place gives the part its name once its content is on the disk, so that a
// power cut leaves no name without content.
func (p *pull) place(f *os.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("the file cannot be brought to the disk: %w", err)
	}
	if _, err := os.Lstat(p.final); err == nil {
		return fmt.Errorf("%s appeared meanwhile: it is left as it is, and what was fetched is %s", p.final, p.part)
	}
	if err := os.Rename(p.part, p.final); err != nil {
		return err
	}
	_ = os.Remove(p.versionFile())
	dir, err := os.Open(p.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems sync no folders
		return err
	}
	return nil
}

// hash returns the sha256 of a file.
func (p *pull) hash(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s cannot be read: %w; check the disk", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// freeBytes is what the disk of a folder has left for this user.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
