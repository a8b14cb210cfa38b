// Package deploy_test tries nginx.conf: a real nginx before two whole pichats.
package deploy_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pichat/web/wire"
)

// spread is what a reply of 20 tokens at 20 tokens/s takes, and some allowance.
const spread = 500 * time.Millisecond

func TestChatThroughNginx(t *testing.T) {
	p := newSite(t).open()
	p.ask(20)
	var first time.Time
	text, frames := "", 0
	for {
		f := p.next(wire.TypeText, wire.TypeDone)
		if f.Type == wire.TypeDone {
			if f.Finish != "length" {
				t.Errorf("it ended by %q", f.Finish)
			}
			break
		}
		if frames == 0 {
			first = time.Now()
		}
		frames++
		text += f.Delta
	}
	if took := time.Since(first); frames < 5 || took < spread || !strings.Contains(text, "One word after another.") {
		t.Errorf("%q came in %d frames over %v: it should come word by word, over about a second", text, frames, took)
	}
}

func TestStreamIsNotBuffered(t *testing.T) {
	s := newSite(t)
	next := s.stream(t.Context(), 20)
	text := next()
	if s.pis["a"].running()+s.pis["b"].running() != 1 {
		t.Error("the first word came when the answer was whole")
	}
	begin := time.Now()
	for more := next(); more != ""; more = next() {
		text += more
	}
	if took := time.Since(begin); took < spread || !strings.Contains(text, "One word after another.") {
		t.Errorf("all of %q came within %v", text, took)
	}
}

// Pages spread evenly over the Pis, whichever of nginx's processes they come
// to, and the Pi with the fewest gets the next ones.
func TestTheIdlestPiGetsTheNextPage(t *testing.T) {
	s := newSite(t)
	open := map[string][]*page{}
	add := func() string {
		p := s.open()
		open[p.pi] = append(open[p.pi], p)
		return p.pi
	}
	for range 21 {
		add()
	}
	if a, b := len(open["a"]), len(open["b"]); a+b != 21 || a-b > 1 || b-a > 1 {
		t.Fatalf("of 21 pages %d are with one Pi and %d with the other", a, b)
	}
	for _, p := range open["a"] {
		_ = p.ws.Close()
	}
	// A page's end reaches nginx a moment later: until then it may send one to b.
	held := len(open["b"])
	until(t, "a page goes to the Pi that has none", func() bool { return add() == "a" })
	late := len(open["b"]) - held
	for range held {
		add()
	}
	if got := len(open["b"]) - held - late; got > 1 {
		t.Errorf("%d pages went to the Pi that had %d already", got, held)
	}
}

func TestChatsAtOnceSpreadEvenly(t *testing.T) {
	s := newSite(t)
	for range 8 {
		s.open().ask(1000)
	}
	until(t, "4 chats on each Pi", func() bool { return s.pis["a"].running() == 4 && s.pis["b"].running() == 4 })
	for range 6 { // the API's clients as well
		s.stream(t.Context(), 1000)()
	}
	until(t, "3 more on each Pi", func() bool { return s.pis["a"].running() == 7 && s.pis["b"].running() == 7 })
}

// A Pi tells the people behind nginx apart: one who has 4 answers written on each
// Pi gets no other, and somebody else does.
func TestPeopleAreToldApart(t *testing.T) {
	s := newSite(t)
	for range 8 {
		s.open().ask(1000)
	}
	until(t, "4 chats on each Pi", func() bool { return s.pis["a"].running() == 4 && s.pis["b"].running() == 4 })
	p := s.open()
	p.ask(3)
	if f := p.next(wire.TypeDone, wire.TypeError); f.Code != "queue_full" {
		t.Errorf("the ninth question of one person: %+v", f)
	}
	s.from = net.IPv4(127, 0, 0, 2)
	p = s.open()
	p.ask(3)
	if f := p.next(wire.TypeDone, wire.TypeError); f.Type != wire.TypeDone {
		t.Errorf("the first question of somebody else: %+v", f)
	}
}

func TestGoneClientFreesItsSlot(t *testing.T) {
	s := newSite(t)
	idle := func() bool { return s.pis["a"].running()+s.pis["b"].running() == 0 }

	ctx, leave := context.WithCancel(t.Context())
	s.stream(ctx, 1000)()
	if idle() {
		t.Fatal("nothing runs")
	}
	leave()
	until(t, "the API's client is missed", idle)

	p := s.open()
	p.ask(1000)
	p.next(wire.TypeText)
	_ = p.ws.Close()
	until(t, "the page is missed", idle)
}

// A Pi checks names and origins as it does without nginx before it.
func TestHostAndOrigin(t *testing.T) {
	s := newSite(t)
	req := s.request(t.Context(), "GET", "/", "")
	if status, body := s.do(req); status != 200 || !strings.Contains(body, "<html") {
		t.Errorf("the page by its name: %d %.200s", status, body)
	}
	req = s.request(t.Context(), "GET", "/", "")
	req.Host = "evil.example"
	if status, body := s.do(req); status != http.StatusMisdirectedRequest || !strings.Contains(body, "--allow-host evil.example") {
		t.Errorf("another name: %d %q", status, body)
	}
	for _, tt := range []struct {
		host, origin string
		status       int
	}{
		{name, "http://" + name, 101},
		{s.addr, "http://" + s.addr, 101}, // by number, with nginx's port
		{name, "http://evil.example", 403},
		{s.addr, "http://127.0.0.1:1", 403}, // another server of that machine
		{"evil.example", "http://evil.example", 421},
	} {
		ws, status, _ := s.dial(tt.host, tt.origin)
		if ws != nil {
			_ = ws.Close()
		}
		if status != tt.status {
			t.Errorf("a socket to %s from a page of %s: %d, want %d", tt.host, tt.origin, status, tt.status)
		}
	}
	req = s.request(t.Context(), "POST", "/v1/chat/completions", `{"messages": [{"role": "user", "content": "Go on."}]}`)
	req.Header.Set("Origin", "http://evil.example")
	if status, body := s.do(req); status != 403 {
		t.Errorf("a question from another site's page: %d %q", status, body)
	}
}

// The Pi says what is too large, not nginx, and what is not reaches it.
func TestLargeQuestions(t *testing.T) {
	s := newSite(t)
	ask := func(bytes int) (int, string) {
		text := strings.Repeat("word ", bytes/5)
		return s.do(s.request(t.Context(), "POST", "/v1/chat/completions", `{"messages": [{"role": "user", "content": "`+text+`"}]}`))
	}
	if status, body := ask(4<<20 - 1000); status != 400 || !strings.Contains(body, "context_length_exceeded") {
		t.Errorf("just below 4 MiB: %d %.300s", status, body)
	}
	if status, body := ask(4<<20 + 1000); status != 413 || !strings.Contains(body, `"error"`) {
		t.Errorf("just above 4 MiB: %d %.300s", status, body)
	}
}

// nginx does not start while a name is unknown, such as one of a Pi that is off.
func TestServersAreGivenByNumber(t *testing.T) {
	for _, m := range serverLine.FindAllSubmatch(readConf(t), -1) {
		if _, err := netip.ParseAddrPort(string(m[2])); err != nil {
			t.Errorf("nginx.conf: %v", err)
		}
	}
}
