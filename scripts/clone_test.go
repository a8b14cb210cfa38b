// Package scripts_test runs the scripts that take a bare machine to a running
// server, with stand-ins for what is slow: CMake and the package index.
package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeCMake stands in for CMake: it makes the four libraries of one C file, and
// leaves a line in $BUILDS for each build.
const fakeCMake = `#!/bin/bash
set -e
if [[ $1 == -S ]]; then
	mkdir -p "$4" && cp "$2/src/answer.c" "$4"
	exit
fi
echo built >>"$BUILDS"
if [[ -n $STOP_AT ]]; then
	echo >"$STOP_AT" # tells the test that the build is under way
	read -r _ <"$STOP_AT"
fi
cd "$2"
echo '[ 50%] half of it'
if ! cc -c answer.c -o answer.o; then echo 'FAILED: answer.o'; exit 1; fi
for lib in llama ggml ggml-cpu ggml-base; do ar rcs "lib$lib.a" answer.o; done
echo '[100%] all of it'
`

// clone is a copy of the scripts in a folder of its own, with a cache and a
// llama.cpp tree of its own.
type clone struct {
	dir, cache, llama, bin string
	env                    []string
}

// newClone lays out a clone whose engine is one function that answers 1. Clones
// of one test may share a cache.
func newClone(t *testing.T, cache string) *clone {
	t.Helper()
	c := &clone{dir: t.TempDir(), cache: cache}
	c.llama = filepath.Join(c.dir, "llama")
	c.bin = filepath.Join(c.dir, "bin")
	for _, name := range []string{"lib.sh", "engine.sh", "model.sh"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.dir, "scripts", name), string(text))
	}
	write(t, filepath.Join(c.bin, "cmake"), fakeCMake)
	write(t, filepath.Join(c.llama, "CMakeLists.txt"), "set(LLAMA_VERSION_MAJOR 7)\nset(LLAMA_VERSION_MINOR 8)\n")
	write(t, filepath.Join(c.llama, "include/llama.h"), "int answer(void);\n")
	write(t, filepath.Join(c.llama, "ggml/include/ggml.h"), "\n")
	c.answer(t, "1")
	c.env = append(os.Environ(),
		"PICHAT_CACHE="+cache,
		"LLAMA_CPP_DIR="+c.llama,
		"ENGINE_FLAGS=",
		"STOP_AT=",
		"BUILDS="+filepath.Join(cache, "builds"),
		"PATH="+c.bin+":"+os.Getenv("PATH"),
	)
	return c
}

// answer changes the engine's source.
func (c *clone) answer(t *testing.T, value string) {
	t.Helper()
	write(t, filepath.Join(c.llama, "src/answer.c"), "int answer(void) { return "+value+"; }\n")
}

// command prepares a command in the clone; env adds to its environment.
func (c *clone) command(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(append([]string{}, c.env...), env...)
	return cmd
}

// engine builds the engine, which must succeed, and returns what build/engine
// points at.
func (c *clone) engine(t *testing.T, env ...string) string {
	t.Helper()
	if out, err := c.command(env, "scripts/engine.sh").CombinedOutput(); err != nil {
		t.Fatalf("engine.sh: %v\n%s", err, out)
	}
	target, err := os.Readlink(filepath.Join(c.dir, "build/engine"))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// builds counts the builds that the clone's cache has seen.
func (c *clone) builds(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.cache, "builds"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// fails runs a command that must fail, and returns what it says.
func fails(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("%v succeeded:\n%s", cmd.Args, out)
	}
	return string(out)
}

// wantText checks that a message holds the words.
func wantText(t *testing.T, got string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("message lacks %q:\n%s", w, got)
		}
	}
}

// write makes an executable file with its folders.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// read returns a file's text.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
