package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pichat/web/wire"
)

// managed is a pichat in a process of its own under a stand-in for systemd:
// a socket that reads what it tells, and the environment that a unit gives it.
type managed struct {
	t      *testing.T
	cmd    *exec.Cmd
	notify *net.UnixConn
	stdout *safeBuffer
	stderr *safeBuffer
	url    string
}

// startManaged starts serve as pichat.service would: script is what a shell
// runs, with the program as its first argument.
func startManaged(t *testing.T, script string, environ []string, files []*os.File, args ...string) *managed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = notify.Close() })
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &managed{t: t, notify: notify, stdout: new(safeBuffer), stderr: new(safeBuffer)}
	m.cmd = exec.Command("/bin/sh", append([]string{"-c", script, "sh", program, "serve", "--config", "/dev/null"}, args...)...)
	m.cmd.Env = append([]string{"TEST_BE_PICHAT=1", "XDG_CACHE_HOME=" + t.TempDir(), "NOTIFY_SOCKET=" + path}, environ...)
	m.cmd.ExtraFiles = files
	m.cmd.Stdout = m.stdout
	m.cmd.Stderr = m.stderr
	return m
}

// start starts it and waits for its address.
func (m *managed) start() {
	m.t.Helper()
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = m.cmd.Process.Kill(); _ = m.cmd.Wait() })
}

func (m *managed) address() {
	m.t.Helper()
	eventually(m.t, "an address", func() bool {
		found := hereURL.FindStringSubmatch(m.stdout.String())
		if found != nil {
			m.url = found[1]
		}
		return found != nil
	})
}

// told is the next message; "" when none came in time.
func (m *managed) told(wait time.Duration) string {
	m.t.Helper()
	buffer := make([]byte, 4096)
	_ = m.notify.SetReadDeadline(time.Now().Add(wait))
	n, err := m.notify.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

// toldUntil returns all messages up to the first that matches.
func (m *managed) toldUntil(pattern string) []string {
	m.t.Helper()
	var all []string
	for {
		got := m.told(60 * time.Second)
		all = append(all, got)
		if regexp.MustCompile(pattern).MatchString(got) {
			return all
		}
		if got == "" {
			m.t.Fatalf("no message like %q among %q\n%s", pattern, all, m.stderr)
		}
	}
}

const justRun = `exec "$@"`

// systemd hears READY while the model still loads, then how far it is, then
// which model serves, and of the end; pages are told and it ends in time.
func TestSystemdFollowsAModel(t *testing.T) {
	m := startManaged(t, justRun, []string{"WATCHDOG_USEC=30000000"}, nil,
		"--listen", "127.0.0.1:0", "--model", model(t, smolLM), "--slots", "2", "--context", "1024")
	m.start()
	if first := m.told(60 * time.Second); !strings.HasPrefix(first, "READY=1\nSTATUS=") || strings.Contains(first, "slots") {
		t.Fatalf("first told %q, want READY=1 with what loads", first)
	}
	loading := m.toldUntil(`^STATUS=.*, 2 slots$`)
	if !slices.ContainsFunc(loading, func(s string) bool { return regexp.MustCompile(`^STATUS=loading the model: \d+ %$`).MatchString(s) }) {
		t.Errorf("no percentage of the loading among %q", loading)
	}
	if last := loading[len(loading)-1]; !strings.Contains(last, "SmolLM2") {
		t.Errorf("told %q, want the model's name", last)
	}
	m.address()
	p := openPage(t, m.url)
	p.ask("Write a long story about a river and an old mill.")
	p.until(wire.TypeText)
	begin := time.Now()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.toldUntil(`^STOPPING=1\n`)
	if f, _ := p.until(wire.TypeDone, wire.TypeError); f.Finish != "error" && f.Type != wire.TypeError {
		t.Errorf("the page was told %+v", f)
	}
	if err := m.cmd.Wait(); err != nil || time.Since(begin) > 10*time.Second {
		t.Errorf("ended with %v after %v:\n%s", err, time.Since(begin), m.stderr)
	}
}

// While a step of the script takes 10 s, the engine counts as stuck; before, as
// idle.
func TestSystemdWatchdog(t *testing.T) {
	m := startManaged(t, justRun, []string{"WATCHDOG_USEC=2000000"}, nil,
		"--listen", "127.0.0.1:0", "--backend", "scripted", "--pace", "0.1")
	m.start()
	m.address()
	m.toldUntil(`^WATCHDOG=1$`)
	m.toldUntil(`^WATCHDOG=1$`)
	p := openPage(t, m.url)
	p.ask("Hello?")
	p.until(wire.TypeText)
	for range 3 { // what was on its way, and a look that saw the step before
		m.told(100 * time.Millisecond)
	}
	m.told(time.Second)
	if got := m.told(3 * time.Second); got != "" {
		t.Errorf("the engine does nothing, and systemd is told %q", got)
	}
	if !strings.Contains(m.stderr.String(), "computes nothing") {
		t.Errorf("the log does not say so:\n%s", m.stderr)
	}
}

// A socket of systemd's is served instead of --listen. LISTEN_PID has to be the
// program's own, so a shell sets it.
func TestSystemdSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m := startManaged(t, `export LISTEN_PID=$$; exec "$@"`, []string{"LISTEN_FDS=1"}, []*os.File{file},
		"--listen", "192.0.2.1:1", "--backend", "scripted")
	m.start()
	m.address()
	if want := "http://" + l.Addr().String(); m.url != want {
		t.Errorf("serves at %s, want %s", m.url, want)
	}
	if status, body := get(t, "http://"+l.Addr().String()+"/healthz"); status != 200 {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, m.stderr)
	}
}

func TestSystemdSocketsThatCannotBeServed(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	one, err := tcp.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	other, err := local.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for want, files := range map[string][]*os.File{"2 sockets": {one, other}, "none of TCP": {other}} {
		m := startManaged(t, `export LISTEN_PID=$$; exec "$@"`, []string{fmt.Sprintf("LISTEN_FDS=%d", len(files))}, files, "--backend", "scripted")
		m.start()
		_ = m.cmd.Wait()
		if text := m.stderr.String(); m.cmd.ProcessState.ExitCode() != statusFailed || strings.Count(text, "\n") != 1 ||
			!strings.Contains(text, want) || !strings.Contains(text, "ListenStream=") {
			t.Errorf("%v, said %q, want %q and the setting", m.cmd.ProcessState, text, want)
		}
	}
}

// Lines for the journal carry their priority and no time; those for anything
// else are as they were.
func TestJournalPriorities(t *testing.T) {
	for _, journal := range []bool{true, false} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(writer.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		inode := st.Ino
		if !journal {
			inode++
		}
		m := startManaged(t, justRun, []string{fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, inode)}, nil,
			"--listen", "127.0.0.1:0", "--log-level", "debug", "--model", write(t, "no model"))
		m.cmd.Stderr = writer
		m.start()
		_ = writer.Close()
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait()
		text := string(data)
		if !strings.Contains(text, "pichat: ") || !strings.Contains(text, "no model: ending") {
			t.Fatalf("the log reads %q", text)
		}
		for line := range strings.Lines(text) {
			mark := regexp.MustCompile(`^<([3467])>`).FindString(line)
			switch {
			case !journal && mark != "", journal && mark == "", journal && strings.Contains(line, "time="):
				t.Errorf("journal %v: %q", journal, line)
			case journal && (strings.Contains(line, "pichat: ") || strings.Contains(line, "level=ERROR")) && mark != "<3>":
				t.Errorf("an error reads %q", line)
			case journal && strings.Contains(line, "level=WARN") && mark != "<4>":
				t.Errorf("a warning reads %q", line)
			case journal && strings.Contains(line, "level=INFO") && mark != "<6>":
				t.Errorf("a notice reads %q", line)
			}
		}
	}
}
