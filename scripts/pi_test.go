package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What emulates a Pi takes Linux, and says so before it stumbles over another
// system's programs.
func TestPiTestSaysThatItTakesLinux(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	write(t, filepath.Join(bin, "uname"), "#!/bin/sh\necho Darwin\n")
	cmd := exec.Command("bash", "pi-test.sh")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil { // a check that cannot be made is no failure
		t.Errorf("pi-test.sh: %v", err)
	}
	wantText(t, string(out), "skipped", "takes Linux")
}

// A compiler that someone names and that is not there is named, and nothing is
// installed in its place.
func TestPiWithoutTheNamedCompiler(t *testing.T) {
	t.Parallel()
	c := newClone(t, t.TempDir())
	for _, name := range []string{"pi.sh", "bundle.sh", "setup.sh"} {
		write(t, filepath.Join(c.dir, "scripts", name), read(t, name))
	}
	write(t, filepath.Join(c.dir, "go.mod"), "module example\n\ngo 1.26.0\n")
	write(t, filepath.Join(c.bin, "apt-get"), "#!/bin/sh\necho no apt-get wanted; exit 1\n")
	got := fails(t, c.command([]string{"CROSS=no-such-", "VERSION=v1"}, "scripts/pi.sh"))
	wantText(t, got, "no working compiler 'no-such-gcc'", "CROSS")
	if files, _ := filepath.Glob(filepath.Join(c.dir, "dist/*")); len(files) > 0 {
		t.Errorf("it left %v", files)
	}
}
