package boot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pichat/cmd/pichat/remember"
	"pichat/cmd/pichat/tune"
)

func TestCheckThreads(t *testing.T) {
	tests := []struct {
		threads, prefill, processors int
		warns                        bool
		err                          error
	}{
		{0, 0, 4, false, nil},
		{4, 2, 4, false, nil},
		{2, 5, 4, true, nil},
		{16, 0, 4, true, nil},
		{17, 0, 4, false, ErrThreads},
		{2, 512, 4, false, ErrThreads},
		{512, 512, 0, false, nil},
	}
	for _, tt := range tests {
		warning, err := CheckThreads(tt.threads, tt.prefill, tt.processors)
		if (warning != "") != tt.warns || !errors.Is(err, tt.err) {
			t.Errorf("%+v: got %q, %v", tt, warning, err)
		}
	}
}

// What was asked for comes before what was measured, and that before the
// engine's own choice.
func TestThreadsOfAModel(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tuned := tune.Store{Folder: remember.Folder{Path: dir, Machine: "m"}}
	check := func(what string, c Config, wantDecode, wantPrefill int) {
		t.Helper()
		c.Remembered, c.Processors = tuned.Folder, 4
		if d, p := c.threads(path); d != wantDecode || p != wantPrefill {
			t.Errorf("%s: %d and %d, want %d and %d", what, d, p, wantDecode, wantPrefill)
		}
	}
	check("nothing measured", Config{}, 0, 0)
	if err := tuned.Save(tune.Choice{Model: path, Decode: 2, Prefill: 4}); err != nil {
		t.Fatal(err)
	}
	check("measured", Config{}, 2, 4)
	check("decode asked for", Config{Threads: 3}, 3, 0)
	check("prefill asked for", Config{PrefillThreads: 1}, 2, 1)
}
