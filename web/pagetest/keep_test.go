package pagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestReload: a reload in the middle of an answer loses nothing, and the
// reader's counter goes by the server's clock.
func TestReload(t *testing.T) {
	rest := make(chan bool)
	s := newStage(t, pageModel(), func(r *reply) {
		r.tell(sky[:300], time.Second, 10)
		<-rest
		tokens := words(sky[300:])
		for i, a := range steady(len(tokens), 7*time.Second, 10) {
			r.say(tokens[i:i+1], a)
		}
		r.done("stop", "")
	})
	p := open(t, s.URL, phone)
	p.ask("Why?")
	p.until(`document.querySelector(".answer").textContent.length > 250`)
	p.do(chromedp.Reload())
	p.until(`document.documentElement.dataset.connected === "yes" && document.querySelector(".answer").textContent.length > 250`)
	rest <- true
	p.until(`document.querySelector(".verdict")`)
	if got := kept(p); got != sky {
		t.Errorf("after the reload the answer is kept as %q", got)
	}
	if got := eval[int](p, `document.querySelectorAll(".answer li").length`); got != 2 {
		t.Errorf("%d list items are shown, want 2", got)
	}
	verdict := eval[string](p, `[...document.querySelectorAll(".verdict dd")].map((d) => d.textContent).find((t) => t.startsWith("waited"))`)
	if got := eval[string](p, `document.getElementById("reader-now").textContent`); got != "reader "+verdict {
		t.Errorf("after the reload the counter says %q, the verdict %q", got, verdict)
	}
}

// kept is the last answer as the browser keeps it.
func kept(p *tab) string {
	p.until(`JSON.parse(localStorage[Object.keys(localStorage).find((k) => k.includes(".chat."))]).turns.at(-1).role === "assistant"`)
	return eval[string](p, `JSON.parse(localStorage[Object.keys(localStorage).find((k) => k.includes(".chat."))]).turns.at(-1).content`)
}

// TestLost: when the connection is lost the text stays where it is; when it is
// back the rest comes, without a gap or a repetition.
func TestLost(t *testing.T) {
	rest := make(chan bool)
	s := newStage(t, pageModel(), func(r *reply) {
		r.tell(sky[:300], time.Second, 10)
		<-rest
		tokens := words(sky[300:])
		for i, a := range steady(len(tokens), 7*time.Second, 10) {
			r.say(tokens[i:i+1], a)
		}
		r.done("stop", "")
	})
	p := open(t, s.URL, desktop)
	p.ask("Why?")
	p.until(`document.querySelector(".answer").textContent.length > 250`)
	eval[any](p, `window.first = document.querySelector(".block p")`)
	where := eval[float64](p, `window.first.getBoundingClientRect().y`)
	s.drop()
	p.until(`!document.getElementById("lost").hidden`)
	if y := eval[float64](p, `window.first.getBoundingClientRect().y`); y != where {
		t.Errorf("the text jumped by %v px", y-where)
	}
	p.until(`document.getElementById("lost").hidden`)
	rest <- true
	p.until(`document.querySelector(".verdict")`)
	if got := kept(p); got != sky {
		t.Errorf("the answer is kept as %q", got)
	}
}

// TestForgotten: a server that no longer knows the reply is told in words, and
// what came stays.
func TestForgotten(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) { r.tell(sky[:300], time.Second, 10); r.wait() })
	p := open(t, s.URL, desktop)
	p.ask("Why?")
	p.until(`document.querySelector(".answer").textContent.length > 250`)
	s.mu.Lock()
	clear(s.replies)
	s.mu.Unlock()
	s.drop()
	p.until(`document.querySelector(".note-line")?.textContent.includes("no longer has the rest")`)
	if n := eval[int](p, `document.querySelector(".answer").textContent.length`); n < 250 {
		t.Errorf("%d characters are left of the answer", n)
	}
	if eval[bool](p, `document.getElementById("send").hidden`) {
		t.Error("nothing can be asked any more")
	}
}

// TestTwoTabs: two tabs of one browser keep chats of their own; a tab opened
// after both are closed takes up the newest.
func TestTwoTabs(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) {
		r.say([]string{"Re: " + r.ask.Turns[0].Content}, time.Second)
		r.done("stop", "")
	})
	a := open(t, s.URL, desktop)
	b := sibling(a, s.URL)
	a.ask("first tab")
	b.ask("second tab")
	for _, p := range []*tab{a, b} {
		p.until(`document.querySelector(".verdict")`)
		p.do(chromedp.Reload())
		p.until(`document.documentElement.dataset.connected === "yes"`)
	}
	for p, want := range map[*tab]string{a: "first tab", b: "second tab"} {
		p.until(fmt.Sprintf(`document.querySelector(".said").textContent === %s && document.querySelector(".answer").innerText === %s`, quote(want), quote("Re: "+want)))
	}
	c := sibling(a, s.URL)
	c.until(`!document.getElementById("empty").hidden`)
}

// sibling opens another tab of the same browser, with the same storage.
func sibling(p *tab, url string) *tab {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		p.t.Fatal(err)
	}
	q := &tab{t: p.t, ctx: ctx}
	q.until(`document.documentElement.dataset.connected === "yes"`)
	return q
}

// TestBadStorage: what is kept may be spoilt, or there may be no room: the
// page works all the same.
func TestBadStorage(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) { r.tell("Yes, it does.", time.Second, 10); r.done("stop", "") })
	p := open(t, s.URL, desktop)
	for _, bad := range []string{`{`, `null`, `{"turns":7}`, `{"turns":[{"role":"system","content":"x"}]}`, `{"turns":[{"role":"user"}]}`} {
		eval[any](p, fmt.Sprintf(`localStorage.setItem("pichat.1.chat." + JSON.parse(sessionStorage["pichat.1.tab"]), %s); localStorage.setItem("pichat.1.settings", "[["); localStorage.setItem("pichat.1.paces", '{"a":1}')`, quote(bad)))
		p.do(chromedp.Reload())
		p.until(`document.documentElement.dataset.connected === "yes" && !document.getElementById("empty").hidden`)
	}
	eval[any](p, `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }`)
	p.ask("Does it work?")
	p.until(`document.querySelector(".verdict")`)
	if got := p.text("#problem"); !strings.Contains(got, "no room") {
		t.Errorf("a full storage is told as %q", got)
	}
}

// TestNewChat begins anew.
func TestNewChat(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) { r.tell("Yes.", time.Second, 10); r.wait() })
	p := open(t, s.URL, phone)
	p.ask("Why?")
	p.until(`document.querySelector(".answer").textContent.includes("Yes.")`)
	p.do(chromedp.Click(chromedp.ID("new-chat")))
	p.until(`!document.getElementById("empty").hidden && document.getElementById("turns").childElementCount === 0 && !document.getElementById("send").hidden`)
	p.do(chromedp.Reload())
	p.until(`document.documentElement.dataset.connected === "yes" && !document.getElementById("empty").hidden`)
}
