package web

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"pichat/llm/fakellm"
	"pichat/web/wire"
)

func TestHelloGetsEverythingAPageNeeds(t *testing.T) {
	b := newBox(t, boxConfig{})
	c := b.dial()
	w := c.hello(nil,
		wire.Turn{Role: "user", Content: "**a** <img src=x onerror=alert(1)>\nb"},
		wire.Turn{Role: "assistant", Content: "**a** <img src=x onerror=alert(1)>"})
	html := fmt.Sprint(w.HTML)
	if w.Version != "v1-test" || !strings.Contains(html, "<p dir=\"auto\">**a** &lt;img src=x onerror=alert(1)&gt;<br>b</p>") ||
		!strings.Contains(html, "<strong>a</strong> &lt;img") {
		t.Errorf("welcome %+v", w)
	}
	st := c.until(wire.TypeState)
	if st.Phase != "ready" || !strings.Contains(fmt.Sprint(st.HTML), "testbox") {
		t.Errorf("state %+v", st)
	}
	if v := c.until(wire.TypeVitals); v.Line == "" {
		t.Errorf("vitals %+v", v)
	}
}

func TestAskStreamsAnAnswer(t *testing.T) {
	const want = "The **sky** scatters blue light, and so it looks blue to everybody who ever looks up at it in daylight, which is often."
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 400, Script: fakellm.Say(want)}})
	c := b.dial()
	c.hello(nil)
	c.ask("first-question", "Why is the sky blue?")
	text, tokens, done := c.answer("first-question")
	if text != want || done.Finish != "stop" {
		t.Errorf("%q %s", text, done.Finish)
	}
	if tokens != done.Timings.Tokens || tokens == 0 || done.Timings.TTFTS == nil || done.Timings.TPS == nil {
		t.Errorf("%d tokens, timings %+v", tokens, done.Timings)
	}
	if html := fmt.Sprint(done.HTML); !strings.Contains(html, "to start") {
		t.Errorf("verdict %s", html)
	}
}

func TestTwoPagesStreamAtOnceAndApart(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Slots: 2, Pace: 200, Script: fakellm.Echo}})
	var wg sync.WaitGroup
	for i := range 2 {
		c := b.dial()
		c.hello(nil)
		id, text := fmt.Sprintf("question-%d", i), strings.Repeat(fmt.Sprintf("page%d ", i), 30)
		c.ask(id, text)
		wg.Go(func() {
			if got, _, _ := c.answer(id); !strings.Contains(got, text[:60]) || strings.Contains(got, fmt.Sprintf("page%d", 1-i)) {
				t.Errorf("page %d got %q", i, got)
			}
		})
	}
	wg.Wait()
}

func TestStop(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 100, Script: fakellm.Endless("on and on ")}})
	c := b.dial()
	c.hello(nil)
	c.ask("endless-reply", "go")
	if f := c.until(wire.TypeText); f.Delta == "" {
		t.Errorf("first text %+v", f)
	}
	c.send(wire.FromPage{Type: wire.TypeStop, ID: "endless-reply"})
	if _, _, done := c.answer("endless-reply"); done.Finish != "cancelled" {
		t.Errorf("finish %q", done.Finish)
	}
	b.idle()
	c.send(wire.FromPage{Type: wire.TypeStop, ID: "endless-reply"}) // too late is no fault
	c.send(wire.FromPage{Type: wire.TypeStop, ID: "never-existed"})
	if f := c.next(); f.Code != "not_found" {
		t.Errorf("stop of nothing: %+v", f)
	}
}

// A chat longer than the window goes on without its oldest turns (case C3).
func TestLongChatGoesOn(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Window: 256, Script: fakellm.Say("fine")}})
	c := b.dial()
	c.hello(nil)
	var turns []wire.Turn
	for i := range 20 {
		turns = append(turns, wire.Turn{Role: "user", Content: fmt.Sprintf("question %d of many words and more of them", i)},
			wire.Turn{Role: "assistant", Content: "an answer of some words"})
	}
	c.send(wire.FromPage{Type: wire.TypeAsk, ID: "long-chat-1", Turns: append(turns, wire.Turn{Role: "user", Content: "and the last one?"})})
	f := c.until(wire.TypePrefilling)
	if f.LeftOut < 2 || f.LeftOut > 38 || f.LeftOut%2 != 0 || f.Prompt > 256 {
		t.Errorf("%d messages were left out and %d tokens read", f.LeftOut, f.Prompt)
	}
	if text, _, done := c.answer("long-chat-1"); text != "fine" || done.Finish != "stop" {
		t.Errorf("%q, %s", text, done.Finish)
	}
}

// What a page does wrong is told, and its connection and chat go on.
func TestBadFrames(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Window: 64, Script: fakellm.Say("fine")}})
	c := b.dial()
	c.hello(nil)
	hot := 9.0
	ask := func(id string, turns ...wire.Turn) wire.FromPage {
		return wire.FromPage{Type: wire.TypeAsk, ID: id, Turns: turns}
	}
	user := wire.Turn{Role: "user", Content: "hi"}
	tests := []struct {
		name, code, says string
		send             func()
	}{
		{"not JSON", "bad_frame", "JSON", func() { _ = c.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":`)) }},
		{"wrong form", "bad_frame", "JSON", func() { _ = c.ws.WriteMessage(websocket.TextMessage, []byte(`[1]`)) }},
		{"binary", "bad_frame", "binary", func() { _ = c.ws.WriteMessage(websocket.BinaryMessage, []byte(`{}`)) }},
		{"no type", "bad_frame", `""`, func() { c.send(wire.FromPage{}) }},
		{"unknown type", "bad_frame", `"sing"`, func() { c.send(wire.FromPage{Type: "sing"}) }},
		{"bad id", "invalid_request", `"x"`, func() { c.send(ask("x", user)) }},
		{"no turns", "invalid_request", "empty", func() { c.send(ask("id-number-1")) }},
		{"blank", "invalid_request", "blank", func() { c.send(ask("id-number-1", wire.Turn{Role: "user", Content: " "})) }},
		{"a system turn", "invalid_request", `"system"`, func() { c.send(ask("id-number-1", wire.Turn{Role: "system", Content: "x"}, user)) }},
		{"assistant last", "invalid_request", "last message", func() { c.send(ask("id-number-1", user, wire.Turn{Role: "assistant", Content: "x"})) }},
		{"too hot", "invalid_request", "temperature 9", func() {
			f := ask("id-number-1", user)
			f.Settings = &wire.Settings{Temperature: &hot}
			c.send(f)
		}},
		{"longer than the window", "context_full", "holds 64", func() { c.ask("id-number-1", strings.Repeat("word ", 100)) }},
	}
	for _, tt := range tests {
		tt.send()
		f := c.next()
		if f.Type != wire.TypeError || f.Code != tt.code || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
	c.ask("id-number-1", "hi") // none of them took the id or the connection
	if text, _, _ := c.answer("id-number-1"); text != "fine" {
		t.Errorf("afterwards: %q", text)
	}
	c.ask("id-number-1", "hi")
	if f := c.next(); f.Code != "invalid_request" || !strings.Contains(f.Message, "exists already") {
		t.Errorf("the same id twice: %+v", f)
	}
}

// Case A3: a frame over the limit is told before the connection ends.
func TestFrameTooLarge(t *testing.T) {
	b := newBox(t, boxConfig{})
	c := b.dial()
	c.hello(nil)
	go func() { _ = c.ws.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("a", 5<<20))) }()
	if f := c.until(wire.TypeError); f.Code != "too_large" || !strings.Contains(f.Message, "2097152") {
		t.Errorf("got %+v", f)
	}
	for {
		_, err := c.read()
		if err == nil {
			continue
		}
		if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
			t.Errorf("closed with %v", err)
		}
		return
	}
}

func TestRefusalsBeforeTheModelIsThere(t *testing.T) {
	b := newBox(t, boxConfig{unready: true})
	c := b.dial()
	c.hello(nil)
	if st := c.until(wire.TypeState); st.Phase != "loading" {
		t.Errorf("state %+v", st)
	}
	c.ask("too-early-1", "hi")
	if f := c.next(); f.Code != "loading" || f.ID != "too-early-1" {
		t.Errorf("while loading: %+v", f)
	}
	b.service.SetLoading(0.5, "reading")
	if st := c.until(wire.TypeState); st.Progress != 0.5 {
		t.Errorf("progress %+v", st)
	}
	b.service.SetFailed(errors.New("truncated"))
	if st := c.until(wire.TypeState); st.Phase != "failed" {
		t.Errorf("state %+v", st)
	}
	c.ask("too-early-2", "hi")
	if f := c.next(); f.Code != "unavailable" || !strings.Contains(f.Message, "truncated") {
		t.Errorf("after a failure: %+v", f)
	}
	b.service.SetReady(b.engine)
	if st := c.until(wire.TypeState); st.Phase != "ready" {
		t.Errorf("state %+v", st)
	}
}

func TestQueueShowsItsPlaceAndRefusesWhenFull(t *testing.T) {
	b := newBox(t, boxConfig{queue: 1, fake: fakellm.Config{Pace: 50, Script: fakellm.Endless("x ")}})
	a, c := b.dial(), b.dial()
	a.hello(nil)
	c.hello(nil)
	a.ask("the-first-1", "go")
	a.until(wire.TypeText)
	c.ask("the-second-1", "go")
	if f := c.until(wire.TypeQueued); f.Place != 1 || f.ID != "the-second-1" {
		t.Errorf("queued %+v", f)
	}
	c.ask("the-third-1", "go")
	if f := c.until(wire.TypeError); f.Code != "queue_full" || f.ID != "the-third-1" {
		t.Errorf("the third: %+v", f)
	}
	a.send(wire.FromPage{Type: wire.TypeStop, ID: "the-first-1"})
	if f := c.until(wire.TypeText); f.ID != "the-second-1" {
		t.Errorf("after Stop: %+v", f)
	}
}

// One address cannot fill the queue for all others.
func TestRepliesPerAddress(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 50, Script: fakellm.Endless("x ")}})
	c := b.dial()
	c.hello(nil)
	for i := range 5 {
		c.ask(fmt.Sprintf("question-%d", i), "go")
	}
	if f := c.until(wire.TypeError); f.Code != "queue_full" || f.ID != "question-4" || !strings.Contains(f.Message, "4 answers") {
		t.Errorf("the fifth: %+v", f)
	}
}

// A reply runs on without its socket, and a page that comes back gets what it
// missed and the rest: nothing lost, nothing doubled.
func TestResumeOverANewSocket(t *testing.T) {
	want := strings.TrimSpace(strings.Repeat("one two three four five. ", 12))
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 250, Script: fakellm.Say(want)}})
	for cut := 1; cut <= 8; cut++ { // before its first frame the ask may not have arrived
		id := fmt.Sprintf("resumed-reply-%d", cut)
		c := b.dial()
		c.hello(nil)
		c.ask(id, "go")
		text, serial := "", 0
		for n, ended := 0, false; n < cut && !ended; n++ {
			f := c.next()
			if ended = f.Type == wire.TypeDone; !ended { // the end itself is always missed
				text, serial = text+f.Delta, f.Serial
			}
		}
		c.close()
		c = b.dial()
		if w := c.hello(&wire.Resume{ID: id, After: serial}); !w.Resumed {
			t.Fatalf("cut at %d: the reply is not known any more", cut)
		}
		rest, _, done := c.answer(id)
		if got := text + rest; got != want || done.Finish != "stop" {
			t.Errorf("cut at %d: got %q", cut, got)
		}
	}
	if w := b.dial().hello(&wire.Resume{ID: "never-existed"}); w.Resumed {
		t.Error("a reply that never was is resumed")
	}
}

func TestGraceFreesTheSlot(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Pace: 100, Script: fakellm.Endless("x ")}, web: Config{Grace: 50 * time.Millisecond}})
	c := b.dial()
	c.hello(nil)
	c.ask("left-alone-1", "go")
	c.until(wire.TypeText)
	c.close()
	b.idle()
	d := b.dial()
	if w := d.hello(&wire.Resume{ID: "left-alone-1"}); !w.Resumed {
		t.Fatal("the end of the reply is not known")
	}
	if _, _, done := d.answer("left-alone-1"); done.Finish != "cancelled" {
		t.Errorf("finish %q", done.Finish)
	}
}

// Case N3: tokens, vitals, pings, stops and errors at once; run with -race.
func TestOneWriterUnderFire(t *testing.T) {
	b := newBox(t, boxConfig{
		fake: fakellm.Config{Slots: 4, Pace: 2000, Script: fakellm.Endless("word ")},
		web:  Config{Tick: time.Millisecond, Ping: 2 * time.Millisecond},
	})
	var wg sync.WaitGroup
	for i := range 3 {
		c := b.dial()
		c.hello(nil)
		wg.Go(func() {
			for n := range 8 {
				id := fmt.Sprintf("page-%d-reply-%d", i, n)
				c.ask(id, "go")
				for f := c.next(); f.Type != wire.TypeText; f = c.next() {
					if f.Type == wire.TypeError {
						t.Errorf("refused: %+v", f)
					}
				}
				c.send(wire.FromPage{Type: "nonsense"})
				c.send(wire.FromPage{Type: wire.TypeStop, ID: id})
				for f := c.next(); f.Type != wire.TypeDone; f = c.next() {
				}
			}
		})
	}
	wg.Wait()
	b.idle()
}

// Case N2: a client that does not read holds nobody up, and is dropped.
func TestSlowReaderIsAlone(t *testing.T) {
	b := newBox(t, boxConfig{fake: fakellm.Config{Slots: 2, Pace: 3000, Script: fakellm.Endless(strings.Repeat("word ", 50))}})
	slow, quick := b.dial(), b.dial()
	slow.hello(nil)
	quick.hello(nil)
	slow.ask("slow-reader-1", "go") // and never reads again
	quick.ask("quick-reader-1", "go")
	if _, _, done := quick.answer("quick-reader-1"); done.Finish != "length" && done.Finish != "window" {
		t.Errorf("finish %q", done.Finish)
	}
	b.idle() // the slow one's reply was drained all the same
	if resp, _ := b.get("/healthz"); resp.StatusCode != 200 {
		t.Errorf("health: %s", resp.Status)
	}
}

// Case N8: at the end pages hear of it, replies are cancelled, sockets close.
func TestStopTellsThePages(t *testing.T) {
	for _, state := range []string{"idle", "decode", "prefill", "loading"} {
		t.Run(state, func(t *testing.T) {
			fake := fakellm.Config{Pace: 50, Script: fakellm.Endless("x ")}
			if state == "prefill" {
				fake.PrefillSpeed = 1
			}
			b := newBox(t, boxConfig{fake: fake, unready: state == "loading"})
			c := b.dial()
			c.hello(nil)
			c.until(wire.TypeState)
			switch state {
			case "decode":
				c.ask("until-the-end", "go")
				c.until(wire.TypeText)
			case "prefill":
				c.ask("until-the-end", strings.Repeat("much to read ", 40))
				b.until("prefill", func() bool { return b.backend.Counters().Evaluations > 0 })
			}
			stopped := make(chan error, 1)
			begin := time.Now()
			go func() { stopped <- b.stop() }()
			var stopping bool
			var finish string
			for {
				f, err := c.read()
				if err != nil {
					if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
						t.Errorf("closed with %v", err)
					}
					break
				}
				stopping = stopping || f.Type == wire.TypeState && f.Phase == "stopping"
				if f.Type == wire.TypeDone {
					finish = f.Finish
				}
			}
			if err := <-stopped; err != nil || time.Since(begin) > 3*time.Second {
				t.Errorf("stop: %v after %v", err, time.Since(begin))
			}
			if asked := state == "decode" || state == "prefill"; !stopping || asked && finish != "cancelled" {
				t.Errorf("the page heard stopping %v, finish %q", stopping, finish)
			}
		})
	}
}
