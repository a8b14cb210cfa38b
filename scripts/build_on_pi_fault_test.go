package scripts_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The connection goes down while an engine is being compiled. The build goes on
// there, and the next run takes up what it made.
func TestBuildOnPiOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t, "STOP_AT="+fifo)
	first := b.pi("BUILD_ON=box")
	var said strings.Builder
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	read(t, fifo) // the first engine is under way
	b.box.pullPlug(t)
	if err := first.Wait(); err == nil {
		t.Error("the run whose connection was cut says it succeeded")
	}
	wantText(t, said.String(), "box: the connection was lost. Run the same again")

	second := b.pi("BUILD_ON=box")
	errors, err := second.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(errors), ""
	for lines.Scan() && !strings.Contains(lines.Text(), "following it") {
		seen += lines.Text() + "\n"
	}
	write(t, fifo, "go on\n")
	read(t, fifo) // the second engine
	write(t, fifo, "go on\n")
	rest, _ := io.ReadAll(io.MultiReader(errors))
	if err := second.Wait(); err != nil {
		t.Fatalf("the second run: %v\n%s%s", err, seen, rest)
	}
	wantText(t, b.program(t), "first words")
	if n := b.builds(t); n != 2 {
		t.Errorf("%d engines were built, want 2", n)
	}
}

// pullPlug ends the connections to the box.
func (b *box) pullPlug(t *testing.T) {
	t.Helper()
	for _, pid := range strings.Fields(run(t, "pgrep", "-P", strconv.Itoa(b.sshd))) {
		n, _ := strconv.Atoi(pid)
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBuildOnPiRefusals(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	shell := read(t, b.box.path("bin/sh"))
	for _, tt := range []struct {
		name  string
		file  string // of the box
		text  string
		args  []string
		words []string
	}{
		{"no Pi", "", "", nil, []string{"Darwin on arm64, without a compiler for 64-bit ARM", "make pi PI=pi@", "make pi BUILD_ON=pi@", "in a clone on the Pi"}},
		{"no first Pi", "", "", []string{"BUILD_ON=pi"}, []string{"BUILD_ON=pi means the first machine of PI", "names none"}},
		{"two machines", "", "", []string{"BUILD_ON=box box"}, []string{"BUILD_ON=box box: want one machine"}},
		{"an option", "", "", []string{"BUILD_ON=-oProxyCommand=x"}, []string{"BUILD_ON=-oProxyCommand=x: want one machine"}},
		{"unknown host", "", "", []string{"PI=nowhere"}, []string{"nowhere: unknown host"}},
		{"32-bit system", "bin/sh", elf32, []string{"PI=box"}, []string{"box: its system is 32-bit", "64-bit Raspberry Pi OS"}},
		{"another machine", "bin/sh", shell[:18] + "\x3e" + shell[19:], []string{"PI=box"}, []string{"box: its system is for x86_64"}},
		{"no room", "", "", []string{"PI=box"}, []string{"box: the disk is full: 100 MB are free", "up to 2000"}},
	} {
		if tt.file != "" {
			b.box.write(t, tt.file, tt.text)
		}
		if tt.name == "no room" {
			standIn(t, b.bin, "df", "#!/bin/sh\nprintf 'x\\nx 1 1 100000 1%% /\\n'\n")
		}
		t.Log(tt.name)
		wantText(t, fails(t, b.pi(tt.args...)), tt.words...)
		b.box.write(t, "bin/sh", shell)
	}
	standIn(t, b.bin, "df", "#!/bin/sh\nexec /usr/bin/df \"$@\"\n")
	b.box.write(t, "proc/meminfo", "MemTotal: 430000 kB\nMemAvailable: 290000 kB\n")
	wantText(t, b.makes(t, "BUILD_ON=box", "DRY_RUN=1"), "only 290 MB of its memory are free", "stop pichat", "would build")
	if exists(filepath.Join(b.cache, "build")) || exists(filepath.Join(b.dir, "dist")) {
		t.Error("a dry run, or a refused one, left something")
	}
	b.answer(t, "1;\n#error No space left on device\n")
	wantText(t, fails(t, b.pi("BUILD_ON=box")), "the disk is full here: make room", "box: the build failed there")
}

// What the build needs of the system is installed there, by who may do that.
func TestBuildOnPiInstallsPackages(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	compiler := filepath.Join(b.bin, "g++")
	if err := os.Rename(compiler, compiler+".package"); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.pi("BUILD_ON=box")), "Debian packages g++, and there is no apt-get there")
	standIn(t, b.bin, "apt-get", "#!/bin/sh\necho \"apt-get $*\"\ncase $* in *install*g++) mv "+compiler+".package "+compiler+" ;; esac\n")
	standIn(t, b.bin, "id", "#!/bin/sh\n[ \"$1\" = -u ] && echo 1000 || exec /usr/bin/id \"$@\"\n")
	wantText(t, fails(t, b.pi("BUILD_ON=box")), "neither root nor has sudo: g++", "apt-get install g++")
	standIn(t, b.bin, "id", "#!/bin/sh\nexec /usr/bin/id \"$@\"\n")
	wantText(t, b.makes(t, "BUILD_ON=box"), "box: installing g++", "apt-get -q -y", "built on box")
	wantText(t, b.program(t), "first words")
}

// On the Pi itself its own compiler builds, unless its system is a 32-bit one.
func TestPiOnThePi(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	pi := func() *exec.Cmd {
		cmd := exec.Command("make", "pi")
		cmd.Dir = b.dir
		cmd.Env = append(append(os.Environ(), b.env...), "PATH="+b.bin)
		return cmd
	}
	if out, err := pi().CombinedOutput(); err != nil {
		t.Fatalf("make pi: %v\n%s", err, out)
	}
	wantText(t, b.program(t), "first words", "v9.0")
	standIn(t, b.bin, "getconf", "#!/bin/sh\necho 32\n")
	wantText(t, fails(t, pi()), "this system is 32-bit", "64-bit Raspberry Pi OS")
}
