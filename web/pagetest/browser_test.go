// Package pagetest drives the chat page in a real browser: headless Chromium
// against a stage (stage_test.go) that plays scripted answers through the real
// views, stylesheet and modules.
//
// Chromium has to be there: a page that nobody has looked at is not tested.
package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const patience = 20 * time.Second // for a condition to become true

// browser is the one Chromium of all tests; each test has a tab of its own in
// a browser context of its own, so storage is not shared.
var browser context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "chromium does not start: %v\nThe page is tested in a real browser. `make test` installs it; by hand: apt-get install chromium\n", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

// tab is one page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// look describes how a page is shown.
type look struct {
	Width, Height int
	Dark          bool
	Still         bool // prefers-reduced-motion
}

var (
	phone   = look{Width: 390, Height: 844}
	desktop = look{Width: 1280, Height: 800}
)

// open shows url in a new tab with a storage of its own and waits until the
// page is connected.
func open(t *testing.T, url string, l look) *tab {
	t.Helper()
	p := openUnready(t, url, l)
	p.until(`document.documentElement.dataset.connected === "yes"`)
	return p
}

func openUnready(t *testing.T, url string, l look) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	// the tab lives as long as the context that opens it, so no time-out here
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.do(func(ctx context.Context, s *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		feature := func(name, value string) *emulation.MediaFeature {
			return &emulation.MediaFeature{Name: name, Value: value}
		}
		scheme, motion := "light", "no-preference"
		if l.Dark {
			scheme = "dark"
		}
		if l.Still {
			motion = "reduce"
		}
		_, err := cdp.Call(ctx, s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			feature("prefers-color-scheme", scheme), feature("prefers-reduced-motion", motion)}})
		return none, err
	})
	p.do(chromedp.EmulateViewport(int64(l.Width), int64(l.Height)))
	p.collectFaults()
	p.do(chromedp.Navigate(url))
	return p
}

// collectFaults fails the test on any uncaught exception or refused resource:
// a break of the content security policy is reported as one.
func (p *tab) collectFaults() {
	err := chromedp.Listen(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.t.Errorf("the page threw: %s", describe(e.ExceptionDetails))
		case *cdplog.EventEntryAdded:
			if e.Entry.Level == cdplog.EntryLevelError && e.Entry.Source == cdplog.EntrySourceSecurity {
				p.t.Errorf("the browser refused: %s", e.Entry.Text)
			}
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// eval is the value of an expression; a promise is awaited.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(q *runtime.EvaluateParams) { await := true; q.AwaitPromise = &await }))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until a condition holds on the page.
func (p *tab) until(condition string) {
	p.t.Helper()
	p.untilWithin(patience, condition)
}

// untilWithin is until for what takes longer, such as a real model's answer.
func (p *tab) untilWithin(limit time.Duration, condition string) {
	p.t.Helper()
	for deadline := time.Now().Add(limit); ; {
		// in pieces, so that no single call outlasts its time-out
		if eval[bool](p, fmt.Sprintf(untilScript, (2*time.Second).Milliseconds(), condition)) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("never became true: %s\nthe page says: %s", condition, eval[string](p, `document.body.innerText.slice(0, 2000)`))
		}
	}
}

// untilScript looks at a condition again and again, for some milliseconds.
const untilScript = `new Promise((done) => {
	const end = Date.now() + %d;
	const look = () => {
		let is = false;
		try { is = !!(%s); } catch {}
		if (is || Date.now() > end) done(is); else setTimeout(look, 15);
	};
	look();
})`

// text is what an element says.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? "(no such element)"`, quote(selector)))
}

// key is one key of a keyboard, as the browser reports it.
type key struct {
	Name string // KeyboardEvent.key
	Code int    // KeyboardEvent.keyCode
	Text string // what it writes, if anything
}

var (
	enter   = key{"Enter", 13, "\r"}
	escape  = key{"Escape", 27, ""}
	tabKey  = key{"Tab", 9, ""}
	arrowUp = key{"ArrowUp", 38, ""}
)

// press presses a key, down and up, wherever the focus is. Unlike a synthetic
// event it writes its text only if the page does not prevent it.
func (p *tab) press(k key, mods ...chromedp.Modifier) {
	p.t.Helper()
	p.do(func(ctx context.Context, s *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		q := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k.Name, WindowsVirtualKeyCode: int64(k.Code), Text: k.Text}
		for _, m := range mods {
			q.Modifiers |= int64(m)
		}
		if _, err := cdp.Call(ctx, s, input.DispatchKeyEvent, q); err != nil {
			return none, err
		}
		q.Type, q.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err := cdp.Call(ctx, s, input.DispatchKeyEvent, q)
		return none, err
	})
}

// insert puts text in at once, as a paste does.
func (p *tab) insert(text string) {
	p.t.Helper()
	p.do(func(ctx context.Context, s *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		_, err := cdp.Call(ctx, s, input.InsertText, input.InsertTextParams{Text: text})
		return none, err
	})
}

// focus puts the focus into the message box, as a tap does.
func (p *tab) focus() {
	p.t.Helper()
	eval[any](p, `document.getElementById("message").focus()`)
}

// ask types a message and sends it.
func (p *tab) ask(text string) {
	p.t.Helper()
	p.focus()
	p.insert(text)
	p.press(enter)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func describe(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}
