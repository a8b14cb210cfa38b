package pagetest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/sysmon"
	"pichat/web"
)

// wholeServer is the real server, on an engine that plays a script at a pace,
// and its URL.
func wholeServer(t *testing.T, fake fakellm.Config) (string, *llm.Engine) {
	t.Helper()
	return serverOn(t, fake, sysmon.Fixed(sysmon.Snapshot{At: time.Now(), CPU: sysmon.CPU{TempCelsius: sysmon.Measured(51.5, "test")}}))
}

// serverOn is wholeServer on a board of these readings.
func serverOn(t *testing.T, fake fakellm.Config, board web.Vitals) (string, *llm.Engine) {
	t.Helper()
	service := &llm.Service{}
	engine := llm.NewEngine(llm.EngineConfig{Backend: fakellm.New(fake), Template: fakellm.Template{}, QueueLimit: 8, MaxTokens: 3000})
	service.SetReady(engine)
	server, err := web.New(web.Config{
		Service: service, Hostname: "testbox", Version: "test", Tick: 200 * ms,
		Vitals: board,
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, endEngine := context.WithCancel(context.Background())
	serving, endServer := context.WithCancel(context.Background())
	var engines, servers sync.WaitGroup
	engines.Go(func() {
		if err := engine.Run(running); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("engine: %v", err)
		}
	})
	servers.Go(func() {
		if err := server.Serve(serving, ln); err != nil {
			t.Errorf("server: %v", err)
		}
	})
	t.Cleanup(func() {
		endServer()
		servers.Wait()
		endEngine()
		engines.Wait()
	})
	return "http://" + ln.Addr().String(), engine
}

// TestWhole: the page and the real server understand each other: an answer,
// its figures, a reload in the middle of one, Stop.
func TestWhole(t *testing.T) {
	text := strings.Repeat("The **sky** looks blue because air scatters short waves. ", 12)
	url, engine := wholeServer(t, fakellm.Config{Script: fakellm.Say(text), Pace: 150})
	p := open(t, url, desktop)
	p.ask("Why is the sky blue?")
	p.until(`document.querySelector(".verdict .headline")`)
	if got := eval[string](p, `document.querySelector(".answer").innerText`); !strings.HasPrefix(got, "The sky looks blue") {
		t.Errorf("the answer reads %.60q", got)
	}
	if eval[int](p, `document.querySelectorAll(".answer strong").length`) != 12 {
		t.Error("the answer is not rendered")
	}
	p.until(`document.getElementById("board").textContent.includes("51.5")`)
	if tokens := eval[int](p, `Number(document.getElementById("token-count").textContent)`); tokens < 100 {
		t.Errorf("%d tokens are counted", tokens)
	}

	eval[any](p, `document.querySelector(".turn.last [data-do=again]").click()`)
	p.until(`document.querySelectorAll(".verdict").length === 0 && document.querySelector(".answer").textContent.length > 60`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector(".verdict .headline")`)
	if got := kept(p); got != strings.TrimSpace(text) && got != text {
		t.Errorf("after a reload in the middle the answer is kept as %.200q", got)
	}
	counter := eval[string](p, `document.getElementById("reader-now").textContent`)
	verdict := eval[string](p, `[...document.querySelectorAll(".verdict dd")].map((d) => d.textContent).find((t) => t.startsWith("waited"))`)
	if counter != "reader "+verdict && !(counter == "reader never waited" && verdict == "waited 0.0 s") {
		t.Errorf("the counter says %q, the verdict %q", counter, verdict)
	}

	eval[any](p, `document.querySelector(".turn.last [data-do=again]").click()`)
	p.until(`document.querySelectorAll(".verdict").length === 0 && document.querySelector(".answer").textContent.length > 10`)
	p.press(escape)
	p.until(`document.querySelector(".verdict .ending").textContent === "Stopped."`)
	if n := engine.Status().Running; n != 0 {
		t.Errorf("%d replies run on after Stop", n)
	}
}

// TestTwoBrowsers: both stream at once, and each sees its own.
func TestTwoBrowsers(t *testing.T) {
	url, _ := wholeServer(t, fakellm.Config{Script: fakellm.Echo, Slots: 2, Pace: 100})
	a, b := open(t, url, desktop), open(t, url, phone)
	a.ask("from the desk " + strings.Repeat("desk ", 30))
	b.ask("from the hand " + strings.Repeat("hand ", 30))
	for p, word := range map[*tab]string{a: "desk", b: "hand"} {
		p.until(`document.querySelector(".verdict")`)
		if got := eval[string](p, `document.querySelector(".answer").innerText`); !strings.Contains(got, word) {
			t.Errorf("asked of %s, answered %.60q", word, got)
		}
	}
}
