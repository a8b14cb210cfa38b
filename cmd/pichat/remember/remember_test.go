package remember

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

type thing struct{ N int }

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "a.gguf")
	if err := os.WriteFile(model, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Folder{Path: filepath.Join(dir, "cache"), Machine: "this one"}
	var got thing
	if f.Load("speeds", model, &got) {
		t.Error("something is remembered before anything was saved")
	}
	if err := f.Save("speeds", model, thing{7}); err != nil {
		t.Fatal(err)
	}
	if !f.Load("speeds", model, &got) || got.N != 7 {
		t.Errorf("loaded %+v, want 7", got)
	}
	other := f
	other.Machine = "another"
	if other.Load("speeds", model, &got) || f.Load("threads", model, &got) {
		t.Error("another machine, or another kind, finds it too")
	}
	if err := os.WriteFile(model, []byte("GGUF, changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Load("speeds", model, &got) {
		t.Error("a changed model finds what was measured of the old one")
	}
	if err := (Folder{}).Save("speeds", model, thing{}); !errors.Is(err, ErrNowhere) {
		t.Errorf("without a folder: %v", err)
	}
}
