package supervise

import "testing"

func TestAlive(t *testing.T) {
	busy := Reading{Serving: true, Running: 1, Steps: 7, Ticks: 100}
	with := func(change func(*Reading)) Reading {
		r := busy
		change(&r)
		return r
	}
	idle := with(func(r *Reading) { r.Running = 0 })
	waiting := with(func(r *Reading) { r.Running, r.Waiting = 0, 2 })
	tests := []struct {
		name        string
		before, now Reading
		want        bool
	}{
		{"idle", idle, idle, true},
		{"loading", Reading{}, Reading{}, true},
		{"a request has just begun", idle, busy, true},
		{"a request has just ended", busy, idle, true},
		{"decode: steps move", busy, with(func(r *Reading) { r.Steps++ }), true},
		{"slow prefill: only ticks move", busy, with(func(r *Reading) { r.Ticks++ }), true},
		{"ticks wrap around", with(func(r *Reading) { r.Ticks = 1<<32 - 1 }), with(func(r *Reading) { r.Ticks = 0 }), true},
		{"stuck in a step", busy, busy, false},
		{"stuck while more requests come", busy, with(func(r *Reading) { r.Waiting = 3 }), false},
		{"stuck before anything runs", waiting, waiting, false},
		{"stopping", busy, with(func(r *Reading) { r.Serving = false }), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Alive(tt.before, tt.now); got != tt.want {
				t.Errorf("Alive(%+v, %+v) = %v, want %v", tt.before, tt.now, got, tt.want)
			}
		})
	}
}

// A watchdog that was not fed is fed again once the engine moves on.
func TestWatchdogForgives(t *testing.T) {
	dog := watchdog{}
	r := Reading{Serving: true, Running: 1}
	var fed []bool
	for _, steps := range []uint64{1, 1, 1, 2} {
		r.Steps = steps
		fed = append(fed, dog.fed(r))
	}
	if want := [4]bool{true, false, false, true}; [4]bool(fed) != want {
		t.Errorf("fed %v, want %v", fed, want)
	}
}
