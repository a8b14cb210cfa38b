package pagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestNarrow: no state scrolls sideways on a phone, down to the narrowest.
func TestNarrow(t *testing.T) {
	for _, st := range states() {
		t.Run(st.name, func(t *testing.T) {
			p := stageState(t, st, phone)
			for _, width := range []int64{390, 320} {
				p.do(chromedp.EmulateViewport(width, 844))
				wide := eval[string](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
					const d = document.documentElement, t = document.getElementById("talk");
					const over = [...document.querySelectorAll("body *")].filter((e) => !e.closest("pre, table, .sr, [inert] *, svg") && e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().right > innerWidth + 1);
					if (d.scrollWidth <= innerWidth && t.scrollWidth <= t.clientWidth && !over.length) return "";
					return "page " + d.scrollWidth + ", talk " + t.scrollWidth + " of " + innerWidth + ": " + over.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(" | ");
				})`) // two frames later, when the mark has followed
				if wide != "" {
					t.Errorf("at %d px: %s", width, wide)
				}
			}
		})
	}
}

// contrast finds text whose contrast with what is behind it is too low, by
// the formula of WCAG 2.
const contrast = `(() => {
	const parse = (c) => { const v = c.match(/[\d.]+/g).map(Number); return {rgb: v.slice(0, 3), a: v[3] ?? 1}; };
	const over = (top, under) => top.rgb.map((v, i) => v * top.a + under[i] * (1 - top.a));
	const back = (e) => {
		const stack = [];
		for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a > 0) stack.push(c); if (c.a === 1) break; }
		return stack.reverse().reduce((under, c) => over(c, under), [255, 255, 255]);
	};
	const lum = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
	const bad = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (!walker.currentNode.data.trim() || !e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || e.closest(".sr, template, noscript")) continue;
		const s = getComputedStyle(e), under = back(e), color = parse(e.closest("svg") ? s.fill : s.color);
		if (e.id === "pace-now" && e.hasAttribute("data-none")) continue; // a dash, not text
		const [a, b] = [lum(over(color, under)), lum(under)].sort((x, y) => y - x);
		const ratio = (a + .05) / (b + .05);
		if (ratio < 4.5) bad.push(ratio.toFixed(2) + " " + e.className + " " + walker.currentNode.data.trim().slice(0, 30));
	}
	return [...new Set(bad)].join("\n");
})()`

// TestContrast: all text has a contrast of 4.5:1 in both schemes.
func TestContrast(t *testing.T) {
	for _, dark := range []bool{false, true} {
		for _, name := range []string{"empty", "throttled", "na", "verdict-ahead", "rich", "settings", "notes", "failed", "thinking", "lost"} {
			t.Run(fmt.Sprintf("%s dark=%t", name, dark), func(t *testing.T) {
				for _, st := range states() {
					if st.name != name {
						continue
					}
					l := desktop
					l.Dark = dark
					if bad := eval[string](stageState(t, st, l), contrast); bad != "" {
						t.Error(bad)
					}
				}
			})
		}
	}
}

// TestNames: every control has a name, and every landmark too.
func TestNames(t *testing.T) {
	for _, st := range states() {
		if st.name != "rich" && st.name != "na" && st.name != "settings" {
			continue
		}
		p := stageState(t, st, desktop)
		if bad := eval[string](p, `[...document.querySelectorAll("button, input, textarea, a, aside, main, dialog, article, form")].filter((e) =>
			!(e.ariaLabel || e.title || e.textContent.trim() || e.labels?.length || e.getAttribute("aria-labelledby"))).map((e) => e.outerHTML.slice(0, 100)).join("\n")`); bad != "" {
			t.Errorf("%s: without a name:\n%s", st.name, bad)
		}
		if bad := eval[string](p, `(() => { const n = {}; document.querySelectorAll("[id]").forEach((e) => n[e.id] = (n[e.id] ?? 0) + 1); return Object.keys(n).filter((k) => n[k] > 1).join(" "); })()`); bad != "" {
			t.Errorf("%s: ids used twice: %s", st.name, bad)
		}
	}
}

// TestKeyboard: a whole run without a pointer. The sheet on a phone takes the
// focus in and gives it back.
func TestKeyboard(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) { r.tell(rich, time.Second, 20); r.done("stop", "") })
	p := open(t, s.URL, desktop)
	// tabTo goes on by Tab until a selector has the focus
	tabTo := func(selector string) {
		t.Helper()
		for range 60 {
			if eval[bool](p, `document.activeElement?.matches(`+quote(selector)+`)`) {
				if !eval[bool](p, `(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" || document.activeElement.closest(".composer") !== null; })()`) {
					t.Errorf("the focus on %s cannot be seen", selector)
				}
				return
			}
			p.press(tabKey)
		}
		t.Fatalf("Tab never reaches %s", selector)
	}
	eval[any](p, `document.activeElement.blur()`)
	tabTo(".question")
	p.press(enter)
	p.until(`document.querySelector(".verdict")`)
	if got := eval[string](p, `document.activeElement.id`); got != "message" {
		t.Errorf("after a question is chosen the focus is on %q", got)
	}
	eval[any](p, `document.activeElement.blur()`)
	tabTo("pre")
	tabTo(".copy-code")
	tabTo(".figures summary")
	p.press(enter)
	p.until(`document.querySelector(".figures").open`)
	tabTo(`[data-do="again"]`)
	tabTo(`[data-note="temperature"]`)
	p.press(enter)
	p.until(`document.getElementById("notes").open && document.getElementById("note-temperature").classList.contains("asked")`)
	p.press(escape)
	p.until(`!document.getElementById("notes").open && document.activeElement.dataset.note === "temperature"`)

	p.do(chromedp.EmulateViewport(390, 844))
	p.until(`document.getElementById("open-panel").checkVisibility()`)
	eval[any](p, `document.getElementById("open-panel").focus()`)
	p.press(enter)
	p.until(`document.getElementById("panel").classList.contains("open") && document.activeElement.id === "close-panel"`)
	p.press(escape)
	p.until(`!document.getElementById("panel").classList.contains("open") && document.activeElement.id === "open-panel"`)
}

// TestSpoken: a screen reader hears whole sentences, not tokens.
func TestSpoken(t *testing.T) {
	s := newStage(t, pageModel(), func(r *reply) {
		r.tell("The first **sentence** ends here. The second one", time.Second, 20)
		select {
		case <-r.stopped:
		case <-r.ctx.Done():
		}
		r.done("cancelled", "")
	})
	p := open(t, s.URL, desktop)
	p.ask("Why?")
	p.until(`document.getElementById("announcer").textContent !== ""`)
	if got := eval[string](p, `document.getElementById("announcer").textContent`); got != "The first sentence ends here." {
		t.Errorf("announced %q", got)
	}
	p.press(escape)
	p.until(`/The second one.*Stopped\./.test(document.getElementById("announcer").textContent)`)
}

// TestFollow: the view follows the text only while the reader is at its end.
func TestFollow(t *testing.T) {
	more := make(chan bool)
	s := newStage(t, pageModel(), func(r *reply) {
		at := time.Second
		for {
			r.say(words(strings.Repeat("A line of text. ", 150)+"\n\n"), at)
			at += 100 * ms
			select {
			case <-more:
			case <-r.ctx.Done():
				return
			}
		}
	})
	p := open(t, s.URL, phone)
	p.ask("Why?")
	const gap = `(() => { const t = document.getElementById("talk"); return t.scrollHeight - t.scrollTop - t.clientHeight; })()`
	p.until(`document.getElementById("talk").scrollHeight > 1000 && ` + gap + ` < 2`)
	eval[any](p, `document.getElementById("talk").scrollTop = 50`)
	p.until(`!document.getElementById("latest").hidden`)
	more <- true
	p.until(`document.querySelectorAll(".block").length === 2`)
	if top := eval[float64](p, `document.getElementById("talk").scrollTop`); top != 50 {
		t.Errorf("the view moved to %v while the reader was above", top)
	}
	p.do(chromedp.Click(chromedp.ID("latest")))
	p.until(gap + ` < 2 && document.getElementById("latest").hidden`)
	more <- true
	p.until(`document.querySelectorAll(".block").length === 3 && ` + gap + ` < 2`)
}

// TestLong: an answer of 5,000 tokens stays smooth, and finished blocks are
// never touched again (case P2).
func TestLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	begin := make(chan bool)
	s := newStage(t, pageModel(), func(r *reply) {
		<-begin
		tick := time.NewTicker(50 * ms) // 20 updates/s
		defer tick.Stop()
		para := words(strings.Repeat("Some words of an answer that is long. ", 8) + "\n\n")
		at, told := time.Second, 0
		for told < 5000 {
			n := 0
			for n < 40 { // 800 tokens/s: more than any board
				r.say(para, steady(len(para), at, 800)...)
				n += len(para)
				at += time.Duration(n) * time.Second / 800
			}
			told += n
			select {
			case <-tick.C:
			case <-r.ctx.Done():
				return
			}
		}
		r.done("stop", "")
	})
	p := open(t, s.URL, desktop)
	eval[any](p, `(() => { window.tasks = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => window.tasks.push(e.duration))).observe({type: "longtask"}); })()`)
	p.ask("Why?")
	begin <- true
	p.until(`document.querySelectorAll(".block").length > 2`)
	eval[any](p, `(() => { window.touched = 0; new MutationObserver((l) => window.touched += l.length).observe(document.querySelector(".block"), {subtree: true, childList: true, characterData: true, attributes: true}); })()`)
	p.until(`document.querySelector(".verdict")`)
	if n := eval[int](p, `window.touched`); n != 0 {
		t.Errorf("a finished block was touched %d times", n)
	}
	longest := eval[float64](p, `Math.max(0, ...window.tasks)`)
	t.Logf("the longest task took %.0f ms, %d above 50 ms", longest, eval[int](p, `window.tasks.length`))
	if longest > 100 {
		t.Errorf("a task of %.0f ms, want at most 100", longest)
	}
}

// TestBoardStays: an update of the board leaves alone what the reader has
// opened and where the focus is.
func TestBoardStays(t *testing.T) {
	m := pageModel()
	m.Board = bareBoard()
	s := newStage(t, m, nil)
	p := open(t, s.URL, desktop)
	eval[any](p, `(() => { const d = document.querySelector("#board .na"); d.open = true; d.querySelector("summary").focus(); window.kept = d; })()`)
	m.Board.Now.Answering = 1
	s.vitals(m.Board)
	p.until(`document.getElementById("board").textContent.includes("1 answering")`)
	if !eval[bool](p, `window.kept.isConnected && window.kept.open && document.activeElement === window.kept.querySelector("summary")`) {
		t.Error("an update closed what the reader had opened")
	}
}
