package policy

import (
	"strings"
	"testing"
	"time"
)

// adaptive returns a policy over a curve that knows T(1..slots) and a prefill
// of 200 tokens/s.
func adaptive(t testing.TB, c Config, step func(streams int) float64) *Adaptive {
	t.Helper()
	curve := NewCurve(c.Slots)
	for b := 1; b <= c.Slots; b++ {
		for range 20 {
			curve.ObserveDecode(b, duration(step(b)))
		}
	}
	for range recentSteps {
		curve.ObservePrefill(100, 500*time.Millisecond)
	}
	a, err := NewAdaptive(c, curve)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// view has so many running, each of its own client and decoding, and one waiting.
func view(running int) View {
	v := View{Now: 10 * time.Second, Waiting: []Waiting{{Client: "new", Arrival: 10 * time.Second, Prompt: 20}}}
	for i := range running {
		v.Running = append(v.Running, Running{Client: string(rune('a' + i)), ReplyLeft: 100})
	}
	return v
}

func wantDecision(t *testing.T, a Policy, v View, admit int, kind Kind, text string) {
	t.Helper()
	d := a.Next(v)
	if d.Admit != admit || d.Reason.Kind != kind || !strings.Contains(d.Reason.String(), text) {
		t.Errorf("%d running, %d waiting: admits %d, %q (kind %d); want %d, %q (kind %d)",
			len(v.Running), len(v.Waiting), d.Admit, d.Reason, d.Reason.Kind, admit, text, kind)
	}
}

func TestReaderRule(t *testing.T) {
	// 1/T = 25, 20, 16.7, 14.3, 12.5, 11.1, 10 tokens/s
	a := adaptive(t, Config{Slots: 8}, machine)
	wantDecision(t, a, View{}, -1, Empty, "nobody waits")
	wantDecision(t, a, view(0), 0, Idle, "nobody else")
	wantDecision(t, a, view(3), 0, KeepsPace, "4 streams run at 14.3 tok/s each, at least 11.0")
	wantDecision(t, a, view(5), 0, KeepsPace, "6 streams run at 11.1")
	wantDecision(t, a, view(6), -1, BelowPace, "7 streams would run at 10.0 tok/s, below 11.0")
	near := adaptive(t, Config{Slots: 2}, func(b int) float64 { return 0.0926 })
	wantDecision(t, near, view(1), 0, KeepsPace, "2 streams run at 10.8 tok/s each: a reader of 11.0 waits less than 500ms in a reply")
	slow := adaptive(t, Config{Slots: 8, Pace: 5.2}, machine)
	wantDecision(t, slow, view(7), 0, KeepsPace, "at least 5.2")
	wantDecision(t, slow, view(8), -1, SlotsFull, "all 8 slots")
}

// With a floor, one whose first token would come too late otherwise is let in
// while an average reader is kept ahead of.
func TestFloor(t *testing.T) {
	a := adaptive(t, Config{Slots: 8, Floor: 9}, machine)
	v := view(6)
	v.Running[3].ReplyLeft = 20 // it ends in 1.3 s
	wantDecision(t, a, v, -1, BelowPace, "")
	v.Now += 800 * time.Millisecond
	wantDecision(t, a, v, 0, KeepsFloor, "a slot would come too late; 7 streams run at 10.0 tok/s each, at least 9.0")
	v = view(7)
	wantDecision(t, a, v, 0, KeepsFloor, "8 streams run at 9.1")
	a.config.Floor = 10
	wantDecision(t, a, v, -1, BelowPace, "8 streams would run at 9.1 tok/s, below 11.0")
}

// A Pi 4 with a 1B model: 5 tokens/s alone.
func TestMeanLatencyRule(t *testing.T) {
	gains := adaptive(t, Config{Slots: 8}, func(b int) float64 { return max(0.2, 0.08*float64(b)) })
	wantDecision(t, gains, view(0), 0, Idle, "")
	wantDecision(t, gains, view(1), 0, FinishSooner, "2 at once give 2.00 times the tokens")
	wantDecision(t, gains, view(2), 0, FinishSooner, "3 at once give 2.50 times")
	wantDecision(t, gains, view(3), -1, NoGain, "4 at once would give 2.50 times the tokens, and 2.86 are needed")
	little := adaptive(t, Config{Slots: 8}, func(b int) float64 { return 0.2 * (0.2 + 0.8*float64(b)) })
	v := view(1)
	wantDecision(t, little, v, -1, NoGain, "1.11 times the tokens, and 1.33 are needed")
	for range 30 { // a queue speaks for throughput
		v.Waiting = append(v.Waiting, v.Waiting[0])
	}
	wantDecision(t, little, v, 0, FinishSooner, "2 at once give 1.11 times the tokens, and with so many waiting all finish sooner")
	none := adaptive(t, Config{Slots: 8}, func(b int) float64 { return 0.2 * float64(b) })
	v.Running = v.Running[:1]
	wantDecision(t, none, v, -1, NoGain, "1.00 times")
}

func TestColdStartLearnsStepByStep(t *testing.T) {
	curve := NewCurve(4)
	a, err := NewAdaptive(Config{Slots: 4}, curve)
	if err != nil {
		t.Fatal(err)
	}
	wantDecision(t, a, view(0), 0, Idle, "")
	for running := 1; running < 4; running++ {
		for range 8 {
			wantDecision(t, a, view(running), -1, Measuring, "is measured before one more")
			curve.ObserveDecode(running, duration(machine(running)))
		}
		if d := a.Next(view(running)); d.Admit != 0 {
			t.Errorf("%d running, measured: %q", running, d.Reason)
		}
	}
}

// At 14 tokens/s alone the presumed T(2) is too slow, yet it may be fine: it is
// tried once and then known.
func TestUnknownSizeIsTriedOnce(t *testing.T) {
	for _, two := range []float64{0.080, 0.100} {
		curve := NewCurve(4)
		a, _ := NewAdaptive(Config{Slots: 4}, curve)
		for range 10 {
			curve.ObserveDecode(1, 70*time.Millisecond)
		}
		wantDecision(t, a, view(1), 0, Learning, "2 streams are tried")
		curve.ObserveDecode(2, duration(two))
		if two > 1.0/11 {
			wantDecision(t, a, view(1), -1, BelowPace, "2 streams would run at 10.0")
			for range stale + 1 {
				curve.ObserveDecode(1, 70*time.Millisecond)
			}
			wantDecision(t, a, view(1), 0, Learning, "tried") // that is long ago
		} else {
			wantDecision(t, a, view(1), 0, KeepsPace, "12.5")
		}
	}
}

func TestBackOffAndRecovery(t *testing.T) {
	a := adaptive(t, Config{Slots: 6}, machine)
	observe := func(streams int, rate float64, seconds int) {
		for range seconds {
			a.ObservePace(streams, rate, time.Second)
		}
	}
	observe(4, 16, 30)
	observe(4, 8, 5) // for a moment
	wantDecision(t, a, view(3), 0, KeepsPace, "")
	observe(4, 16, 30)
	observe(4, 8, 30)
	wantDecision(t, a, view(3), -1, BackedOff, "streams fell behind 11.0 tok/s lately, so at most")
	wantDecision(t, a, view(0), 0, Idle, "")
	observe(1, 1, 100) // alone is never too many
	wantDecision(t, a, view(0), 0, Idle, "")
	observe(1, 20, 1000)
	wantDecision(t, a, view(5), 0, KeepsPace, "") // recovered in full
}

func TestRecoveryTakesLongerEachTime(t *testing.T) {
	a := adaptive(t, Config{Slots: 6}, machine)
	for _, calm := range []int{10, 20, 40, 80, 80} {
		for i := 0; i < 60 && a.Next(view(3)).Reason.Kind == KeepsPace; i++ {
			a.ObservePace(4, 8, time.Second)
		}
		wantDecision(t, a, view(3), -1, BackedOff, "at most 3 run")
		wantDecision(t, a, view(2), 0, KeepsPace, "")
		for range calm {
			wantDecision(t, a, view(3), -1, BackedOff, "")
			a.ObservePace(3, 12, time.Second)
		}
		wantDecision(t, a, view(3), 0, KeepsPace, "")
	}
}

func TestClientsShare(t *testing.T) {
	a := adaptive(t, Config{Slots: 4}, machine)
	v := View{Now: 60 * time.Second}
	v.Running = []Running{{Client: "flood"}, {Client: "flood"}, {Client: "calm"}}
	for i := range 50 {
		v.Waiting = append(v.Waiting, Waiting{Client: "flood", Arrival: time.Duration(i) * time.Second, Prompt: 20})
	}
	v.Waiting = append(v.Waiting, Waiting{Client: "calm", Arrival: 58 * time.Second, Prompt: 20})
	wantDecision(t, a, v, 50, KeepsPace, "") // one running, not two
	v.Waiting = append(v.Waiting, Waiting{Client: "new", Arrival: 59 * time.Second, Prompt: 20})
	wantDecision(t, a, v, 51, KeepsPace, "")
	v.Running[0].Client, v.Running[1].Client = "x", "y"
	wantDecision(t, a, v, 0, KeepsPace, "") // now the flood has none: first come first served
}

func TestShortPromptsPassWithinABound(t *testing.T) {
	a := adaptive(t, Config{Slots: 4}, machine)
	long := Waiting{Client: "a", Arrival: 10 * time.Second, Prompt: 4000} // 20 s to read
	short := Waiting{Client: "b", Arrival: 14 * time.Second, Prompt: 20}
	late := Waiting{Client: "c", Arrival: 16 * time.Second, Prompt: 20}
	wantDecision(t, a, View{Now: 16 * time.Second, Waiting: []Waiting{long, short, late}}, 1, Idle, "")
	wantDecision(t, a, View{Now: 16 * time.Second, Waiting: []Waiting{long, late}}, 0, Idle, "")
	// One that is being read goes before a longer one, not before a shorter one.
	reads := []Running{{Client: "d", PromptLeft: 1000}}
	wantDecision(t, a, View{Now: 10 * time.Second, Running: reads, Waiting: []Waiting{long}}, -1, PromptFirst, "shorter")
	wantDecision(t, a, View{Now: 14 * time.Second, Running: reads, Waiting: []Waiting{short}}, 0, KeepsPace, "")
	reads[0].PromptLeft = 100
	soon := Waiting{Client: "b", Arrival: 14 * time.Second, Prompt: 150}
	wantDecision(t, a, View{Now: 14 * time.Second, Running: reads, Waiting: []Waiting{soon}}, 0, KeepsPace, "")
	wantDecision(t, a, View{Now: 15 * time.Second, Running: reads, Waiting: []Waiting{soon}}, -1, PromptFirst, "")
}

func TestExclusiveRunsAlone(t *testing.T) {
	a := adaptive(t, Config{Slots: 4}, machine)
	v := view(1)
	v.Waiting[0].Exclusive = true
	wantDecision(t, a, v, -1, ExclusiveWaits, "asked to run alone")
	v.Waiting = append(v.Waiting, Waiting{Client: "later", Arrival: 16 * time.Second, Prompt: 20})
	wantDecision(t, a, v, -1, ExclusiveWaits, "") // nobody passes it for ever
	v.Waiting[1].Arrival = 14 * time.Second
	wantDecision(t, a, v, 1, KeepsPace, "") // but for a while they do
	v.Running, v.Waiting[1].Arrival = nil, 16*time.Second
	wantDecision(t, a, v, 0, Idle, "")
	wantDecision(t, a, View{Running: []Running{{Exclusive: true}}, Waiting: v.Waiting[1:]}, -1, ExclusiveRuns, "is running")
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"no slots":      {},
		"many slots":    {Slots: MaxSlots + 1},
		"negative pace": {Slots: 1, Pace: -1},
		"high floor":    {Slots: 1, Floor: 12},
		"negative TTFT": {Slots: 1, TTFT: -1},
		"negative wait": {Slots: 1, MaxWait: -1},
		"steps":         {Slots: 1, LearnSteps: -1},
	} {
		if _, err := NewAdaptive(c, NewCurve(1)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestBaselines(t *testing.T) {
	wantDecision(t, Fixed{2}, view(1), 0, UnderLimit, "2 streams")
	wantDecision(t, Fixed{2}, view(2), -1, SlotsFull, "all 2 slots")
	wantDecision(t, Fixed{2}, View{}, -1, Empty, "")
	hold := Hold{N: 2, Delay: time.Second}
	wantDecision(t, hold, view(0), -1, Holding, "collected")
	v := view(0)
	v.Now += time.Second
	wantDecision(t, hold, v, 0, UnderLimit, "")
	v = view(0)
	v.Waiting = append(v.Waiting, Waiting{Arrival: 9500 * time.Millisecond})
	wantDecision(t, hold, v, 1, UnderLimit, "")
	wantDecision(t, hold, view(1), 0, UnderLimit, "") // a running batch is joined
}

func TestReplies(t *testing.T) {
	var r Replies
	if r.Left(100) != 0 || r.Expected(100) != 0 {
		t.Errorf("%d and %d tokens expected without a reply seen", r.Left(100), r.Expected(100))
	}
	r.Observe(0)
	r.Observe(100)
	r.Observe(200)
	if got := r.Expected(1000); got != 150 {
		t.Errorf("expects %d tokens, want 150", got)
	}
	if got := r.Left(1000); got != 83 { // 25,000 / 300
		t.Errorf("expects %d more tokens, want 83", got)
	}
	if r.Left(20) != 20 || r.Expected(20) != 20 {
		t.Errorf("expects %d and %d tokens with 20 until the cap", r.Left(20), r.Expected(20))
	}
	for range 1000 {
		r.Observe(50)
	}
	if got := r.Expected(1000); got != 50 {
		t.Errorf("expects %d tokens after many of 50", got)
	}
}

func TestEveryReasonHasAText(t *testing.T) {
	for k := Idle; k <= ClientQueueFull; k++ {
		if text := (Reason{Kind: k}).String(); text == "no reason" || text == "" {
			t.Errorf("kind %d has no text", k)
		}
	}
}
