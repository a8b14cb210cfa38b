package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pichat/web/wire"
)

// served is a pichat that serves in a process of its own.
type served struct {
	cmd    *exec.Cmd
	url    string
	output *safeBuffer
}

func serveOutside(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{cmd: pichat(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--config", "/dev/null"}, args...)...), output: new(safeBuffer)}
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	eventually(t, "an address", func() bool {
		m := hereURL.FindStringSubmatch(s.output.String())
		if m != nil {
			s.url = m[1]
		}
		return m != nil
	})
	return s
}

// A signal ends the program with status 0 within 10 s, whatever it is doing,
// and pages are told.
func TestSignals(t *testing.T) {
	long := strings.Repeat("All work and no play makes Jack a dull boy. ", 300)
	scripted := func(t *testing.T, pace string) []string { return []string{"--backend", "scripted", "--pace", pace} }
	real := func(t *testing.T, _ string) []string { return []string{"--model", model(t, smolLM)} }
	ready := func(s *served, t *testing.T) {
		eventually(t, "readiness", func() bool { status, _ := get(t, s.url+"/readyz"); return status == 200 })
	}
	tests := []struct {
		name    string
		backend func(*testing.T, string) []string
		signal  syscall.Signal
		// into brings the server into a state; a page it returns is waited for
		// its last frame.
		into func(*served, *testing.T) *page
	}{
		{"loading", real, syscall.SIGTERM, func(s *served, t *testing.T) *page { return nil }},
		{"idle with a page open", real, syscall.SIGTERM, func(s *served, t *testing.T) *page {
			ready(s, t)
			openPage(t, s.url)
			return nil
		}},
		{"prefill", real, syscall.SIGTERM, func(s *served, t *testing.T) *page {
			ready(s, t)
			p := openPage(t, s.url)
			p.ask(long)
			p.until(wire.TypePrefilling)
			return p
		}},
		{"decode", real, syscall.SIGINT, func(s *served, t *testing.T) *page {
			ready(s, t)
			p := openPage(t, s.url)
			p.ask("Write a long story about a river and an old mill.")
			p.until(wire.TypeText)
			return p
		}},
		{"slow decode", scripted, syscall.SIGTERM, func(s *served, t *testing.T) *page {
			ready(s, t)
			p := openPage(t, s.url)
			p.ask("Hello?")
			p.until(wire.TypeText)
			return p
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveOutside(t, tt.backend(t, "1")...)
			p := tt.into(s, t)
			begin := time.Now()
			if err := s.cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if p != nil {
				if f, _ := p.until(wire.TypeDone, wire.TypeError); f.Finish != "error" && f.Type != wire.TypeError {
					t.Errorf("the page was told %+v", f)
				}
			}
			err := s.cmd.Wait()
			if took := time.Since(begin); err != nil || took > 10*time.Second {
				t.Errorf("ended with %v after %v:\n%s", err, took, s.output)
			}
		})
	}
}

func TestAskStopsAtCtrlC(t *testing.T) {
	cmd := pichat(t, "ask", "--config", "/dev/null", "--model", model(t, smolLM), "Write a long story about a river and an old mill.")
	var stdout, stderr safeBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "word of the answer", func() bool { return len(stdout.String()) > 10 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != statusInterrupted || !strings.Contains(stdout.String(), "· stopped ·") || stderr.String() != "" {
		t.Errorf("%v, said %q and %q", cmd.ProcessState, stdout.String(), stderr.String())
	}
}
