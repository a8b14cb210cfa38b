package supervise

import "pichat/llm"

// Reading is what the watchdog looks at.
type Reading struct {
	// Serving is set while a model is there to answer. Before, a file is read
	// or tried in a child process with a time limit of its own: a restart would
	// only begin that anew.
	Serving          bool
	Running, Waiting int    // requests
	Steps            uint64 // evaluated batches
	Ticks            uint32 // moves within a batch
}

// Read takes a reading. It waits for nothing.
func Read(service *llm.Service) Reading {
	st := service.Status()
	return Reading{
		Serving: service.State().Phase == llm.PhaseReady,
		Running: st.Running,
		Waiting: st.Waiting,
		Steps:   st.Steps,
		Ticks:   st.Ticks,
	}
}

func (r Reading) busy() bool { return r.Serving && r.Running+r.Waiting > 0 }

// Alive tells whether the engine is well, from two readings one after the
// other: it had nothing to do at one of them, or has computed in between. A
// long prompt on a slow board is one step of many ticks, so it is well; when
// neither moves, the engine hangs.
func Alive(before, now Reading) bool {
	return !before.busy() || !now.busy() || before.Steps != now.Steps || before.Ticks != now.Ticks
}

// watchdog keeps the last reading. It belongs to one goroutine.
type watchdog struct {
	last     Reading
	starving bool // the last look found the engine stuck
}

// fed tells whether systemd's watchdog is to be fed after this reading.
func (w *watchdog) fed(now Reading) bool {
	alive := Alive(w.last, now)
	w.last, w.starving = now, !alive
	return alive
}
