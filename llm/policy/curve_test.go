package policy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// machine is a made-up T(B) in seconds.
func machine(streams int) float64 { return 0.040 + 0.010*float64(streams-1) }

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// teach shows a curve some steps of each size up to most.
func teach(c *Curve, most, steps int, factor float64) {
	for range steps {
		for b := 1; b <= most; b++ {
			c.ObserveDecode(b, duration(machine(b)*factor))
		}
	}
}

func wantStep(t *testing.T, c *Curve, streams int, want, tolerance float64) {
	t.Helper()
	got, ok := c.Step(streams)
	if !ok || math.Abs(got.Seconds()-want) > tolerance*want {
		t.Errorf("T(%d) = %v, %v; want %.4f s within %.1f %%", streams, got, ok, want, 100*tolerance)
	}
}

func TestCurveKnowsNothingAtFirst(t *testing.T) {
	c := NewCurve(4)
	if d, ok := c.Step(1); ok {
		t.Errorf("T(1) = %v without a measurement", d)
	}
	if r, ok := c.PrefillRate(); ok {
		t.Errorf("prefill %v tokens/s without a measurement", r)
	}
	c.ObserveDecode(0, time.Second)
	c.ObserveDecode(5, time.Second)
	c.ObserveDecode(1, 0)
	c.ObservePrefill(7, time.Second)
	c.ObservePrefill(100, 0)
	if _, ok := c.Step(1); ok {
		t.Error("nonsense was learned")
	}
	if _, ok := c.PrefillRate(); ok {
		t.Error("nonsense was learned of the prefill")
	}
}

func TestCurveLearnsEverySize(t *testing.T) {
	c := NewCurve(8)
	teach(c, 8, 10, 1)
	for b := 1; b <= 8; b++ {
		wantStep(t, c, b, machine(b), 0.01)
	}
}

func TestCurveFillsGaps(t *testing.T) {
	c := NewCurve(8)
	c.ObserveDecode(2, 50*time.Millisecond)
	wantStep(t, c, 1, 0.050, 0.001) // below the smallest: as that
	wantStep(t, c, 4, 0.075, 0.001) // one size alone: half of T/B for each more
	c.ObserveDecode(4, 70*time.Millisecond)
	wantStep(t, c, 3, 0.060, 0.001) // between: linear
	wantStep(t, c, 8, 0.110, 0.001) // beyond: the slope goes on
	c.ObserveDecode(5, 100*time.Millisecond)
	wantStep(t, c, 6, 0.130, 0.001)   // the last piece is the steeper one
	wantStep(t, c, 100, 0.190, 0.001) // never beyond the slots
}

func TestCurveNeverFalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := NewCurve(12)
		for range r.IntN(100) + 1 {
			c.ObserveDecode(r.IntN(12)+1, time.Duration(r.IntN(100)+1)*time.Millisecond)
			before := time.Duration(0)
			for b := 1; b <= 12; b++ {
				d, ok := c.Step(b)
				if !ok || d < before || d <= 0 {
					t.Fatalf("T(%d) = %v, %v after T(%d) = %v", b, d, ok, b-1, before)
				}
				before = d
			}
		}
	}
}

func TestCurveIgnoresOutliers(t *testing.T) {
	c := NewCurve(4)
	for i := range 100 {
		took := machine(2)
		if i%10 == 3 {
			took *= 10
		}
		c.ObserveDecode(2, duration(took))
		wantStep(t, c, 2, machine(2), 0.01)
	}
	for i := range 50 {
		rate := 200.0
		if i%10 == 3 {
			rate /= 10
		}
		c.ObservePrefill(100, duration(100/rate))
	}
	if r, _ := c.PrefillRate(); math.Abs(r-200) > 2 {
		t.Errorf("prefill %v tokens/s, want 200", r)
	}
}

func TestCurveIsCalmUnderNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := NewCurve(8)
	for i := range 4000 {
		b := r.IntN(8) + 1
		c.ObserveDecode(b, duration(machine(b)*(1+0.1*r.NormFloat64())))
		if i > 1000 {
			wantStep(t, c, b, machine(b), 0.12)
		}
	}
}

func TestCurvePresumesThatAllSizesSlowDownAlike(t *testing.T) {
	c := NewCurve(8)
	teach(c, 8, 100, 1)
	for range 60 {
		c.ObserveDecode(2, duration(machine(2)*1.2))
	}
	for b := 1; b <= 8; b++ {
		wantStep(t, c, b, machine(b)*1.2, 0.03)
	}
	for range 60 { // what slowed it is gone, seen at another size
		c.ObserveDecode(5, duration(machine(5)))
	}
	for b := 1; b <= 8; b++ {
		wantStep(t, c, b, machine(b), 0.04)
	}
}

func TestCurveLearnsAChangedShape(t *testing.T) {
	c := NewCurve(2)
	teach(c, 2, 20, 1)
	for range 300 { // only pairs have become slower
		c.ObserveDecode(1, duration(machine(1)))
		c.ObserveDecode(2, duration(2*machine(2)))
	}
	wantStep(t, c, 1, machine(1), 0.12)
	wantStep(t, c, 2, 2*machine(2), 0.12)
}

func TestCurveCountsAndAges(t *testing.T) {
	c := NewCurve(4)
	teach(c, 2, 3, 1)
	c.ObserveDecode(2, time.Second)
	if c.Observed(1) != 3 || c.Observed(2) != 4 || c.Observed(3) != 0 || c.Observed(9) != 0 {
		t.Errorf("observed %d %d %d", c.Observed(1), c.Observed(2), c.Observed(3))
	}
	if c.Age(1) != 2 || c.Age(2) != 0 || c.Age(0) != 0 {
		t.Errorf("ages %d %d", c.Age(1), c.Age(2))
	}
}

func TestSnapshotSurvives(t *testing.T) {
	c := NewCurve(8)
	teach(c, 6, 20, 1)
	c.ObservePrefill(100, 500*time.Millisecond)
	text, err := json.Marshal(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	again := NewCurve(4) // the number of slots has changed
	if err := again.Restore(s); err != nil {
		t.Fatal(err)
	}
	for b := 1; b <= 4; b++ {
		wantStep(t, again, b, machine(b), 0.01)
	}
	if r, ok := again.PrefillRate(); !ok || math.Abs(r-200) > 0.1 {
		t.Errorf("prefill %v, %v", r, ok)
	}
	again.ObserveDecode(1, time.Second) // the first step after a start is slow
	wantStep(t, again, 1, machine(1), 0.01)
	if empty := NewCurve(4); empty.Restore(NewCurve(4).Snapshot()) != nil || len(empty.fit) != 0 {
		t.Error("an empty snapshot does not restore to an empty curve")
	}
}

func TestRestoreRefusesNonsense(t *testing.T) {
	good := SizeSnapshot{Streams: 1, Seconds: 0.05, Steps: 10}
	many := make([]SizeSnapshot, MaxSlots+1)
	for i := range many {
		many[i] = SizeSnapshot{i + 1, 0.1, 1}
	}
	for name, s := range map[string]Snapshot{
		"no streams":       {Sizes: []SizeSnapshot{{0, 0.05, 1}}},
		"negative streams": {Sizes: []SizeSnapshot{{-1, 0.05, 1}}},
		"twice":            {Sizes: []SizeSnapshot{good, good}},
		"too many":         {Sizes: many},
		"huge":             {Sizes: []SizeSnapshot{{MaxSlots + 1, 0.05, 1}}},
		"NaN":              {Sizes: []SizeSnapshot{{1, math.NaN(), 1}}},
		"negative":         {Sizes: []SizeSnapshot{{1, -0.05, 1}}},
		"zero":             {Sizes: []SizeSnapshot{{1, 0, 1}}},
		"infinite":         {Sizes: []SizeSnapshot{{1, math.Inf(1), 1}}},
		"never seen":       {Sizes: []SizeSnapshot{{1, 0.05, 0}}},
		"prefill NaN":      {PrefillTokensPerSecond: math.NaN()},
		"prefill negative": {PrefillTokensPerSecond: -1},
		"prefill infinite": {PrefillTokensPerSecond: math.Inf(1)},
	} {
		c := NewCurve(4)
		teach(c, 4, 10, 1)
		if err := c.Restore(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
		wantStep(t, c, 3, machine(3), 0.01)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"sizes":[{"streams":1,"seconds":0.05,"steps":9},{"streams":3,"seconds":0.04,"steps":1}],"prefill_tokens_per_second":200}`))
	f.Add([]byte(`{"sizes":[{"streams":1,"seconds":1e-300,"steps":1}]}`))
	f.Add([]byte(`{"sizes":[{"streams":256,"seconds":3600,"steps":18446744073709551615}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot
		if json.Unmarshal(text, &s) != nil {
			return
		}
		c := NewCurve(8)
		if c.Restore(s) != nil {
			return
		}
		c.ObserveDecode(2, time.Millisecond)
		before := time.Duration(0)
		for b := 1; b <= 8; b++ {
			d, ok := c.Step(b)
			if !ok || d < before {
				t.Fatalf("T(%d) = %v, %v after %v", b, d, ok, before)
			}
			before = d
		}
		if err := NewCurve(8).Restore(c.Snapshot()); err != nil {
			t.Fatalf("its own snapshot is refused: %v", err)
		}
	})
}
