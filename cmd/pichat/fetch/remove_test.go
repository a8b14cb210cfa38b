package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i)
	}
	for _, name := range []string{path, path + ".part", filepath.Join(dir, "other.gguf")} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, len(content), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(dir, "m.gguf"); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	holds(t, dir, "m.gguf", "m.gguf.part", "other.gguf")
	if err := syscall.Munmap(mapped); err != nil {
		t.Fatal(err)
	}
	if freed, err := Remove(dir, "m.gguf"); err != nil || freed < 2<<20 || freed > 3<<20 {
		t.Errorf("freed %d, %v", freed, err)
	}
	holds(t, dir, "other.gguf")
	if _, err := Remove(dir, "m.gguf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("twice: %v", err)
	}
	for _, name := range []string{"../" + filepath.Base(dir) + "/other.gguf", "other", ".", ""} {
		if _, err := Remove(dir, name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	holds(t, dir, "other.gguf")
}
