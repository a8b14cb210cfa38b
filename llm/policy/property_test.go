package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// randomView has up to slots running and most waiting, in random order.
func randomView(r *rand.Rand, slots, most int) View {
	v := View{Now: time.Minute}
	for range r.IntN(slots + 1) {
		v.Running = append(v.Running, Running{Client: fmt.Sprint(r.IntN(4)), PromptLeft: r.IntN(2) * r.IntN(500), ReplyLeft: r.IntN(300), Exclusive: r.IntN(20) == 0})
	}
	for i := range r.IntN(most) {
		v.Waiting = append(v.Waiting, Waiting{Client: fmt.Sprint(r.IntN(4)), Arrival: time.Duration(r.IntN(60_000))*time.Millisecond + time.Duration(i),
			Prompt: r.IntN(2000) + 1, Reply: r.IntN(300), Exclusive: r.IntN(20) == 0})
	}
	return v
}

func TestDecisionsAreSound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		slots := r.IntN(8) + 1
		a := adaptive(t, Config{Slots: slots}, machine)
		v := randomView(r, slots, 12)
		d := a.Next(v)
		switch {
		case d.Admit < -1 || d.Admit >= len(v.Waiting):
			t.Fatalf("admits %d of %d", d.Admit, len(v.Waiting))
		case d.Admit >= 0 && len(v.Running) >= slots:
			t.Fatalf("admits beyond %d slots", slots)
		case d.Admit < 0 && len(v.Running) == 0 && len(v.Waiting) > 0:
			t.Fatalf("an idle machine leaves %d waiting: %v", len(v.Waiting), d.Reason)
		case d.Reason.Kind == 0:
			t.Fatal("no reason")
		}
		// Neither the order of the view nor the clients' names matter.
		w := View{Now: v.Now, Waiting: slices.Clone(v.Waiting)}
		for _, run := range v.Running {
			run.Client = "client-" + run.Client
			w.Running = append(w.Running, run)
		}
		for i := range w.Waiting {
			w.Waiting[i].Client = "client-" + w.Waiting[i].Client
		}
		order := r.Perm(len(w.Waiting))
		for i, from := range order {
			w.Waiting[i] = v.Waiting[from]
			w.Waiting[i].Client = "client-" + v.Waiting[from].Client
		}
		switch e := a.Next(w); {
		case (e.Admit < 0) != (d.Admit < 0) || e.Reason.Kind != d.Reason.Kind:
			t.Fatalf("shuffled and renamed: %v instead of %v", e, d)
		case e.Admit >= 0 && order[e.Admit] != d.Admit && a.key(&v.Waiting[order[e.Admit]]) != a.key(&v.Waiting[d.Admit]):
			t.Fatalf("shuffled and renamed: admits %d instead of %d", order[e.Admit], d.Admit)
		}
	}
}

// Under an endless flow that is more than the machine can do, each request of a
// client that waits its turn starts within a bound, exclusive and long ones too.
func TestNobodyStarves(t *testing.T) {
	a := adaptive(t, Config{Slots: 3, Pace: 1}, machine)
	r := rand.New(rand.NewPCG(7, 8))
	var v View
	ends := []time.Duration{}
	watched, started := 0, 0
	for tick := range 20_000 {
		v.Now = time.Duration(tick) * 100 * time.Millisecond
		if len(v.Waiting) < 60 && r.IntN(4) == 0 { // strangers, each with one short question
			v.Waiting = append(v.Waiting, Waiting{Client: fmt.Sprint("stranger ", tick), Arrival: v.Now, Prompt: 10})
		}
		if tick%1000 == 0 { // one client with two requests, long and exclusive
			for _, exclusive := range []bool{false, true} {
				watched++
				v.Waiting = append(v.Waiting, Waiting{Client: "watched", Arrival: v.Now, Prompt: 3000, Exclusive: exclusive})
			}
		}
		for i := 0; i < len(v.Running); i++ {
			if ends[i] <= v.Now {
				v.Running = slices.Delete(v.Running, i, i+1)
				ends = slices.Delete(ends, i, i+1)
				i--
			}
		}
		for d := a.Next(v); d.Admit >= 0; d = a.Next(v) {
			w := v.Waiting[d.Admit]
			if w.Client == "watched" {
				started++
				// At most the 60 others before it, 3 at a time, 2 s each; twice,
				// since the second waits for the first; and the passing.
				if wait := v.Now - w.Arrival; wait > 100*time.Second {
					t.Fatalf("a request waited %v", wait)
				}
			}
			v.Waiting = slices.Delete(v.Waiting, d.Admit, d.Admit+1)
			v.Running = append(v.Running, Running{Client: w.Client, ReplyLeft: 20, Exclusive: w.Exclusive})
			ends = append(ends, v.Now+2*time.Second)
		}
	}
	if started < watched-2 || watched != 40 {
		t.Errorf("%d of %d watched requests started", started, watched)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	a := adaptive(t, Config{Slots: 8, MaxWait: time.Minute}, machine)
	r := rand.New(rand.NewPCG(9, 10))
	v := randomView(r, 5, 1000)
	v.Running = v.Running[:min(3, len(v.Running))]
	var waits []time.Duration
	waits = a.Waits(waits, v)
	a.Accept(v, Waiting{Client: "x"})
	for name, f := range map[string]func(){
		"Next":          func() { a.Next(v) },
		"Waits":         func() { waits = a.Waits(waits, v) },
		"Accept":        func() { a.Accept(v, Waiting{Client: "x"}) },
		"ObserveDecode": func() { a.curve.ObserveDecode(3, 60*time.Millisecond) },
		"ObservePace":   func() { a.ObservePace(3, 12, time.Second) },
		"Fixed":         func() { Fixed{4}.Next(v) },
	} {
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, waiting := range []int{10, 1000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			a, v := benchmarkView(b, waiting)
			b.ReportAllocs()
			for b.Loop() {
				a.Next(v)
			}
		})
	}
}

func BenchmarkWaits(b *testing.B) {
	for _, waiting := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			a, v := benchmarkView(b, waiting)
			var waits []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				waits = a.Waits(waits, v)
			}
		})
	}
}

func benchmarkView(b *testing.B, waiting int) (*Adaptive, View) {
	a := adaptive(b, Config{Slots: 8}, machine)
	v := view(5)
	v.Waiting = nil
	for i := range waiting {
		v.Waiting = append(v.Waiting, Waiting{Client: fmt.Sprint("192.168.1.", i), Arrival: time.Duration(i) * time.Millisecond, Prompt: 100, Reply: 100})
	}
	return a, v
}
