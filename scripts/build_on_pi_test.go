package scripts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildOnPi(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	wantText(t, b.makes(t, "BUILD_ON=box"), "box: building version v9.0 there", "compiling llama.cpp", "version v9.0, built on box")
	wantText(t, b.program(t), "first words", "v9.0")
	for flavour, arch := range map[string]string{"armv8": "=armv8-a+crc\n", "a76": "=armv8.2-a+dotprod+fp16\n"} {
		recipes, _ := filepath.Glob(filepath.Join(b.cache, "engine/7.8-"+flavour+"-*/recipe.txt"))
		if len(recipes) != 1 {
			t.Fatalf("engines of %s: %v, want one", flavour, recipes)
		}
		wantText(t, strings.ReplaceAll(read(t, recipes[0]), " ", "\n"), arch, "CMAKE_CXX_COMPILER=g++\n")
	}

	// What was changed, added and removed here since, is so there too.
	write(t, filepath.Join(b.dir, "cmd/pichat/main.go"), strings.Replace(tinyMain, `"first words"`, "words()", 1))
	write(t, filepath.Join(b.dir, "cmd/pichat/new file.go"), "package main\n\nfunc words() string { return \"second words\" }\n")
	said := b.makes(t, "BUILD_ON=pi", "PI=box box", "DRY_RUN=1")
	wantText(t, said, "would build version v9.0-dirty there", "would copy pichat-linux-arm64", "64-bit aarch64")
	wantText(t, b.program(t), "first words")
	if strings.Contains(b.makes(t, "BUILD_ON=box"), "compiling") || b.builds(t) != 2 {
		t.Errorf("%d engines were built, want 2", b.builds(t))
	}
	wantText(t, b.program(t), "second words", "v9.0-dirty")

	b.copyBackIsCut(t)

	if err := os.Remove(filepath.Join(b.dir, "cmd/pichat/new file.go")); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.pi("BUILD_ON=box")), "undefined: words", "box: the build failed there")
	wantText(t, b.program(t), "second words")
}

// copyBackIsCut checks that the copy of what was built goes on where it was cut,
// and that rubbish in its place is found.
func (b *builder) copyBackIsCut(t *testing.T) {
	t.Helper()
	whole := b.program(t)
	path := filepath.Join(b.dir, "dist/pichat-linux-arm64")
	sum := sha256.Sum256([]byte(whole))
	part := filepath.Join(b.dir, "dist/.pichat-linux-arm64."+hex.EncodeToString(sum[:])+".part")
	cut := func(text string) {
		write(t, part, text)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	cut(whole[:1e6])
	wantText(t, b.makes(t, "BUILD_ON=box"), "going on with the copy: 1.0 MB are here")
	if b.program(t) != whole {
		t.Error("what came back in two parts is another program")
	}
	cut(strings.Repeat("x", 1e6))
	wantText(t, fails(t, b.pi("BUILD_ON=box")), "what arrived from box is not what was built there", "run the same again")
	b.makes(t, "BUILD_ON=box")
	if b.program(t) != whole {
		t.Error("what came back after a damaged copy is another program")
	}
}

// shareEngines gives the box a cache folder with the engines of this machine's.
func (b *builder) shareEngines(t *testing.T) {
	t.Helper()
	own := os.Getenv("PICHAT_CACHE")
	if own == "" {
		folder, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		own = filepath.Join(folder, "pichat")
	}
	b.cache = t.TempDir()
	for _, name := range []string{"engine", "src", "downloads"} {
		if err := os.Symlink(filepath.Join(own, name), filepath.Join(b.cache, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.env = []string{"PICHAT_CACHE=" + b.cache}
}

// TestDeployBuiltOnPi builds this clone itself on a box, with the engines of this
// machine's cache folder, and runs what comes back under emulation. It takes a
// minute or two: `make deploy-test` runs it.
func TestDeployBuiltOnPi(t *testing.T) {
	if os.Getenv("DEPLOY_TEST") == "" {
		t.Skip("takes minutes: make deploy-test runs it")
	}
	needBuilder(t)
	b := &builder{clone: &clone{dir: t.TempDir()}, bin: t.TempDir(), host: t.TempDir()}
	b.shareEngines(t)
	run(t, "bash", "-c", `cd .. && git ls-files -z --cached --others --exclude-standard | tar --null -cf - -T - | tar -xf - -C "$0"`, b.dir)
	commit(t, b.dir)
	b.playHost(t)
	b.startPi(t, b.bin+":"+os.Getenv("PATH"))
	out := b.makes(t, "BUILD_ON=box")
	t.Log(out)
	b.program(t)
	wantText(t, b.makes(t, "BUILD_ON=box", "PI=box", "DRY_RUN=1"), "would copy pichat-linux-arm64", "64-bit aarch64")
	if qemu, err := exec.LookPath("qemu-aarch64-static"); err == nil {
		version := strings.Fields(run(t, qemu, "-cpu", "cortex-a72", filepath.Join(b.dir, "dist/pichat-linux-arm64"), "version"))
		wantText(t, strings.Join(version, " "), "pichat v9.0", "flavour armv8", "program baseline")
	}
}
