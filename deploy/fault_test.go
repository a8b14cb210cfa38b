package deploy_test

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pichat/web/wire"
)

// chats opens pages and asks the API, all of which must be answered by the Pi
// that is left, within a time.
func (s *site) chats(left string, within time.Duration) {
	s.t.Helper()
	begin := time.Now()
	for range 4 {
		p := s.open()
		if p.pi != left {
			s.t.Errorf("the Pi %q answers, want %q", p.pi, left)
		}
		p.ask(3)
		p.next(wire.TypeDone)
		if s.stream(s.t.Context(), 3)() == "" {
			s.t.Error("no answer of the API")
		}
	}
	if took := time.Since(begin); took > within {
		s.t.Errorf("the chats took %v, want at most %v", took, within)
	}
}

func TestStoppedPiIsLeftOut(t *testing.T) {
	s := newSite(t)
	s.pis["b"].stop()
	s.chats("a", patience)
}

// A Pi without power does not even refuse a connection.
func TestSilentPiIsLeftOut(t *testing.T) {
	findNginx(t)
	a := newPi(t, "a")
	s := &site{t: t, addr: startNginx(t, silent(t), a.addr), pis: map[string]*pi{"a": a}}
	s.chats("a", patience)
}

// silent returns an address that does not answer: a listener whose queue is full.
func silent(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: bound.(*syscall.SockaddrInet4).Port}
	for range 16 {
		conn, err := net.DialTimeout("tcp", at.String(), 200*time.Millisecond)
		if err != nil {
			return at.String()
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("this kernel takes connections beyond a listener's queue")
	return ""
}

// dropper takes connections and drops them, after their request where it reads
// one, as a server that crashes. It counts them.
func dropper(t *testing.T, read bool) (addr string, dropped *atomic.Int32) {
	t.Helper()
	l, dropped := listen(t), new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			dropped.Add(1)
			if read {
				_, _ = conn.Read(make([]byte, 64<<10))
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), dropped
}

// After one failure a Pi is asked nothing for a while, by none of nginx's processes.
func TestCrashingPiIsTriedOnce(t *testing.T) {
	findNginx(t)
	a := newPi(t, "a")
	addr, dropped := dropper(t, false)
	s := &site{t: t, addr: startNginx(t, addr, a.addr), pis: map[string]*pi{"a": a}}
	for range 24 {
		if status, body := s.do(s.request(t.Context(), "GET", "/healthz", "")); status != 200 {
			t.Errorf("%d %q", status, body)
		}
	}
	if n := dropped.Load(); n != 1 {
		t.Errorf("the Pi that crashes was tried %d times", n)
	}
}

// What has reached one Pi may be answered there already.
func TestQuestionIsNotAskedTwice(t *testing.T) {
	findNginx(t)
	first, one := dropper(t, true)
	second, two := dropper(t, true)
	s := &site{t: t, addr: startNginx(t, first, second)}
	status, _ := s.do(s.request(t.Context(), "POST", "/v1/chat/completions", `{"messages": []}`))
	if asked := one.Load() + two.Load(); asked != 1 || status != http.StatusBadGateway {
		t.Errorf("a question whose Pi crashed was asked %d times, and answered %d", asked, status)
	}
}

// pichat asks nginx by a header not to buffer its streams. The file says so of
// everything: here each word waits until the one before has arrived.
func TestNothingIsBuffered(t *testing.T) {
	findNginx(t)
	arrived, words := make(chan struct{}, 1), 8
	l := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != "HTTP/1.1" {
			t.Errorf("nginx speaks %s, which knows no websocket", r.Proto)
		}
		for range words {
			_, _ = io.WriteString(w, "word")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-arrived:
			case <-time.After(patience):
				return
			}
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	s := &site{t: t, addr: startNginx(t, l.Addr().String(), l.Addr().String())}
	begin := time.Now()
	resp, err := http.DefaultClient.Do(s.request(t.Context(), "GET", "/", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range words {
		word := make([]byte, 4)
		if _, err := io.ReadFull(resp.Body, word); err != nil {
			t.Fatalf("word %d after %v: %v", i, time.Since(begin), err)
		}
		arrived <- struct{}{}
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("the words came in %v, a buffer at a time", took)
	}
}
