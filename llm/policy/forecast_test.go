package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func wantWait(t *testing.T, got time.Duration, want float64) {
	t.Helper()
	if math.Abs(got.Seconds()-want) > 0.01*want+0.001 {
		t.Errorf("predicted wait %v, want %.3f s", got, want)
	}
}

func TestWaitsAreUnknownUntilMeasured(t *testing.T) {
	curve := NewCurve(2)
	a, _ := NewAdaptive(Config{Slots: 2, MaxWait: time.Second}, curve)
	v := view(1)
	if got := a.Waits(nil, v); len(got) != 1 || got[0] != Unknown {
		t.Errorf("waits %v without a measurement", got)
	}
	if wait, _, ok := a.Accept(v, v.Waiting[0]); wait != Unknown || !ok {
		t.Errorf("accept without a measurement: %v, %v", wait, ok)
	}
	curve.ObserveDecode(1, 50*time.Millisecond)
	v.Running[0].PromptLeft = 10 // how long that takes is unknown too
	a.config.Slots = 1
	if got := a.Waits(nil, v); got[0] != Unknown {
		t.Errorf("waits %v without a prefill measured", got)
	}
	if got := a.Waits(nil, View{}); len(got) != 0 {
		t.Errorf("waits %v for nobody", got)
	}
}

func TestWaitsOneAtATime(t *testing.T) {
	a := adaptive(t, Config{Slots: 1}, func(int) float64 { return 0.1 })
	v := View{Running: []Running{{Client: "r", PromptLeft: 100, ReplyLeft: 10}}}
	for i := range 3 {
		v.Waiting = append(v.Waiting, Waiting{Client: fmt.Sprint(i), Arrival: time.Duration(i - 3), Prompt: 200, Reply: 20})
	}
	got := a.Waits(nil, v)
	wantWait(t, got[0], 0.5+1)   // the running prompt and reply
	wantWait(t, got[1], 1.5+1+2) // and the first's
	wantWait(t, got[2], 1.5+3+3) // and the second's
	v.Waiting[0].Reply = 0       // unknown: the configured 200
	wantWait(t, a.Waits(got, v)[2], 1.5+3+3+18)
}

func TestWaitsCountChunksBesideStreams(t *testing.T) {
	a := adaptive(t, Config{Slots: 2, StallBudget: 100 * time.Millisecond}, func(int) float64 { return 0.05 })
	v := View{Running: []Running{{Client: "a", ReplyLeft: 10}, {Client: "b", PromptLeft: 40, ReplyLeft: 4}}, Waiting: []Waiting{{Client: "c", Prompt: 10}}}
	// A chunk of 20 tokens and one token of a each 0.15 s: 0.3 s for the
	// prompt; then both decode. Of the tokens left, a, who came first, is
	// presumed to have half and b half more: a's other 3 take 0.15 s.
	wantWait(t, a.Waits(nil, v)[0], 0.3+0.15)
}

func TestWaitsFollowTheOrderOfClients(t *testing.T) {
	a := adaptive(t, Config{Slots: 1}, func(int) float64 { return 0.1 })
	v := View{Now: time.Minute, Running: []Running{{Client: "flood", ReplyLeft: 10}}}
	for i := range 400 {
		v.Waiting = append(v.Waiting, Waiting{Client: "flood", Arrival: time.Duration(i), Prompt: 20, Reply: 10})
	}
	v.Waiting = append(v.Waiting, Waiting{Client: "other", Arrival: time.Second, Prompt: 20, Reply: 10})
	got := a.Waits(nil, v)
	wantWait(t, got[0], 1) // the flood's running one ends, and it is first again
	for i := 1; i < 400; i++ {
		if got[i] < got[i-1] {
			t.Fatalf("number %d waits %v, the one before %v", i, got[i], got[i-1])
		}
	}
	wantWait(t, got[399], 1+1.1*399) // beyond what is played through
	two := adaptive(t, Config{Slots: 2}, func(int) float64 { return 0.05 })
	wantWait(t, two.Waits(nil, v)[400], 0) // has none running: goes first
}

// What the forecast says starts at once is what the policy admits now.
func TestForecastFollowsThePolicy(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	steps := []func(int) float64{machine, func(b int) float64 { return 0.1 + 0.08*float64(b) }}
	for i := range 2000 {
		slots := r.IntN(8) + 1
		a := adaptive(t, Config{Slots: slots, Floor: float64(i%2) * 8}, steps[i/2%2])
		v := randomView(r, slots, 12)
		waits := a.Waits(nil, v)
		indexes := make([]int, len(v.Waiting))
		for i := range indexes {
			indexes[i] = i
		}
		started := map[int]bool{}
		for d := a.Next(v); d.Admit >= 0; d = a.Next(v) {
			w := v.Waiting[d.Admit]
			started[indexes[d.Admit]] = true
			v.Waiting, indexes = slices.Delete(v.Waiting, d.Admit, d.Admit+1), slices.Delete(indexes, d.Admit, d.Admit+1)
			v.Running = append(v.Running, Running{Client: w.Client, PromptLeft: w.Prompt, ReplyLeft: w.Reply, Exclusive: w.Exclusive})
		}
		for i, wait := range waits {
			if started[i] != (wait == 0) {
				t.Fatalf("request %d of %d is told %v; admitted now: %v", i, len(waits), wait, started[i])
			}
		}
	}
}

func TestAcceptRefuses(t *testing.T) {
	a := adaptive(t, Config{Slots: 1, MaxWait: 30 * time.Second, ClientQueue: 2}, func(int) float64 { return 0.1 })
	v := View{Running: []Running{{Client: "a", ReplyLeft: 200}}}
	wait, _, ok := a.Accept(v, Waiting{Client: "b", Prompt: 20})
	if wantWait(t, wait, 20); !ok {
		t.Error("refused within the limit")
	}
	v.Waiting = []Waiting{{Client: "b", Prompt: 20, Reply: 200}, {Client: "c", Prompt: 20, Reply: 200}}
	wait, reason, ok := a.Accept(v, Waiting{Client: "d", Arrival: 1, Prompt: 20})
	if wantWait(t, wait, 60.2); ok || reason.String() != "it would wait about 1m0s, longer than the limit of 30s" {
		t.Errorf("accepted: %v, %q", ok, reason)
	}
	v.Waiting = []Waiting{{Client: "b", Reply: 1}, {Client: "b", Reply: 1}}
	if _, reason, ok = a.Accept(v, Waiting{Client: "b", Arrival: 1, Reply: 1}); ok || reason.String() != "2 requests of the same client wait already" {
		t.Errorf("a third of one client: %v, %q", ok, reason)
	}
	if _, _, ok = a.Accept(v, Waiting{Client: "c", Arrival: 1, Reply: 1}); !ok {
		t.Error("another client is refused")
	}
}
