package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// On another system the script must say what to do, and not stumble over that
// system's old bash or missing programs first.
func TestPiSaysThatItTakesLinux(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	write(t, filepath.Join(bin, "uname"), "#!/bin/sh\necho Darwin\n")
	for script, words := range map[string][]string{
		"pi.sh":      {"Linux only", "this is Darwin", "in a Linux container", "on the Pi itself"},
		"pi-test.sh": {"skipped", "takes Linux"},
	} {
		cmd := exec.Command("bash", script)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		// A check that cannot be made is no failure; a build that cannot is one.
		if failed := err != nil; failed != (script == "pi.sh") {
			t.Errorf("%s: %v", script, err)
		}
		wantText(t, string(out), words...)
	}
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
