package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoiled writes a model file whose head, the first 4 MB of a good model, went
// through spoil. Its tensors are a hole of the right size, read as zeros.
func spoiled(t *testing.T, spoil func(head []byte) []byte) string {
	t.Helper()
	good, err := os.Open(model(t, smolLM))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	info, err := good.Stat()
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 4<<20)
	if _, err := io.ReadFull(good, head); err != nil {
		t.Fatal(err)
	}
	bad := spoil(head)
	name := filepath.Join(t.TempDir(), "spoiled.gguf")
	if err := os.WriteFile(name, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, info.Size()+int64(len(bad)-len(head))); err != nil {
		t.Fatal(err)
	}
	return name
}

// withNumber inserts a metadata entry in front of the others, and a filler
// that keeps what follows aligned to 32 bytes.
func withNumber(head []byte, key string, value uint32) []byte {
	const metadata = 24 // after magic, version, and the numbers of tensors and entries
	le := binary.LittleEndian
	entry := le.AppendUint64(nil, uint64(len(key)))
	entry = append(entry, key...)
	entry = le.AppendUint32(entry, 4) // uint32
	entry = le.AppendUint32(entry, value)
	const name = "test.filler"
	fixed := len(entry) + 8 + len(name) + 4 + 8
	filler := bytes.Repeat([]byte("x"), (32-fixed%32)%32)
	entry = le.AppendUint64(entry, uint64(len(name)))
	entry = append(entry, name...)
	entry = le.AppendUint32(entry, 8) // string
	entry = le.AppendUint64(entry, uint64(len(filler)))
	entry = append(entry, filler...)

	out := bytes.Clone(head[:metadata])
	le.PutUint64(out[16:], le.Uint64(out[16:])+2)
	out = append(out, entry...)
	return append(out, head[metadata:]...)
}

// aborting is a file that llama.cpp's loader answers with an assertion.
func aborting(t *testing.T) string {
	return spoiled(t, func(head []byte) []byte { return withNumber(head, "llama.nextn_predict_layers", 100) })
}

func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Every bad model gives one line that says what is wrong and names the file,
// and a status other than 0.
func TestBadModels(t *testing.T) {
	tests := []struct {
		name string
		file func(*testing.T) string
		says string
	}{
		{"missing", func(t *testing.T) string { return filepath.Join(t.TempDir(), "none.gguf") }, "no such file"},
		{"a folder", func(t *testing.T) string { return t.TempDir() }, "folder"},
		{"empty", func(t *testing.T) string { return write(t, "") }, "empty"},
		{"a web page", func(t *testing.T) string { return write(t, "<!DOCTYPE html><html><body>404</body></html>") }, "web page"},
		{"something else", func(t *testing.T) string { return write(t, strings.Repeat("x", 5000)) }, "GGUF"},
		{"cut off in its tensors", func(t *testing.T) string {
			name := spoiled(t, bytes.Clone)
			if err := os.Truncate(name, 50e6); err != nil {
				t.Fatal(err)
			}
			return name
		}, "bytes"},
		{"cut off in its header", func(t *testing.T) string {
			name := spoiled(t, bytes.Clone)
			if err := os.Truncate(name, 100e3); err != nil {
				t.Fatal(err)
			}
			return name
		}, "ends in its header"},
		{"an architecture that nobody knows", func(t *testing.T) string {
			return spoiled(t, func(head []byte) []byte {
				return bytes.Replace(head, []byte("\x05\x00\x00\x00\x00\x00\x00\x00llama"), []byte("\x05\x00\x00\x00\x00\x00\x00\x00zlama"), 1)
			})
		}, "zlama"},
		{"one that aborts the loader", aborting, "crash"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := tt.file(t)
			for _, args := range [][]string{{"model", "check", file}, {"ask", "--model", file, "hi"}} {
				cmd := pichat(t, args...)
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				_ = cmd.Run()
				said := stderr.String()
				if cmd.ProcessState.ExitCode() != statusFailed || stdout.Len() > 0 {
					t.Errorf("%s: status %v, said %q and %q", args[0], cmd.ProcessState, stdout.String(), said)
				}
				if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "pichat: ") || !strings.Contains(said, tt.says) || !strings.Contains(said, file) {
					t.Errorf("%s: got %q, want one line with %q and the file's name", args[0], said, tt.says)
				}
			}
		})
	}
}
