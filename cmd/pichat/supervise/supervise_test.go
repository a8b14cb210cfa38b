package supervise

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pichat/llm"
	"pichat/llm/fakellm"
)

// manager stands in for systemd: it keeps what it is told.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// newManager puts a manager's socket and a watchdog's limit, "" for none, into
// the environment.
func newManager(t *testing.T, limit string) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", limit)
	t.Setenv("WATCHDOG_PID", "")
	return &manager{t, conn}
}

// next is the next message, its lines apart; nil when none came in time.
func (m *manager) next(wait time.Duration) []string {
	m.t.Helper()
	buffer := make([]byte, 4096)
	_ = m.conn.SetReadDeadline(time.Now().Add(wait))
	n, err := m.conn.Read(buffer)
	if err != nil {
		return nil
	}
	return strings.Split(string(buffer[:n]), "\n")
}

// expect reads messages up to one that is as wanted.
func (m *manager) expect(lines ...string) {
	m.t.Helper()
	var seen [][]string
	for {
		got := m.next(10 * time.Second)
		if slices.Equal(got, lines) {
			return
		}
		if got == nil {
			m.t.Fatalf("not told %q but %q", lines, seen)
		}
		seen = append(seen, got)
	}
}

// supervised runs Run; its stop ends it and waits for it.
func supervised(t *testing.T, service *llm.Service) (stop func(), log *bytes.Buffer) {
	t.Helper()
	log = new(bytes.Buffer)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, service, slog.New(slog.NewTextHandler(log, nil)))
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop, log
}

func TestStates(t *testing.T) {
	m := newManager(t, "")
	service := new(llm.Service)
	stop, _ := supervised(t, service)
	m.expect("READY=1", "STATUS=starting")
	service.SetLoading(0, "loading the model")
	m.expect("STATUS=loading the model")
	service.SetLoading(0.43, "loading the model")
	m.expect("STATUS=loading the model: 43 %")
	service.SetReady(engine(t, fakellm.Config{Slots: 2}))
	m.expect("STATUS=Scripted answers, 2 slots")
	service.SetStopping()
	stop()
	m.expect("STOPPING=1", "STATUS=stopping")
}

// Why it ends is what `systemctl status` goes on to show; a line break in it
// is no second message.
func TestFailure(t *testing.T) {
	m := newManager(t, "")
	service := new(llm.Service)
	stop, _ := supervised(t, service)
	m.expect("READY=1", "STATUS=starting")
	service.SetFailed(errors.New("bad.gguf: broken\nMAINPID=1"))
	m.expect("STATUS=no model: bad.gguf: broken MAINPID=1")
	stop()
	m.expect("STOPPING=1", "STATUS=no model: bad.gguf: broken MAINPID=1")
}

func TestWithoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	Run(t.Context(), new(llm.Service), slog.New(slog.DiscardHandler)) // returns at once
}

func TestIdleAndLoadingAreFed(t *testing.T) {
	m := newManager(t, "20000")
	service := new(llm.Service)
	supervised(t, service)
	m.expect("WATCHDOG=1")
	service.SetReady(engine(t, fakellm.Config{}))
	m.expect("STATUS=Scripted answers, 1 slot")
	for range 5 {
		m.expect("WATCHDOG=1")
	}
}

// A step that takes forever is fed while it computes, and no longer when it
// computes nothing.
func TestStuckEngineIsNotFed(t *testing.T) {
	m := newManager(t, "200000")
	service := new(llm.Service)
	backend := &ticking{Backend: fakellm.New(fakellm.Config{}), release: make(chan struct{})}
	service.SetReady(engineOf(t, backend))
	defer close(backend.release)
	stop, log := supervised(t, service)

	beat := make(chan struct{})
	slow, hang := context.WithCancel(t.Context())
	go func() {
		defer close(beat)
		for tick := time.NewTicker(5 * time.Millisecond); slow.Err() == nil; <-tick.C {
			backend.ticks.Add(1)
		}
	}()
	defer hang()
	if _, err := service.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "Hello?"}}}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return service.Status().Running == 1 })
	for range 8 {
		m.expect("WATCHDOG=1")
	}
	hang()
	<-beat
	for range 3 { // what was on its way
		m.next(50 * time.Millisecond)
	}
	if got := m.next(500 * time.Millisecond); got != nil {
		t.Errorf("a stuck engine: systemd was told %q", got)
	}
	stop()
	if text := log.String(); strings.Count(text, "computes nothing") != 1 || !strings.Contains(text, "running=1") {
		t.Errorf("the log reads %q", text)
	}
}

// ticking is a backend that shows that it computes, and ends a step, when a
// test says so.
type ticking struct {
	llm.Backend
	ticks   atomic.Uint32
	release chan struct{}
}

func (b *ticking) Ticks() uint32 { return b.ticks.Load() }

func (b *ticking) Evaluate(ctx context.Context, batch *llm.Batch) error {
	<-b.release
	return b.Backend.Evaluate(ctx, batch)
}

func engine(t *testing.T, c fakellm.Config) *llm.Engine { return engineOf(t, fakellm.New(c)) }

// engineOf runs an engine until the test ends.
func engineOf(t *testing.T, backend llm.Backend) *llm.Engine {
	t.Helper()
	e := llm.NewEngine(llm.EngineConfig{Backend: backend, Template: fakellm.Template{}})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return e
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for tick := time.NewTicker(time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
	}
}
