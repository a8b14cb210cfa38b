// Command screenshots makes the pictures of the README from bin/pichat itself:
// the default model while it answers, and the scripted backend at 5 tokens/s
// while the reader's mark waits. Run it with "make screenshots".
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// shot is one picture.
type shot struct {
	file          string
	width, height int64
	dark          bool
	until         string // what must hold on the page before it is taken
}

const (
	question = "Why is the sky blue?"
	// answering holds once a few lines have come and the figures stand.
	answering = `document.querySelector(".answer, .turn")?.innerText && document.querySelector(".answer").innerText.length > 250 && /\d tok\/s/.test(document.querySelector(".live")?.innerText ?? "")`
	waiting   = `/reader waiting ([89]|\d\d)/.test(document.querySelector(".live")?.textContent ?? "")`
)

var (
	real = []shot{
		{"desktop-light.png", 1280, 800, false, answering},
		{"desktop-dark.png", 1280, 800, true, answering},
		{"phone-light.png", 390, 844, false, answering},
		{"phone-dark.png", 390, 844, true, answering},
	}
	scripted = []shot{
		{"waiting-desktop-light.png", 1280, 800, false, waiting},
	}
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: screenshots PROGRAM FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(program, folder string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, cancel := chromedp.NewContext(alloc)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		return fmt.Errorf("chromium does not start: %w", err)
	}
	return errors.Join(
		series(browser, program, folder, real),
		series(browser, program, folder, scripted, "--backend", "scripted", "--pace", "5"),
	)
}

// series takes pictures of one server.
func series(browser context.Context, program, folder string, shots []shot, flags ...string) error {
	address, stop, err := serve(program, flags)
	if err != nil {
		return err
	}
	defer stop()
	for _, s := range shots {
		if err := take(browser, "http://"+address+"/", s, filepath.Join(folder, s.file)); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		fmt.Println(s.file)
	}
	return nil
}

// serve starts the program and waits until its model is loaded.
func serve(program string, flags []string) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, append([]string{"serve", "--no-qr", "--listen", address}, flags...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return address, stop, nil
			}
		}
	}
	stop()
	return "", nil, errors.New("the model was not ready within a minute")
}

// take asks the question on a fresh page and takes the picture while it is answered.
func take(browser context.Context, url string, s shot, file string) error {
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer cancel()
	if err := chromedp.Do(tab); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(tab, time.Minute)
	defer done()
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	media := func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return none, err
	}
	if err := chromedp.Do(ctx, media, chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate(url),
		wait(`document.documentElement.dataset.connected === "yes"`),
		wait(`/\d\s*%/.test(document.getElementById("board").textContent)`), // two readings make a CPU share
		chromedp.SendKeys("#message", question), key("Enter", 13, "\r"),
		wait(s.until)); err != nil {
		return err
	}
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	// A reply that goes on would slow the next picture's.
	if err := chromedp.Do(ctx, key("Escape", 27, ""), wait(`document.querySelector(".verdict")`)); err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}

// key presses a key as a keyboard does: it writes its text only if the page
// does not prevent it.
func key(name string, code int64, text string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		event := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: name, WindowsVirtualKeyCode: code, Text: text}
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, event); err != nil {
			return none, err
		}
		event.Type, event.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, event)
		return none, err
	}
}

// wait polls a condition on the page.
func wait(condition string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		for {
			ok, err := chromedp.Evaluate[bool](`!!(`+condition+`)`)(ctx, t)
			if err != nil || ok {
				return none, err
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return none, ctx.Err()
			}
		}
	}
}
