package scripts_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builder is a clone on a host that has no compiler for the Pi, and a box that
// builds for it: its compilers are this machine's for ARM, under their short
// names, and its kernel says that it is one. CMake is a stand-in.
type builder struct {
	*clone
	box  *box
	bin  string   // the programs of the box; no others are there
	host string   // the programs of the host
	env  []string // of the box
}

// tinyMain is a program that tells what it was built from.
const tinyMain = `package main

import "example/llm/llamacpp"

var version string

func main() { println("pichat", version, "first words", llamacpp.Answer()) }
`

const tinyBinding = `package llamacpp

// #cgo LDFLAGS: -lllama
// #include "llama.h"
import "C"

func Answer() int { return int(C.answer()) }
`

// newBuilder makes one whose box has more of an environment; it skips the test
// where this machine cannot play both parts.
func newBuilder(t *testing.T, env ...string) *builder {
	t.Helper()
	needBuilder(t)
	b := &builder{clone: newClone(t, t.TempDir()), bin: t.TempDir(), host: t.TempDir()}
	b.env = append(env, "LLAMA_CPP_DIR="+b.llama, "BUILDS="+filepath.Join(b.cache, "builds"), "PICHAT_CACHE="+b.cache)
	for _, name := range []string{"setup.sh", "pi.sh", "bundle.sh", "build-on-pi.sh", "build-on-pi-steps.sh", "../Makefile", "../LICENSE"} {
		write(t, filepath.Join(b.dir, "scripts", name), read(t, name))
	}
	deploy, _ := filepath.Glob("deploy*.sh")
	for _, name := range deploy {
		write(t, filepath.Join(b.dir, "scripts", name), read(t, name))
	}
	write(t, filepath.Join(b.dir, "go.mod"), "module example\n\ngo 1.26.0\n")
	write(t, filepath.Join(b.dir, "llm/llamacpp/llamacpp.go"), tinyBinding)
	write(t, filepath.Join(b.dir, "cmd/pichat/licences/third_party.txt"), "theirs\n")
	write(t, filepath.Join(b.dir, "cmd/pichat/main.go"), tinyMain)
	write(t, filepath.Join(b.dir, ".gitignore"), "/build/\n/dist/\n/bin/\n/llama/\n")
	commit(t, b.dir)
	b.playHost(t)
	b.playPi(t)
	return b
}

// needBuilder skips a test where this machine cannot play a Pi that builds.
func needBuilder(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles for another machine")
	}
	for _, need := range []string{"/usr/sbin/sshd", "aarch64-linux-gnu-g++", "ninja", "pip3", "dpkg", "make", "git"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is not here", need)
		}
	}
	if os.Getuid() == 0 {
		_ = os.Mkdir("/run/sshd", 0o755) // sshd as root wants it
	}
}

// commit makes a folder a clone of git with all that is in it.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all"}, {"tag", "v9.0"}} {
		run(t, "git", append([]string{"-C", dir}, args...)...)
	}
}

// mirror fills a folder with links to this machine's programs, but for some.
func mirror(t *testing.T, dir string, without ...string) {
	t.Helper()
	for _, from := range []string{"/bin", "/usr/bin"} {
		programs, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
	next:
		for _, p := range programs {
			for _, pattern := range without {
				if hit, _ := filepath.Match(pattern, p.Name()); hit {
					continue next
				}
			}
			if err := os.Symlink(filepath.Join(from, p.Name()), filepath.Join(dir, p.Name())); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// playHost gives the host what a Mac has, with bash and coreutils by Homebrew.
func (b *builder) playHost(t *testing.T) {
	t.Helper()
	mirror(t, b.host, "aarch64*", "apt*", "dpkg*", "gcc*", "g++*", "cc", "c++", "cmake", "ninja", "flock", "setsid", "rsync", "go", "ss")
	standIn(t, b.host, "uname", "#!/bin/sh\n[ \"$1\" = -m ] && echo arm64 || echo Darwin\n")
}

// playPi gives the box the programs of a Pi that builds, and an sshd.
func (b *builder) playPi(t *testing.T) {
	t.Helper()
	mirror(t, b.bin, "aarch64*", "apt*", "gcc*", "g++*", "cc", "c++", "sudo")
	for short, long := range map[string]string{"gcc": "gcc", "cc": "gcc", "g++": "g++", "c++": "g++", "ar": "ar", "readelf": "readelf"} {
		standIn(t, b.bin, short, "#!/bin/sh\nexec /usr/bin/aarch64-linux-gnu-"+long+" \"$@\"\n")
	}
	golang, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	standIn(t, b.bin, "go", "#!/bin/sh\nexec "+golang+" \"$@\"\n")
	standIn(t, b.bin, "cmake", fakeCMake)
	b.startPi(t, b.bin)
}

// standIn puts a program into a folder, in place of a link to the real one.
func standIn(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name), text)
}

// startPi starts a box that says it is a Pi.
func (b *builder) startPi(t *testing.T, dirs string) {
	t.Helper()
	standIn(t, b.bin, "uname", "#!/bin/sh\n[ \"$1\" = -m ] && echo aarch64 || exec /usr/bin/uname \"$@\"\n")
	cache := strings.Fields(run(t, "go", "env", "GOCACHE", "GOMODCACHE"))
	env := append(b.env, "GOCACHE="+cache[0], "GOMODCACHE="+cache[1])
	b.box = &box{root: t.TempDir(), port: freePort(t), dirs: dirs, env: " " + strings.Join(env, " ")}
	b.box.start(t)
	shell := []byte(read(t, b.box.path("bin/sh")))
	shell[18], shell[19] = byte(elf.EM_AARCH64), 0
	b.box.write(t, "bin/sh", string(shell))
	b.box.write(t, "proc/meminfo", "MemTotal: 8255000 kB\nMemAvailable: 7000000 kB\n")
}

// pi prepares a run of make pi on the host.
func (b *builder) pi(args ...string) *exec.Cmd {
	cmd := exec.Command("make", append([]string{"pi"}, args...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "PATH="+b.host, "SSH="+b.box.ssh, "PORT="+b.box.port, "PICHAT_CACHE=/nowhere")
	return cmd
}

// makes runs make pi, which must succeed, and returns what it says.
func (b *builder) makes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.pi(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("make pi: %v\n%s", err, out)
	}
	return string(out)
}

// program is the file that came back, which must be one for a Pi.
func (b *builder) program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(b.dir, "dist/pichat-linux-arm64")
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != elf.EM_AARCH64 {
		t.Errorf("the program is for %v", file.Machine)
	}
	check := exec.Command("sha256sum", "--check", "SHA256SUMS")
	check.Dir = filepath.Dir(path)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("dist: %v\n%s", err, out)
	}
	return read(t, path)
}
