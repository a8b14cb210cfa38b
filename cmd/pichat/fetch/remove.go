package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrInUse means that a program has the model open.
var ErrInUse = errors.New("the model is in use")

// Remove deletes a model of the folder, and what is left of an unfinished
// download of it. It returns how many bytes of disk that frees: for a link,
// those of the link. The error wraps fs.ErrNotExist where there is neither,
// ErrBusy during a download, and ErrInUse where a program that can be looked
// into has it open.
func Remove(dir, name string) (freed uint64, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(dir); err != nil {
		return 0, err
	}
	unlock, err := lock(dir, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if pid := userOf(path); pid != "" {
		return 0, fmt.Errorf("%w: process %s has %s open: stop it, or let it serve another model", ErrInUse, pid, path)
	}
	found := false
	for _, name := range []string{path, path + ".part", path + ".part.json"} {
		st, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && st.IsDir() {
			err = fmt.Errorf("%s is a folder", name)
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil {
			return freed, err
		}
		found = true
		if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Nlink == 1 {
			freed += uint64(s.Blocks) * 512
		}
	}
	if !found {
		return 0, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return freed, nil
}

// userOf returns the id of a process that maps the file, "" where none is
// found. Those of other users cannot be looked into without root.
func userOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return ""
	}
	maps, _ := filepath.Glob("/proc/[0-9]*/maps")
	for _, m := range maps {
		text, err := os.ReadFile(m)
		if err == nil && strings.Contains(string(text)+"\n", " "+real+"\n") {
			return filepath.Base(filepath.Dir(m))
		}
	}
	return ""
}
