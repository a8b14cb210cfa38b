package llm

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In the first idle time the threads are chosen, once, and never more are used
// than that.
func TestCalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.burnFrom = 1 << 30
		calls := 0
		e := start(t, EngineConfig{Backend: b, Calibrate: func(_ context.Context, seq int) (int, int, bool) {
			calls++
			time.Sleep(2 * time.Second)
			return 1, 2, seq == 0
		}})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want := ThreadStatus{Decode: 1, Prefill: 2, MostDecode: 1, MostPrefill: 2, Reason: "measured: 1 for decode and 2 for prefill are fastest here"}
		if st := e.Status().Threads; st != want {
			t.Errorf("%+v, want %+v", st, want)
		}
		generate(t, e, Request{Prompt: "hi", MaxTokens: 500})
		if st := e.Status().Threads; st != want || calls != 1 {
			t.Errorf("after %d calls and a reply: %+v", calls, st)
		}
	})
}

// A request interrupts the calibration and waits for it no longer than it takes
// to end; it is tried again when there is time, and an empty slot.
func TestRequestInterruptsCalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.info.Slots = 2
		var slots []int
		e := start(t, EngineConfig{Backend: b, Calibrate: func(ctx context.Context, seq int) (int, int, bool) {
			slots = append(slots, seq)
			if len(slots) > 1 {
				return 2, 1, true
			}
			<-ctx.Done()
			return 0, 0, false
		}})
		time.Sleep(time.Second)
		r := generate(t, e, chat("x"))
		if ttft, _ := r.done.Timings.TTFT(); r.text != "ok" || ttft > 100*time.Millisecond {
			t.Errorf("got %q after %v", r.text, ttft)
		}
		synctest.Wait()
		if len(slots) != 2 || slots[1] != 1 {
			t.Errorf("calibrated on slots %v, want 0, and after the reply 1", slots)
		}
		if st := e.Status().Threads; st.MostPrefill != 1 || !strings.HasPrefix(st.Reason, "measured") {
			t.Errorf("%+v", st)
		}
	})
}

// One that comes to nothing is tried again after a request, some times.
func TestCalibrationIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := newBoard(t)
		b.info.Slots = 2 // of which one stays empty
		e := start(t, EngineConfig{Backend: b, Calibrate: func(context.Context, int) (int, int, bool) {
			calls++
			return 0, 0, false
		}})
		for range 9 {
			generate(t, e, chat("hello there")) // it finds its beginning in the same slot
		}
		synctest.Wait()
		if st := e.Status().Threads; calls != calibrations || st.MostDecode != 2 || st.Reason != "" {
			t.Errorf("%d calls, %+v", calls, st)
		}
	})
}
