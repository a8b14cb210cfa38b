package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain lets the test's own program be pichat: for the child process that
// tries a model file, and where a test wants real signals and exit statuses.
func TestMain(m *testing.M) {
	probing := len(os.Args) > 1 && os.Args[1] == "probe-model"
	if probing || os.Getenv("TEST_BE_PICHAT") != "" {
		main()
	}
	os.Exit(m.Run())
}

// pichat returns a command that runs the whole program in a process of its own.
func pichat(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = []string{"TEST_BE_PICHAT=1", "XDG_CACHE_HOME=" + t.TempDir()}
	return cmd
}

// result is how a run of the program ended.
type result struct {
	status         int
	stdout, stderr string
}

// runInside runs the program inside the test's process.
func runInside(ctx context.Context, t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr safeBuffer
	environ := []string{"XDG_CACHE_HOME=" + t.TempDir(), "PICHAT_CONFIG=/dev/null"}
	status := run(ctx, args, environ, strings.NewReader(stdin), &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// safeBuffer may be read while the program writes.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// model returns the path of a model that make fetches; without it the test is
// skipped.
func model(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no model: run make model test-models (%v)", err)
	}
	return path
}

const (
	smolLM = "SmolLM2-135M-Instruct.Q4_1.gguf"
	gemma  = "gemma-3-270m-q4_k_m.gguf"
)
