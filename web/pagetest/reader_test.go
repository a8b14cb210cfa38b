package pagetest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pichat/llm/reader"
)

// TestWaitFormula: the page's W(r) is that of package reader, for whole
// answers and token by token.
func TestWaitFormula(t *testing.T) {
	s := newStage(t, pageModel(), nil)
	p := open(t, s.URL, phone)
	stall := append(steady(30, time.Second, 20), steady(30, 9*time.Second, 20)...)
	for name, arrivals := range map[string][]time.Duration{
		"none": {}, "one": {time.Second}, "slow": steady(200, 3*time.Second, 5), "fast": steady(200, time.Second, 20),
		"exact": steady(50, 0, 11), "stall": stall,
	} {
		at := make([]float64, len(arrivals))
		for i, a := range arrivals {
			at[i] = a.Seconds()
		}
		list, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, pace := range []float64{reader.Target, reader.Average, 0} {
			want := reader.Wait(arrivals, pace).Seconds()
			got := eval[float64](p, fmt.Sprintf(`import("/static/reader.js").then((m) => m.wait(%s, %g))`, list, pace))
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s at %g: the page says %g, the server %g", name, pace, got, want)
			}
			if pace == 0 || len(arrivals) == 0 {
				continue
			}
			got = eval[float64](p, fmt.Sprintf(`import("/static/reader.js").then((m) => { const r = new m.Reader(3); %s.forEach((a) => r.push(a)); r.setPace(%g); r.ended = true; return r.where(1e6).waited; })`, list, pace))
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s at %g: the running reader says %g, the server %g", name, pace, got, want)
			}
		}
	}
}

// TestCounterAgrees: the counter beside the text ends on what the verdict
// says.
func TestCounterAgrees(t *testing.T) {
	for name, tps := range map[string]float64{"behind": 5, "ahead": 20} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, pageModel(), func(r *reply) { r.tell(sky, 2*time.Second, tps); r.done("stop", "") })
			p := open(t, s.URL, desktop)
			p.ask("Why?")
			p.until(`document.querySelector(".verdict")`)
			counter := p.text("#reader-now")
			verdict := eval[string](p, `[...document.querySelectorAll(".verdict dd")].map((d) => d.textContent).find((t) => t.startsWith("waited"))`)
			if tps > reader.Target {
				if counter != "reader never waited" || verdict != "waited 0.0 s" {
					t.Errorf("the counter says %q, the verdict %q", counter, verdict)
				}
				return
			}
			if want := "reader " + verdict; counter != want {
				t.Errorf("the counter says %q, the verdict %q", counter, verdict)
			}
		})
	}
}

// TestMark: the mark reads along, catches up, pulses there, and the counter
// grows.
func TestMark(t *testing.T) {
	more := make(chan time.Duration)
	s := newStage(t, pageModel(), func(r *reply) {
		tokens := words(sky)
		r.tell(strings.Join(tokens[:40], ""), time.Second, 20) // ends at 2.95 s
		for {
			select {
			case late := <-more:
				r.say(tokens[40:41], late)
			case <-r.ctx.Done():
				return
			}
		}
	})
	p := open(t, s.URL, desktop)
	p.ask("Why?")
	const x = `document.querySelector(".reader-mark")?.getBoundingClientRect()`
	p.until(`document.querySelector(".reader-mark:not(.gone)")`)
	p.until(`/text ahead/.test(document.getElementById("reader-now").textContent)`)
	first := eval[float64](p, x+`.y`)
	p.until(`document.querySelector(".reader-mark.waiting")`)
	end := eval[[]float64](p, `(() => { const m = `+x+`; const r = document.createRange(); r.selectNodeContents(document.querySelector(".block:last-of-type")); const b = [...r.getClientRects()].at(-1); return [m.x - b.right, m.y - b.top]; })()`)
	if math.Abs(end[0]) > 12 || math.Abs(end[1]) > 8 {
		t.Errorf("a waiting mark stands %v px from the end of the text", end)
	}
	if last := eval[float64](p, x+`.y`); last < first {
		t.Errorf("the mark went back from %v to %v", first, last)
	}
	p.until(`/reader waiting/.test(document.getElementById("reader-now").textContent)`)
	before := eval[string](p, `document.getElementById("reader-now").textContent`)
	p.until(`document.getElementById("reader-now").textContent !== ` + quote(before))
	more <- 12 * time.Second
	p.until(`document.getElementById("token-count").textContent === "41"`)
}

// TestMarkOff: reduced motion and the switch take the mark away, not the
// counter.
func TestMarkOff(t *testing.T) {
	script := func(r *reply) { r.tell(sky, 2*time.Second, 5); r.wait() }
	still := phone
	still.Still = true
	p := open(t, newStage(t, pageModel(), script).URL, still)
	p.ask("Why?")
	p.until(`/reader waiting/.test(document.getElementById("reader-now").textContent)`)
	if d := eval[string](p, `getComputedStyle(document.querySelector(".reader-mark")).display`); d != "none" {
		t.Errorf("with reduced motion the mark's display is %s", d)
	}

	p = open(t, newStage(t, pageModel(), script).URL, phone)
	p.ask("Why?")
	p.until(`document.querySelector(".reader-mark:not(.gone)")`)
	eval[any](p, `document.querySelector("[name=cursor]").click()`)
	p.until(`document.querySelector(".reader-mark.gone")`)
	p.until(`/reader waiting/.test(document.getElementById("reader-now").textContent)`)

	eleven := eval[string](p, `document.getElementById("reader-now").textContent`)
	eval[any](p, `document.querySelector("[name=pace][value=average]").click()`)
	p.until(`/waiting/.test(document.getElementById("reader-now").textContent) && document.getElementById("reader-now").textContent !== ` + quote(eleven))
}
