package pagetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pichat/web/views"
	"pichat/web/wire"
)

// shots is where TestShots leaves its pictures:
//
//	go test ./web/pagetest -run Shots -shots /tmp/shots
var shots = flag.String("shots", "", "write a screenshot of every state into this `folder`")

// state is one state of the page: how the server is, what the reader does,
// and what the page must show before it is looked at.
type state struct {
	name   string
	page   func(*views.PageModel)
	script func(*reply)
	ask    string // "" asks nothing
	after  func(*tab, *stage)
	ready  string // a condition
}

func states() []state {
	shown := `document.querySelector(".live:not([hidden])")`
	waiting := `/reader waiting/.test(document.querySelector(".live").textContent)`
	done := `document.querySelector(".verdict")`
	return []state{
		{name: "empty", ready: `!document.getElementById("empty").hidden`},
		{name: "loading", page: func(m *views.PageModel) {
			m.State = views.StateModel{Host: "pi-kitchen", Phase: views.PhaseLoading, Progress: .42, Note: "reading the file"}
		}, ready: `document.querySelector(".notice.loading")`},
		{name: "failed", page: func(m *views.PageModel) {
			m.State = views.StateModel{Host: "pi-kitchen", Phase: views.PhaseFailed, Failure: "models/SmolLM2-135M-Instruct.Q4_1.gguf has 12,288 bytes where its header says 98,362,432: the download was cut short. Run make model again."}
		}, ready: `document.querySelector(".notice.failed")`},
		{name: "queued", ask: "Why is the sky blue?", script: func(r *reply) { r.queued(2, 21); r.wait() }, ready: `/Second/.test(document.body.innerText)`},
		{name: "reading", ask: "Why is the sky blue?", script: func(r *reply) { r.reading(410, 1024, 12); r.wait() }, ready: `/Reading your message 40/.test(document.body.innerText)`},
		{name: "ahead", ask: "Why is the sky blue?", script: func(r *reply) {
			r.tell(sky[:600], 1200*ms, 19.6)
			r.wait()
		}, ready: `/text ahead/.test(document.querySelector(".live").textContent) && document.querySelector(".tps").textContent !== "– tok/s"`},
		{name: "waiting", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:420], 3200*ms, 5.1); r.wait() }, ready: waiting},
		{name: "verdict-behind", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky, 3200*ms, 5.1); r.done("stop", "") }, ready: done},
		{name: "verdict-ahead", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky, 900*ms, 19.2); r.done("stop", "") }, ready: done,
			after: func(p *tab, _ *stage) { eval[any](p, `document.querySelector(".figures summary").click()`) }},
		{name: "short", ask: "Two and two?", script: func(r *reply) { r.tell("Four.", 700*ms, 10); r.done("stop", "") }, ready: done},
		{name: "stopped", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:200], 900*ms, 12); r.done("cancelled", "") }, ready: done},
		{name: "cut", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:500], 900*ms, 12); r.done("length", "") }, ready: done},
		{name: "refused", ask: "Why is the sky blue?", script: func(r *reply) {
			r.emit(func(int) any {
				return wire.Error{Type: wire.TypeError, ID: r.ask.ID, Code: "context_full", Message: "The chat has 2,310 tokens and the model's window holds 2,048. Begin a new chat, or shorten your message."}
			})
		}, ready: `document.querySelector(".note-line")`},
		{name: "lost", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:420], 3200*ms, 5.1); r.wait() }, ready: waiting,
			after: func(p *tab, s *stage) {
				s.Listener.Close()
				s.drop()
				p.until(`!document.getElementById("lost").hidden`)
			}},
		{name: "na", page: func(m *views.PageModel) { m.Board = bareBoard(); m.Empty.Board = "" }, ready: `document.querySelector(".na")`,
			after: func(p *tab, _ *stage) { eval[any](p, `document.querySelector(".na").open = true`) }},
		{name: "throttled", page: holdBack, ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:420], 3200*ms, 3.4); r.wait() }, ready: waiting},
		{name: "throttled-panel", page: holdBack, ready: `document.querySelector("rect.held")`, after: openPanel},
		{name: "scripted", page: func(m *views.PageModel) { m.State.Scripted, m.State.ScriptPaceTPS, m.State.Base = true, 5, true },
			ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:420], 3200*ms, 5); r.wait() }, ready: waiting},
		{name: "thinking", page: func(m *views.PageModel) { m.State.Thinking = true }, ask: "Is 91 a prime?", script: func(r *reply) {
			for i, w := range words("The user asks whether 91 is a prime number. 7 times 13 is 91, so it is not.") {
				r.think(w, 800*ms+time.Duration(i)*100*ms)
			}
			r.tell("No. 91 is 7 × 13, so it can be divided by 7 and by 13. The nearest primes are 89 below and 97 above it, and between these two there is no other.", 2700*ms, 9)
			r.done("stop", "")
		}, ready: done, after: func(p *tab, _ *stage) { eval[any](p, `document.querySelector(".thought summary").click()`) }},
		{name: "rich", ask: "Show me everything", script: func(r *reply) {
			r.tell(rich, 900*ms, 14)
			r.done("stop", "")
		}, ready: done},
		{name: "longword", ask: strings.Repeat("wort", 75), script: func(r *reply) { r.tell(strings.Repeat("word", 75)+" ends", 900*ms, 14); r.wait() }, ready: shown},
		{name: "arabic", ask: "لماذا السماء زرقاء؟", script: func(r *reply) {
			r.tell("تبدو السماء زرقاء لأن الهواء يشتت الموجات القصيرة من الضوء أكثر من الموجات الطويلة. ضوء الشمس يحمل كل الألوان، واللون الأزرق ينتشر في كل اتجاه. 🧑‍🚀🔥 你好 Ёж", 900*ms, 5)
			r.wait()
		}, ready: `document.querySelector(".reader-mark:not(.gone)")`},
		{name: "settings", ready: `document.querySelector("dialog[open]")`, page: func(m *views.PageModel) { m.State.Thinking = true },
			after: nil, ask: "", script: nil},
		{name: "notes", ready: `document.querySelector("dialog[open]")`},
		{name: "panel", ask: "Why is the sky blue?", script: func(r *reply) { r.tell(sky[:420], 3200*ms, 5.1); r.wait() }, ready: waiting,
			after: openPanel},
	}
}

// holdBack is a board that heat and a weak supply slow down.
func holdBack(m *views.PageModel) {
	held := views.HeldModel{Known: true, Limits: []string{"under-voltage", "throttled"}, Remedy: "The supply voltage is too low: use the board's own power supply and a short, thick cable."}
	m.Board.Throttle = views.ThrottleModel{Now: held, SinceBoot: views.HeldModel{Known: true, Limits: held.Limits}}
	m.Board.ClockHz.Value, m.Board.ClockOfHz = 1e9, 2.4e9
	m.Board.Timeline.Held = []views.HeldSpan{{From: .2, To: .26, Began: true}, {From: .62, To: 1, Began: true, TempCelsius: views.Point{Value: 81, Known: true}}}
}

func openPanel(p *tab, _ *stage) {
	eval[any](p, `document.getElementById("open-panel").click()`)
	p.until(`getComputedStyle(document.getElementById("panel")).translate === "none"`)
}

const rich = "## A heading\n\nA paragraph with `inline code`, **bold** and a [link](https://example.org).\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"a line of code that is a good deal wider than any telephone's screen, and than the column too\", os.Args)\n}\n```\n\n" +
	"1. First\n2. Second, with a longer text that runs on to the next line on a narrow screen\n   - nested\n\n> A quotation.\n\n" +
	"| Board | Memory | tok/s |\n|---|---|---|\n| Pi 4 | 4 GB | 2.9 |\n| Pi 5 | 8 GB | 7.1 |\n\n<img src=x onerror=alert(1)>\n"

// stageState brings a page into a state.
func stageState(t *testing.T, st state, l look) *tab {
	t.Helper()
	m := pageModel()
	if st.page != nil {
		st.page(&m)
	}
	s := newStage(t, m, st.script)
	p := open(t, s.URL, l)
	switch st.name {
	case "settings":
		eval[any](p, `document.getElementById("open-settings").click()`)
	case "notes":
		eval[any](p, `document.querySelector('.about .ask').click()`)
	}
	if st.ask != "" {
		p.ask(st.ask)
	}
	p.until(st.ready)
	if st.after != nil {
		st.after(p, s)
	}
	return p
}

// TestShots takes a picture of every state, for people to look at.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("no -shots folder given")
	}
	looks := map[string]look{"phone": phone, "desktop": desktop}
	for _, st := range states() {
		for name, l := range looks {
			for _, dark := range []bool{false, true} {
				l.Dark = dark
				scheme := map[bool]string{false: "light", true: "dark"}[dark]
				t.Run(fmt.Sprintf("%s-%s-%s", st.name, name, scheme), func(t *testing.T) {
					p := stageState(t, st, l)
					p.until(`document.getAnimations().every((a) => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`)
					png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(*shots, filepath.Base(t.Name())+".png"), png, 0o644); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}
