package scripts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestEngineIsBuiltOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	first, second := newClone(t, cache), newClone(t, cache)
	a := first.engine(t)
	if again := first.engine(t); again != a {
		t.Errorf("a second run moved the engine from %s to %s", a, again)
	}
	if b := second.engine(t); b != a {
		t.Errorf("a second clone has %s, want the first one's %s", b, a)
	}
	if n := first.builds(t); n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
	if !strings.HasPrefix(filepath.Base(a), "7.8-native-") {
		t.Errorf("the engine's folder %s does not tell version and flavour", a)
	}
}

func TestEngineOfConcurrentClonesIsBuiltOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	clones := []*clone{newClone(t, cache), newClone(t, cache), newClone(t, cache)}
	var wg sync.WaitGroup
	for _, c := range clones {
		wg.Go(func() {
			if out, err := c.command(nil, "scripts/engine.sh").CombinedOutput(); err != nil {
				t.Errorf("engine.sh: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if n := clones[0].builds(t); n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
}

func TestEngineChangesWithWhatShapesIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  string
		edit string // a new answer, when not empty
	}{
		{name: "a CMake flag", env: "ENGINE_FLAGS=-DGGML_RPC=ON"},
		{name: "a compiler flag", env: "CXXFLAGS=-O1"},
		{name: "the sources", edit: "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t, t.TempDir())
			generated := filepath.Join(c.dir, "llm/llamacpp/engine_build.go")
			before, beforeGo := c.engine(t), ""
			beforeGo = read(t, generated)

			var env []string
			if tt.env != "" {
				env = append(env, tt.env)
			}
			if tt.edit != "" {
				c.answer(t, tt.edit)
			}
			if after := c.engine(t, env...); after == before {
				t.Errorf("the engine is still %s", after)
			}
			if read(t, generated) == beforeGo {
				t.Errorf("the generated Go file did not change, so Go would not link the new engine")
			}

			c.answer(t, "1")
			if back := c.engine(t); back != before {
				t.Errorf("back to what it was, the engine is %s, want %s", back, before)
			}
			if n := c.builds(t); n != 2 {
				t.Errorf("%d builds, want 2", n)
			}
		})
	}
}

// The Go file is written only on a change: its time alone would make editors
// and build tools look again.
func TestEngineLeavesAnUnchangedGoFileAlone(t *testing.T) {
	t.Parallel()
	c := newClone(t, t.TempDir())
	c.engine(t)
	generated := filepath.Join(c.dir, "llm/llamacpp/engine_build.go")
	before, err := os.Stat(generated)
	if err != nil {
		t.Fatal(err)
	}
	c.engine(t)
	after, err := os.Stat(generated)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the generated Go file was written again")
	}
}

// Go's build cache does not look into a static library: without the generated
// file, a program would keep its old engine for ever. The program here uses
// nothing of that file, which is the hardest case.
func TestChangedEngineIsLinked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a cgo program")
	}
	c := newClone(t, t.TempDir())
	write(t, filepath.Join(c.dir, "go.mod"), "module example\n\ngo 1.26.0\n")
	write(t, filepath.Join(c.dir, "llm/llamacpp/llamacpp.go"), `package llamacpp

// #cgo CFLAGS: -I${SRCDIR}/../../build/engine/include
// #cgo LDFLAGS: -L${SRCDIR}/../../build/engine/lib -lllama
// #include "llama.h"
import "C"

func Answer() int { return int(C.answer()) }
`)
	write(t, filepath.Join(c.dir, "main.go"), `package main

import "example/llm/llamacpp"

func main() { print(llamacpp.Answer()) }
`)
	for _, answer := range []string{"1", "2", "1"} {
		c.answer(t, answer)
		c.engine(t)
		out, err := c.command(nil, "go", "run", ".").CombinedOutput()
		if err != nil {
			t.Fatalf("go run: %v\n%s", err, out)
		}
		if got := string(out); got != answer {
			t.Errorf("the program is linked with the engine that answers %q, want %q", got, answer)
		}
	}
}

func TestInterruptedEngineBuildRecovers(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := newClone(t, t.TempDir())
			fifo := filepath.Join(c.dir, "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := c.command([]string{"STOP_AT=" + fifo}, "scripts/engine.sh")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			read(t, fifo) // the build is under way
			if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the interrupted run says it succeeded")
			}
			if whole, _ := filepath.Glob(filepath.Join(c.cache, "engine/*/lib")); len(whole) > 0 && filepath.Ext(filepath.Dir(whole[0])) != ".tmp" {
				t.Errorf("an interrupted build left %v", whole)
			}
			c.engine(t)
			if left, _ := filepath.Glob(filepath.Join(c.cache, "engine/*.tmp")); len(left) > 0 {
				t.Errorf("the next run left %v", left)
			}
		})
	}
}

func TestEngineFaults(t *testing.T) {
	t.Parallel()
	c := newClone(t, t.TempDir())
	for _, tt := range []struct {
		name  string
		cmd   *exec.Cmd
		words []string
	}{
		{"unknown flavour", c.command(nil, "scripts/engine.sh", "quantum"),
			[]string{"unknown flavour 'quantum'", "native, armv8, a76"}},
		{"no such tree", c.command([]string{"LLAMA_CPP_DIR=/no/such"}, "scripts/engine.sh"),
			[]string{"LLAMA_CPP_DIR=/no/such", "no such folder"}},
		{"not llama.cpp", c.command([]string{"LLAMA_CPP_DIR=" + c.bin}, "scripts/engine.sh"),
			[]string{"LLAMA_CPP_DIR=" + c.bin, "include/llama.h"}},
		{"no compiler", c.command([]string{"CXX=no-such-compiler"}, "scripts/engine.sh"),
			[]string{"no working compiler 'no-such-compiler'", "make setup"}},
		{"no cross compiler", c.command([]string{"CROSS=no-such-"}, "scripts/engine.sh", "a76"),
			[]string{"no working compiler 'no-such-gcc'", "scripts/setup.sh pi", "CROSS"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantText(t, fails(t, tt.cmd), tt.words...)
		})
	}
}

func TestFailedEngineBuildShowsWhy(t *testing.T) {
	t.Parallel()
	c := newClone(t, t.TempDir())
	c.answer(t, "oops")
	got := fails(t, c.command(nil, "scripts/engine.sh"))
	wantText(t, got, "oops", "the build failed", "failed.log")
	wantText(t, read(t, filepath.Join(c.cache, "engine/failed.log")), "oops")
	if _, err := os.Lstat(filepath.Join(c.dir, "build/engine")); err == nil {
		t.Error("build/engine is there after a failed build")
	}
	c.answer(t, "1")
	c.engine(t)
}

// A cross flavour stands beside the native engine, with its own list of
// replacements for go build, and moves nothing of the native one.
func TestCrossEngineLeavesTheNativeAlone(t *testing.T) {
	t.Parallel()
	c := newClone(t, t.TempDir())
	for _, name := range []string{"gcc", "g++"} {
		write(t, filepath.Join(c.bin, "fake-"+name), "#!/bin/sh\necho fake-"+name+" 1.0\n")
	}
	native := c.engine(t)
	generated := filepath.Join(c.dir, "llm/llamacpp/engine_build.go")
	before := read(t, generated)
	keys := map[string]bool{}
	for _, flavour := range []string{"armv8", "a76", "armv8"} {
		// What a person set for this machine's compiler must not reach the other.
		env := []string{"CROSS=fake-", "CFLAGS=-march=native"}
		if out, err := c.command(env, "scripts/engine.sh", flavour).CombinedOutput(); err != nil {
			t.Fatalf("engine.sh %s: %v\n%s", flavour, err, out)
		}
		target, err := os.Readlink(filepath.Join(c.dir, "build/engine-"+flavour))
		if err != nil || !strings.HasPrefix(filepath.Base(target), "7.8-"+flavour+"-") {
			t.Errorf("build/engine-%s links to %s (%v)", flavour, target, err)
		}
		keys[target] = true
		wantText(t, read(t, filepath.Join(target, "recipe.txt")), "CMAKE_CXX_COMPILER=fake-g++", "CFLAGS \n")
		wantText(t, read(t, filepath.Join(c.dir, "build/engine-"+flavour+".go.txt")), `engineFlavour = "`+flavour+`"`)
		var overlay struct{ Replace map[string]string }
		if err := json.Unmarshal([]byte(read(t, filepath.Join(c.dir, "build/engine-"+flavour+".json"))), &overlay); err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(overlay.Replace[generated]); got != "engine-"+flavour+".go.txt" {
			t.Errorf("%s: engine_build.go is replaced by %q", flavour, got)
		}
	}
	if len(keys) != 2 || c.builds(t) != 3 {
		t.Errorf("%d cross engines by %d builds, want 2 and, with the native one, 3", len(keys), c.builds(t))
	}
	if now, _ := os.Readlink(filepath.Join(c.dir, "build/engine")); now != native || read(t, generated) != before {
		t.Errorf("the native engine is now %s, was %s", now, native)
	}
}
