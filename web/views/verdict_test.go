package views

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestKind(t *testing.T) {
	first, tps := 3*time.Second, 5.0
	base := VerdictModel{Tokens: 120, TTFT: &first, TPS: &tps}
	with := func(change func(*VerdictModel)) VerdictModel { m := base; change(&m); return m }
	for want, m := range map[string]VerdictModel{
		"behind": base,
		"ahead":  with(func(m *VerdictModel) { m.Ahead = true }),
		"plain":  with(func(m *VerdictModel) { m.Short, m.Ahead = true, true }),
		"none":   {Finish: "cancelled", Headline: "no answer"},
	} {
		if got := m.kind(); got != want {
			t.Errorf("%+v is %s, want %s", m, got, want)
		}
	}
	if got := with(func(m *VerdictModel) { m.Buffered = true }).kind(); got != "plain" {
		t.Errorf("a buffered answer is %s, want plain", got)
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
	m := BoardModel{TempCelsius: Figure{Reason: "no sensor"}, Throttle: ThrottleModel{Now: HeldModel{Reason: "no firmware"}}}
	if err := Board(m).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<summary>n/a</summary>"); n != 8 {
		t.Errorf("%d figures read n/a, want 8", n)
	}
	for _, want := range []string{`title="no sensor"`, "<p>no firmware</p>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}
