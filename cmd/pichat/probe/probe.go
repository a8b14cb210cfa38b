// Package probe tries a model file in a child process before the program
// loads it itself.
//
// A model file is untrusted input to a large C++ library: it may run into an
// assertion, which aborts the process, eat all memory, or never end. So a file
// that was not seen before is first loaded by a child, our own program again
// ([Prober.Check]). Whatever happens to the child becomes an error message.
// What passed is remembered in a folder ([Prober.Cache]).
//
// The child side is [Limit], called before the file is touched, and [Answer].
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ErrRefused marks a file that the child refused in an orderly way: its
// message says why. ErrCrashed marks a child that came to a bad end.
var (
	ErrRefused = errors.New("the model cannot be used")
	ErrCrashed = errors.New("the model file made the engine crash")
)

// Prober runs the child. Its methods are safe for concurrent use.
type Prober struct {
	// Command begins the child's command line; the file's path is appended.
	// Usually {"/proc/self/exe", "probe-model"}, which works after an upgrade
	// has replaced the program on disk, too.
	Command []string
	// Env is the child's whole environment, apart from what Check adds.
	Env []string
	// Cache is the folder that remembers files that passed; "" remembers none.
	Cache string
	// Build identifies program and engine: another build tries a file again.
	Build string
	// Timeout bounds the child; 0 means TimeoutFor the file's size.
	Timeout time.Duration
}

// TimeoutFor is the time that loading a file may take: a minute, and the rest
// at 4 MB/s, a slow memory card.
func TimeoutFor(fileBytes int64) time.Duration {
	return time.Minute + time.Duration(float64(fileBytes)/4e6*float64(time.Second))
}

// Check returns nil when the file at path was tried before, unchanged, by this
// build, or when a child tries it now and it passes. Errors match ErrRefused,
// ErrCrashed, or ctx's error; others are failures to run the child at all.
func (p *Prober) Check(ctx context.Context, path string) error {
	key, err := FileKey(path, p.Build)
	if err != nil {
		return err
	}
	if p.remembers(key) {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	limit := p.Timeout
	if limit == 0 {
		limit = TimeoutFor(info.Size())
	}
	if err := p.run(ctx, path, limit); err != nil {
		return err
	}
	p.remember(key, path)
	return nil
}

// run starts the child, waits for its end and judges it.
func (p *Prober) run(ctx context.Context, path string, limit time.Duration) error {
	// The child dies with the thread that started it (Pdeathsig), so that
	// thread has to stay until the child is gone: golang.org/issue/27505.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, p.Command[0], append(p.Command[1:], path)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// No traces of goroutines and no debugger: one line of each has to do.
	cmd.Env = append([]string{"GOTRACEBACK=none", "GGML_NO_BACKTRACE=1"}, p.Env...)
	answer, noise := &tail{limit: 16 << 10}, &tail{limit: 64 << 10}
	cmd.Stdout, cmd.Stderr = answer, noise
	cmd.WaitDelay = 2 * time.Second // a grandchild must not hold us by its pipes
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return fmt.Errorf("%w: loading it took longer than %v, so it was stopped", ErrCrashed, limit.Round(time.Second))
	case cmd.ProcessState == nil:
		return fmt.Errorf("trying the model file: %w", err)
	}
	return verdict(cmd.ProcessState, answer.text(), noise.text())
}

// verdict makes an error of how the child ended.
func verdict(state *os.ProcessState, answer, noise string) error {
	var a reply
	if json.Unmarshal([]byte(answer), &a) == nil {
		switch {
		case a.Passed && state.Success():
			return nil
		case a.Refused != "":
			return fmt.Errorf("%w: %s", ErrRefused, a.Refused)
		}
	}
	how := state.String()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		how = "killed, most likely because memory ran out"
	}
	if last := lastWords(noise); last != "" {
		how += "; its last words: " + last
	}
	return fmt.Errorf("%w (%s)", ErrCrashed, how)
}

// deathbed are the beginnings of the line with which Go's runtime begins its
// report on a crash, its own or the engine's.
var deathbed = []string{"SIG", "fatal error: ", "panic: ", "runtime: out of memory", "runtime: cannot allocate", "terminate called"}

// lastWords picks what a dying child said: the line that tells the crash and
// the one before it, which is the engine's own; without a crash the last one.
func lastWords(noise string) string {
	var lines []string
	for line := range strings.Lines(noise) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		for _, beginning := range deathbed {
			if strings.HasPrefix(line, beginning) {
				return strings.Join(lines[max(0, len(lines)-2):], "; ")
			}
		}
	}
	return strings.Join(lines[max(0, len(lines)-1):], "; ")
}

// reply is what the child prints.
type reply struct {
	Passed  bool   `json:"passed,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Answer is the child's last act: it tells the parent that the file passed
// (nil) or why it is refused.
func Answer(w io.Writer, refused error) error {
	a := reply{Passed: refused == nil}
	if refused != nil {
		a.Refused = refused.Error()
	}
	return json.NewEncoder(w).Encode(a)
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	data  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.data = append(t.data, b...)
	if n := len(t.data) - t.limit; n > 0 {
		t.data = append(t.data[:0], t.data[n:]...)
	}
	return len(b), nil
}

func (t *tail) text() string { return strings.ToValidUTF8(string(t.data), "?") }
