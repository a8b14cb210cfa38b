package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test's own program the child: the file's content says how
// it is to end.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "child" {
		child(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func child(path string) {
	how, err := os.ReadFile(path)
	if err != nil {
		os.Exit(1)
	}
	switch strings.TrimSpace(string(how)) {
	case "pass":
		fmt.Println("noise")
		_ = os.Stdout.Sync()
		os.Exit(0)
	case "good":
		_ = Answer(os.Stdout, nil)
	case "refuse":
		_ = Answer(os.Stdout, errors.New("no such architecture"))
		os.Exit(1)
	case "abort":
		fmt.Fprintln(os.Stderr, "model.cpp:7: GGML_ASSERT(n > 0) failed")
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		<-time.After(time.Hour)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-time.After(time.Hour)
	case "hang":
		signal.Ignore(syscall.SIGTERM)
		<-time.After(time.Hour)
	case "memory":
		Limit(-spareBytes + 1<<30)
		hoard := make([][]byte, 0, 64)
		for range 64 {
			b := make([]byte, 128<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
		}
		_ = Answer(os.Stdout, fmt.Errorf("got %d", len(hoard)))
	}
}

func prober(cache string) *Prober {
	return &Prober{Command: []string{"/proc/self/exe", "child"}, Cache: cache, Build: "test", Timeout: 20 * time.Second}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCheckEnds(t *testing.T) {
	tests := []struct {
		how  string
		is   error
		says string
	}{
		{"good", nil, ""},
		{"refuse", ErrRefused, "no such architecture"},
		{"abort", ErrCrashed, "GGML_ASSERT(n > 0) failed; SIGABRT: abort"},
		{"kill", ErrCrashed, "memory ran out"},
		{"memory", ErrCrashed, "made the engine crash"}, // where it runs out decides the words
		{"pass", ErrCrashed, "exit status 0"},           // it ended without an answer
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			err := prober("").Check(t.Context(), writeFile(t, tt.how))
			if !errors.Is(err, tt.is) {
				t.Fatalf("got %v, want %v", err, tt.is)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("got %q, want one line with %q", err, tt.says)
			}
		})
	}
}

func TestCheckStopsWhatHangs(t *testing.T) {
	p := prober("")
	p.Timeout = 300 * time.Millisecond
	err := p.Check(t.Context(), writeFile(t, "hang"))
	if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := prober("").Check(ctx, writeFile(t, "hang")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCheckRemembersWhatPassed(t *testing.T) {
	name, p := writeFile(t, "good"), prober(t.TempDir())
	if err := p.Check(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	p.Command = []string{"/bin/false"} // from here on any child fails
	if err := p.Check(t.Context(), name); err != nil {
		t.Errorf("an unchanged file was tried again: %v", err)
	}
	p.Build = "newer"
	if err := p.Check(t.Context(), name); err == nil {
		t.Error("another build did not try the file again")
	}
	p.Build = "test"
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(t.Context(), name); err == nil {
		t.Error("a changed file was not tried again")
	}
}

func TestCheckWorksWithoutItsCache(t *testing.T) {
	for range 2 {
		if err := prober("/proc/nowhere").Check(t.Context(), writeFile(t, "good")); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckOfNoFile(t *testing.T) {
	if err := prober("").Check(t.Context(), "/no/such/file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
