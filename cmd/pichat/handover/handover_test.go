package handover

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The test's own program stands in for both programs of the file: it carries
// itself. What it is to be stands in this variable.
const roleName = "TEST_HANDOVER"

// seen is what the program that goes on finds.
type seen struct {
	PID       int
	Args      []string
	Environ   []string
	Half      Half
	Inherited string // what can be read from descriptor 3
	Calls     int    // of Wish
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleName)
	if role == "" {
		os.Exit(m.Run())
	}
	_, second := os.LookupEnv(markName)
	switch {
	case role == "garbage":
		carried = compress([]byte("no program"))
	case role == "cut":
		carried = carried[:0]
		whole := compress([]byte("no program"))
		carried = whole[:len(whole)-6]
	case !second || role == "loop":
		self, _ := os.ReadFile("/proc/self/exe")
		carried = compress(self)
	}
	other = func() Other { return cortexA76(role != "old", role != "old") }
	s := seen{PID: os.Getpid(), Args: os.Args}
	wish := func() string { s.Calls++; return Auto }
	s.Half, s.Environ = Begin(Config{Args: os.Args, Environ: os.Environ(), Wish: wish, Stderr: os.Stderr})
	if data, err := io.ReadAll(os.NewFile(3, "inherited")); err == nil {
		s.Inherited = string(data)
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// start runs the program in that role and returns what went on, its pid and
// what it said.
func start(t *testing.T, role string, args ...string) (s seen, pid int, stderr string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux runs a file in memory")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = w.WriteString("a socket's stand-in")
	_ = w.Close()
	var out, errs bytes.Buffer
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "/opt/pichat/bin/pichat"
	cmd.Env = []string{roleName + "=" + role, "LISTEN_FDS=1", "EMPTY=", "TWICE=1", "TWICE=2"}
	cmd.ExtraFiles = []*os.File{r}
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v in %q, %s", err, &out, &errs)
	}
	return s, cmd.Process.Pid, errs.String()
}

// check holds what must be the same whichever program goes on.
func check(t *testing.T, s seen, pid int, role string, args ...string) {
	t.Helper()
	if s.PID != pid {
		t.Errorf("pid %d, want %d", s.PID, pid)
	}
	if want := append([]string{"/opt/pichat/bin/pichat"}, args...); !slices.Equal(s.Args, want) {
		t.Errorf("args %q, want %q", s.Args, want)
	}
	if want := []string{roleName + "=" + role, "LISTEN_FDS=1", "EMPTY=", "TWICE=2"}; !slices.Equal(s.Environ, want) {
		t.Errorf("environment %q, want %q", s.Environ, want)
	}
	if s.Inherited != "a socket's stand-in" {
		t.Errorf("the inherited descriptor reads %q", s.Inherited)
	}
	self, _ := os.Executable()
	if s.Half.Program != self {
		t.Errorf("program %q, want the file that was started, %q", s.Half.Program, self)
	}
}

func TestHandover(t *testing.T) {
	s, pid, stderr := start(t, "new", "serve", "--listen", "", "two words")
	check(t, s, pid, "new", "serve", "--listen", "", "two words")
	// The second program was told why; it decided nothing.
	if s.Half.Reason != "Cortex-A76, the CPU reports asimddp and asimdhp" || s.Calls != 0 || stderr != "" {
		t.Errorf("got %+v, %q", s, stderr)
	}
}

func TestStays(t *testing.T) {
	for _, tt := range []struct{ name, role, arg, reason, stderr string }{
		{"a CPU without them", "old", "serve", "does not report asimddp", ""},
		{"a child that tries a model", "new", probeCommand, "as the process that started this one", ""},
		{"a carried file that is no program", "garbage", "serve", "handing over failed: exec /proc/self/fd/", "cannot hand over"},
		{"a carried file that is cut short", "cut", "serve", "handing over failed: unpacking it", "cannot hand over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pid, stderr := start(t, tt.role, tt.arg)
			check(t, s, pid, tt.role, tt.arg)
			if !strings.HasPrefix(s.Half.Reason, "baseline, ") || !strings.Contains(s.Half.Reason, tt.reason) {
				t.Errorf("reason %q, want %q", s.Half.Reason, tt.reason)
			}
			if (stderr != "") != (tt.stderr != "") || !strings.Contains(stderr, tt.stderr) || strings.Count(stderr, "\n") > 1 {
				t.Errorf("stderr %q, want %q", stderr, tt.stderr)
			}
		})
	}
}

// Even a program that carries itself for ever hands over once.
func TestNoLoop(t *testing.T) {
	s, pid, _ := start(t, "loop", "serve")
	if s.PID != pid || s.Calls != 0 || !strings.Contains(s.Half.Reason, "handed over already") {
		t.Errorf("got %+v", s)
	}
}

// The mark may be anything: someone else may have set it.
func TestStrangeMark(t *testing.T) {
	half, environ := takeMark([]string{"A=1", markName + "={", "B=2"})
	if half == nil || half.Reason == "" || !slices.Equal(environ, []string{"A=1", "B=2"}) {
		t.Errorf("got %+v, %q", half, environ)
	}
}
