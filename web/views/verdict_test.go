package views

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestHeadline(t *testing.T) {
	d := func(s float64) *time.Duration { v := time.Duration(s * float64(time.Second)); return &v }
	f := func(v float64) *float64 { return &v }
	base := VerdictModel{Finish: "stop", Tokens: 120, TargetTPS: 11, AverageTPS: 5.2, TTFT: d(3.2), E2E: 30 * time.Second}
	with := func(change func(*VerdictModel)) VerdictModel { m := base; change(&m); return m }
	for _, c := range []struct {
		name string
		m    VerdictModel
		want string
	}{
		{"behind", with(func(m *VerdictModel) { m.TPS, m.Wait, m.Wait200 = f(5), 13*time.Second, *d(21.7) }),
			"3.2 s to start, then 5.0 tok/s: below the 11 target; over a 200-token answer a reader waits about 22 s"},
		{"between", with(func(m *VerdictModel) { m.TPS, m.Wait, m.AheadAverage = f(8), 4*time.Second, true }),
			"3.2 s to start, then 8.0 tok/s: below the 11 target, ahead of an average reader"},
		{"ahead", with(func(m *VerdictModel) { m.TPS, m.Ahead = f(19.24), true }),
			"3.2 s to start, then 19.2 tok/s: ahead of the 11 target"},
		{"fast on the whole, with a stall", with(func(m *VerdictModel) { m.TPS, m.Wait = f(11.8), 2100*time.Millisecond }),
			"3.2 s to start, then 11.8 tok/s on average, yet a reader waited 2.1 s"},
		{"short", with(func(m *VerdictModel) { m.Short, m.TPS, m.E2E = true, f(9), 1900*time.Millisecond }), "Answered in 1.9 s"},
		{"buffered", with(func(m *VerdictModel) { m.Buffered, m.TPS = true, f(9000) }), "3.2 s to start, pace n/a (buffered)"},
		{"thought", with(func(m *VerdictModel) { m.ThoughtTokens, m.FirstAnswer, m.TPS, m.Ahead = 90, d(65.2), f(12), true }),
			"3.2 s to start, thought 62 s, then 12.0 tok/s: ahead of the 11 target"},
		{"nothing", VerdictModel{Finish: "cancelled"}, ""},
	} {
		if got := c.m.headline(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestVerdictRenders: any model renders, the empty one included, and nothing
// in it is markup.
func TestVerdictRenders(t *testing.T) {
	for _, m := range []VerdictModel{{}, {Finish: "error", Error: "<b>no</b>"}, {Finish: "length", Tokens: 1}, {Finish: "window", Tokens: 3, Model: "<i>", Short: true}} {
		var b strings.Builder
		if err := Verdict(m).Render(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "<b>no") || strings.Contains(b.String(), "<i>") {
			t.Errorf("unescaped: %s", b.String())
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 3240 * time.Millisecond: "3.2 s", 9960 * time.Millisecond: "10 s", 14400 * time.Millisecond: "14 s",
		119900 * time.Millisecond: "2 min 0 s", 185 * time.Second: "3 min 5 s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%v reads %q, want %q", d, got, want)
		}
	}
}

// TestUnknown: what is not known reads n/a with its reason, never 0.
func TestUnknown(t *testing.T) {
	var b strings.Builder
	m := BoardModel{TempCelsius: Figure{Reason: "no sensor"}, Throttle: ThrottleModel{Reason: "no firmware"}}
	if err := Board(m).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<summary>n/a</summary>"); n != 5 {
		t.Errorf("%d figures read n/a, want 5", n)
	}
	for _, want := range []string{`title="no sensor"`, "<p>no firmware</p>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}
