package pagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"

	"context"

	"github.com/chromedp/chromedp"

	"pichat/web/wire"
)

// TestAnswer: a message is typed, the answer streams in, the numbers move,
// and Stop ends it.
func TestAnswer(t *testing.T) {
	more := make(chan []string)
	s := newStage(t, pageModel(), func(r *reply) {
		r.reading(10, 40, 2)
		at := time.Second
		for {
			select {
			case tokens := <-more:
				for _, w := range tokens {
					at += 100 * ms
					r.say([]string{w}, at)
				}
			case <-r.stopped:
				r.done("cancelled", "")
				return
			case <-r.ctx.Done():
				return
			}
		}
	})
	p := open(t, s.URL, desktop)
	p.ask("Why is the sky blue?")
	p.until(`document.querySelector(".said").textContent === "Why is the sky blue?"`)
	p.until(`document.querySelector(".before p").textContent === "Reading your message 25 %, about 2.0 s"`)

	more <- words("The sky looks blue ")
	p.until(`document.querySelector(".answer").innerText.startsWith("The sky looks blue")`)
	p.until(`document.querySelector(".before").hidden`)
	count := eval[string](p, `document.getElementById("token-count").textContent`)
	more <- words("because air scatters short waves.")
	p.until(fmt.Sprintf(`Number(document.getElementById("token-count").textContent) > %s`, count))
	p.until(`Number(document.getElementById("pace-now").textContent) > 0`)
	if got := p.text("#first-token"); got != "1.1 s" {
		t.Errorf("first token %q, want 1.1 s", got)
	}

	p.do(chromedp.Click(chromedp.ID("stop")))
	p.until(`document.querySelector(".verdict .ending").textContent === "Stopped."`)
	if focus := eval[string](p, `document.activeElement.id`); focus != "message" {
		t.Errorf("after Stop the focus is on %q, want the message box", focus)
	}
	if text := p.text(".answer"); text != "The sky looks blue because air scatters short waves." {
		t.Errorf("the answer reads %q", text)
	}
}

// TestKeys: Enter sends, Shift+Enter breaks the line, Esc stops, ↑ edits.
func TestKeys(t *testing.T) {
	asks := make(chan wire.FromPage, 4)
	s := newStage(t, pageModel(), func(r *reply) {
		asks <- r.ask
		r.say([]string{"Yes."}, time.Second)
		r.wait()
		r.done("cancelled", "")
	})
	p := open(t, s.URL, desktop)
	p.focus()
	p.insert("one")
	p.press(enter, chromedp.ModifierShift)
	p.insert("two")
	if got := eval[string](p, `document.getElementById("message").value`); got != "one\ntwo" {
		t.Fatalf("after Shift+Enter the box holds %q", got)
	}
	p.press(enter)
	ask := <-asks
	if got := ask.Turns[len(ask.Turns)-1].Content; got != "one\ntwo" {
		t.Fatalf("sent %q", got)
	}
	p.until(`document.querySelector(".answer").textContent.includes("Yes.")`)
	p.press(enter) // an empty box sends nothing
	p.press(escape)
	p.until(`document.querySelector(".verdict")`)

	p.press(arrowUp)
	if got := eval[string](p, `document.getElementById("message").value`); got != "one\ntwo" {
		t.Fatalf("↑ brought back %q", got)
	}
	p.insert("!")
	p.press(enter)
	ask = <-asks
	if len(ask.Turns) != 1 || ask.Turns[0].Content != "one\ntwo!" {
		t.Fatalf("the edited message was sent as %+v, want it in place of the old one", ask.Turns)
	}
	if n := eval[int](p, `document.querySelectorAll(".turn.user").length`); n != 1 {
		t.Errorf("%d questions are shown, want 1", n)
	}
}

// TestComposing: nothing is sent while an input method composes.
func TestComposing(t *testing.T) {
	asks := make(chan wire.FromPage, 4)
	s := newStage(t, pageModel(), func(r *reply) { asks <- r.ask; r.done("stop", "") })
	p := open(t, s.URL, desktop)
	p.focus()
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		_, err := cdp.Call(ctx, target, input.ImeSetComposition, input.ImeSetCompositionParams{Text: "にほん", SelectionStart: 3, SelectionEnd: 3})
		return none, err
	})
	p.until(`document.getElementById("message").value === "にほん"`)
	for _, how := range []string{`isComposing: true`, `keyCode: 229`} {
		eval[any](p, fmt.Sprintf(`document.getElementById("message").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, %s}))`, how))
	}
	p.insert("日本")
	p.press(enter)
	if got := (<-asks).Turns[0].Content; got != "日本" {
		t.Errorf("sent %q, want 日本 and nothing before it", got)
	}
	if len(asks) != 0 {
		t.Errorf("%d more messages were sent", len(asks))
	}
}

// TestInert: markup from the user or the model does nothing (case P1).
func TestInert(t *testing.T) {
	const evil = "<img src=x onerror=\"window.hit=1\"> [x](javascript:window.hit=1) ![](http://evil.test/x) <script>window.hit=1</script>"
	s := newStage(t, pageModel(), func(r *reply) { r.tell(evil, time.Second, 10); r.done("error", evil) })
	p := open(t, s.URL, desktop)
	p.ask(evil)
	p.until(`document.querySelector(".verdict")`)
	if got := eval[string](p, `document.querySelector(".said").textContent`); got != evil {
		t.Errorf("the message is shown as %q", got)
	}
	check := func(when string) {
		t.Helper()
		if n := eval[int](p, `document.querySelectorAll("#turns :is(img, script, iframe), #turns [onerror], #turns a[href^='javascript:']").length`); n != 0 {
			t.Errorf("%s: %d dangerous elements in the conversation", when, n)
		}
		if eval[bool](p, `"hit" in window`) {
			t.Errorf("%s: a script of the message ran", when)
		}
	}
	check("streamed")
	p.do(chromedp.Reload())
	p.until(`document.documentElement.dataset.connected === "yes" && document.querySelector(".answer").textContent.includes("onerror")`)
	check("restored")
}

// TestContinue: an answer cut at the limit offers to go on; any answer can be
// given again.
func TestContinue(t *testing.T) {
	asks := make(chan wire.FromPage, 4)
	s := newStage(t, pageModel(), func(r *reply) {
		asks <- r.ask
		r.tell(sky[:300], time.Second, 10)
		r.done("length", "")
	})
	p := open(t, s.URL, desktop)
	p.ask("Why?")
	<-asks
	p.until(`!document.querySelector("[data-do=continue]").hidden`)
	p.do(chromedp.Click(chromedp.CSS(`.turn.last [data-do=continue]`)))
	if n := len((<-asks).Turns); n != 3 {
		t.Fatalf("Continue sent %d turns, want 3", n)
	}
	p.until(`document.querySelectorAll(".verdict").length === 2`)
	p.do(chromedp.Click(chromedp.CSS(`.turn.last [data-do=again]`)))
	if n := len((<-asks).Turns); n != 3 {
		t.Fatalf("Answer again sent %d turns, want the same 3", n)
	}
	p.until(`document.querySelectorAll(".turn").length === 4 && document.querySelectorAll(".verdict").length === 2`)
}

// TestLeftOut: a chat that has become too long says what the answer was written
// without.
func TestLeftOut(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) {
		r.emit(func(n int) any {
			return wire.Prefilling{Type: wire.TypePrefilling, ID: r.ask.ID, Serial: n, PromptTokens: 900, Done: 450, LeftOut: 6}
		})
		r.tell(sky[:200], time.Second, 10)
		r.done("stop", "")
	})
	p := open(t, s.URL, phone)
	p.ask("Why?")
	p.until(`document.querySelectorAll(".verdict").length === 1`)
	if text := p.text(".left-out"); !strings.Contains(text, "without its first 6 messages") {
		t.Errorf("the page says %q", text)
	}
}

// TestRefused: an ask that the server refuses leaves the chat as it is.
func TestRefused(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) {
		r.stage.send(wire.Error{Type: wire.TypeError, ID: r.ask.ID, Code: "queue_full", Message: "Eight others wait already. Try again in a minute."})
	})
	p := open(t, s.URL, phone)
	p.ask("Why?")
	p.until(`document.querySelector(".note-line")?.textContent.startsWith("Eight others")`)
	if p.text(".said") != "Why?" {
		t.Error("the message is gone")
	}
	if eval[bool](p, `document.getElementById("send").hidden`) {
		t.Error("nothing can be sent after a refusal")
	}
}

// TestLoading: a message written while the model loads is kept and can be
// sent once it is ready.
func TestLoading(t *testing.T) {
	asks := make(chan wire.FromPage, 1)
	m := pageModel()
	m.State.Phase, m.State.Progress = "loading", .3
	s := newStage(t, m, func(r *reply) { asks <- r.ask; r.done("stop", "") })
	p := open(t, s.URL, phone)
	p.ask("Early")
	p.until(`document.getElementById("problem").textContent.includes("still loading")`)
	s.send(wire.State{Type: wire.TypeState, Phase: "ready", HTML: "<h1 class=\"host\">pi-kitchen</h1>"})
	p.until(`document.getElementById("problem").hidden && document.getElementById("state-notices").childElementCount === 0`)
	p.press(enter)
	if got := (<-asks).Turns[0].Content; got != "Early" {
		t.Errorf("sent %q", got)
	}
}

// TestSettings: what is set is sent and kept; an empty field is left to the
// server.
func TestSettings(t *testing.T) {
	asks := make(chan wire.FromPage, 2)
	m := pageModel()
	m.State.Thinking = true
	s := newStage(t, m, func(r *reply) { asks <- r.ask; r.done("stop", "") })
	p := open(t, s.URL, phone)
	p.do(chromedp.Click(chromedp.ID("open-settings")))
	set := func(name, value string) {
		eval[any](p, fmt.Sprintf(`(() => { const f = document.getElementById("settings-form").elements[%s]; if (f.type === "checkbox") f.checked = false; else f.value = %s; f.dispatchEvent(new Event("input", {bubbles: true})); })()`, quote(name), quote(value)))
	}
	set("temperature", "0.2")
	set("top_k", "12")
	set("seed", "7")
	set("max_tokens", "-3") // out of range: not sent
	set("system", "Answer briefly.")
	set("thinking", "")
	p.press(escape)
	p.do(chromedp.Reload())
	p.until(`document.documentElement.dataset.connected === "yes"`)
	p.ask("Why?")
	w := (<-asks).Settings
	if w == nil || *w.Temperature != .2 || *w.TopK != 12 || *w.Seed != 7 || w.MaxTokens != nil || w.TopP != nil || w.System != "Answer briefly." || *w.Thinking {
		t.Errorf("the settings were sent as %+v", w)
	}
}

// TestCopy: copying works without the clipboard API, which browsers keep from
// http://192.168.…
func TestCopy(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) { r.tell(rich, time.Second, 20); r.done("stop", "") })
	p := open(t, s.URL, desktop)
	eval[any](p, `(() => {
		navigator.clipboard.writeText = () => Promise.reject(new Error("not on http"));
		window.copied = [];
		document.execCommand = () => { window.copied.push(document.activeElement.value); return true; };
	})()`)
	p.ask("Everything")
	p.until(`document.querySelector(".verdict")`)
	p.do(chromedp.Click(chromedp.CSS(`.turn.last [data-do=copy]`)))
	p.until(`document.querySelector("[data-do=copy]").textContent === "Copied"`)
	p.do(chromedp.Click(chromedp.CSS(`.copy-code`)))
	p.until(`window.copied.length === 2`)
	if got := eval[string](p, `window.copied[0]`); got != rich {
		t.Errorf("copied %q, want the answer as the model wrote it", got)
	}
	if got := eval[string](p, `window.copied[1]`); !strings.HasPrefix(got, "func main() {\n\t") {
		t.Errorf("copied code %q", got)
	}
}
