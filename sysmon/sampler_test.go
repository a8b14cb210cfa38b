package sysmon_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pichat/sysmon"
)

// start runs a sampler over readers until the test, or the stop it returns,
// ends it.
func start(t *testing.T, readers sysmon.Readers) (s *sysmon.Sampler, stop func() error) {
	t.Helper()
	s, err := sysmon.New(readers, sysmon.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, sysmon.ErrStuck) {
			t.Errorf("Run = %v", err)
		}
	})
	return s, stop
}

// pass lets d go by and everything due in it happen.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble's clock: no waiting
	synctest.Wait()
}

// counting is a temperature reader that counts 1, 2, 3 … °C.
func counting() func(context.Context) sysmon.Reading[float64] {
	calls := 0.0
	return func(context.Context) sysmon.Reading[float64] {
		calls++
		return sysmon.Measured(calls, "counter")
	}
}

func TestLatestBeforeRunIsUnknown(t *testing.T) {
	s, err := sysmon.New(sysmon.Readers{TempCelsius: counting()}, sysmon.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Latest()
	if got.CPU.TempCelsius != sysmon.Unknown[float64]("not read yet") {
		t.Errorf("temperature before Run is %+v", got.CPU.TempCelsius)
	}
	if got.FanRPM != sysmon.Unknown[float64]("not available on this system") {
		t.Errorf("fan without a reader is %+v", got.FanRPM)
	}
	if n := len(s.History().At); n != 0 {
		t.Errorf("history before Run has %d points", n)
	}
}

func TestOneSnapshotEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s, _ := start(t, sysmon.Readers{TempCelsius: counting()})
		synctest.Wait()
		first := s.Latest()
		for i := range 5 {
			got := s.Latest()
			if want := begin.Add(time.Duration(i) * time.Second); !got.At.Equal(want) {
				t.Errorf("snapshot %d is of %s, want %s", i, got.At, want)
			}
			if got.CPU.TempCelsius.Value != float64(i+1) {
				t.Errorf("snapshot %d reads %v °C, want %d", i, got.CPU.TempCelsius.Value, i+1)
			}
			pass(time.Second)
		}
		if first.CPU.TempCelsius.Value != 1 {
			t.Errorf("a published snapshot has changed: %v °C, was 1", first.CPU.TempCelsius.Value)
		}
		if h := s.History(); len(h.TempCelsius) != 6 || h.TempCelsius[5].Value != 6 {
			t.Errorf("history is %v, want 1 to 6", h.TempCelsius)
		}
	})
}

// Under full load every consumer reads 100, whenever and however often it
// looks: nobody's look shortens another's interval.
func TestThreeConsumersReadTheSameLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s, _ := start(t, sysmon.Readers{
			CPUTimes: func(context.Context) sysmon.Reading[sysmon.CPUTimes] {
				up := 4 * time.Since(begin) // four cores, all busy
				return sysmon.Measured(sysmon.CPUTimes{Busy: time.Hour + up, Total: 9*time.Hour + up}, "test")
			},
			ProcessTime: func(context.Context) sysmon.Reading[time.Duration] {
				return sysmon.Measured(3*time.Since(begin), "test")
			},
		})
		pass(time.Second + time.Millisecond)
		var wg sync.WaitGroup
		for _, every := range []time.Duration{70 * time.Millisecond, 500 * time.Millisecond, 1300 * time.Millisecond} {
			wg.Go(func() {
				for range 10 {
					got := s.Latest()
					if v, ok := got.CPU.BusyPercent.Get(); !ok || v != 100 {
						t.Errorf("looking every %s: CPU is %+v, want 100", every, got.CPU.BusyPercent)
					}
					if v, ok := got.Process.CPUPercent.Get(); !ok || v != 300 {
						t.Errorf("looking every %s: process is %+v, want 300", every, got.Process.CPUPercent)
					}
					time.Sleep(every)
				}
			})
		}
		wg.Wait()
	})
}

func TestHowOftenReadersAreCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		s, _ := start(t, sysmon.Readers{
			Hostname: func(context.Context) sysmon.Reading[string] {
				calls["hostname"]++
				return sysmon.Measured("pichat", "test")
			},
			BoardModel: func(context.Context) sysmon.Reading[string] {
				calls["board"]++
				return sysmon.Unknown[string]("none")
			},
			Throttle: func(context.Context) sysmon.Throttle {
				calls["throttle"]++
				return sysmon.DecodeThrottled(0, "test")
			},
			Load: func(context.Context) sysmon.Reading[sysmon.LoadAverage] {
				calls["load"]++
				return sysmon.Measured(sysmon.LoadAverage{One: 1}, "test")
			},
		})
		pass(9*time.Second + 500*time.Millisecond) // ten samples
		want := map[string]int{"hostname": 1, "board": 1, "throttle": 5, "load": 2}
		for name, n := range want {
			if calls[name] != n {
				t.Errorf("%s was read %d times in ten samples, want %d", name, calls[name], n)
			}
		}
		got := s.Latest()
		if got.Host.Hostname.Value != "pichat" || got.Load.Value.One != 1 || got.Throttle.Now.Any().Value {
			t.Errorf("readings that were not due are lost: %+v", got)
		}
	})
}

func TestStuckReaderHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		temperature := counting()
		var calls int
		stuck := func(context.Context) sysmon.Reading[float64] {
			calls++
			<-release
			return sysmon.Measured(1e9, "test")
		}
		s, _ := start(t, sysmon.Readers{
			ClockHz: stuck, // between the temperature and the load
			Load: func(context.Context) sysmon.Reading[sysmon.LoadAverage] {
				return sysmon.Measured(sysmon.LoadAverage{One: 2}, "test")
			},
			TempCelsius: temperature,
			Hostname: func(context.Context) sysmon.Reading[string] {
				return sysmon.Measured("pichat", "test")
			},
		})
		pass(500 * time.Millisecond)
		got := s.Latest()
		if want := sysmon.Unknown[float64]("no answer within 100ms"); got.CPU.ClockHz != want {
			t.Errorf("stuck reading is %+v, want %+v", got.CPU.ClockHz, want)
		}
		if !got.CPU.TempCelsius.Known || !got.Load.Known || !got.Host.Hostname.Known {
			t.Errorf("a stuck reading hides others: %+v", got)
		}
		pass(7 * time.Second)
		got = s.Latest()
		if want := sysmon.Unknown[float64]("no answer for 7s"); got.CPU.ClockHz != want {
			t.Errorf("stuck reading is %+v, want %+v", got.CPU.ClockHz, want)
		}
		if got.CPU.TempCelsius.Value != 8 {
			t.Errorf("%v samples were taken in 7.5 s beside a stuck reading, want 8", got.CPU.TempCelsius.Value)
		}
		if calls != 1 {
			t.Errorf("the stuck reader was called %d times, want 1", calls)
		}
		close(release)
		pass(time.Second)
		if got := s.Latest().CPU.ClockHz; got.Value != 1e9 {
			t.Errorf("reading that answers again is %+v, want 1e9", got)
		}
	})
}

// Several slow readers one after another, each within its time, are not stuck.
func TestSlowIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context) sysmon.Reading[float64] {
			time.Sleep(80 * time.Millisecond)
			return sysmon.Measured(1.0, "test")
		}
		s, _ := start(t, sysmon.Readers{TempCelsius: slow, ClockHz: slow, FanRPM: slow, MaxClockHz: slow})
		pass(500 * time.Millisecond)
		got := s.Latest()
		for name, r := range map[string]sysmon.Reading[float64]{
			"temperature": got.CPU.TempCelsius, "clock": got.CPU.ClockHz, "fan": got.FanRPM, "max clock": got.Host.MaxClockHz,
		} {
			if !r.Known {
				t.Errorf("%s is unknown: %s", name, r.Reason)
			}
		}
	})
}

func TestPanickingReaderCostsOnlyItsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, sysmon.Readers{
			ClockHz:     func(context.Context) sysmon.Reading[float64] { panic("index out of range") },
			TempCelsius: counting(),
			FanRPM:      counting(),
		})
		pass(time.Second)
		got := s.Latest()
		if want := sysmon.Unknown[float64]("reader failed: index out of range"); got.CPU.ClockHz != want {
			t.Errorf("reading is %+v, want %+v", got.CPU.ClockHz, want)
		}
		if got.CPU.TempCelsius.Value != 2 || !got.FanRPM.Known {
			t.Errorf("other readings are %+v and %+v", got.CPU.TempCelsius, got.FanRPM)
		}
	})
}

func TestRunWaitsForItsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		_, stop := start(t, sysmon.Readers{
			TempCelsius: func(ctx context.Context) sysmon.Reading[float64] {
				<-ctx.Done()
				time.Sleep(300 * time.Millisecond)
				ended = true
				return sysmon.Unknown[float64]("stopped")
			},
		})
		pass(3 * time.Second)
		if err := stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if !ended {
			t.Error("Run returned before its reader had")
		}
	})
}

func TestRunNamesTheReadersItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := func(context.Context) sysmon.Reading[float64] {
			<-release
			return sysmon.Unknown[float64]("")
		}
		_, stop := start(t, sysmon.Readers{TempCelsius: stuck, FanRPM: stuck, ClockHz: counting()})
		pass(3 * time.Second)
		begin := time.Now()
		err := stop()
		if !errors.Is(err, sysmon.ErrStuck) || !strings.Contains(err.Error(), "temperature, fan") {
			t.Errorf("Run = %v, want ErrStuck and the names temperature, fan", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Run waited %s, want 1s", took)
		}
		close(release)
	})
}

func TestSubscribersGetTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, sysmon.Readers{TempCelsius: counting()})
		synctest.Wait()
		eager, endEager := s.Subscribe()
		lazy, endLazy := s.Subscribe()
		for want := 2.0; want <= 5; want++ {
			pass(time.Second)
			if got := (<-eager).CPU.TempCelsius.Value; got != want {
				t.Errorf("eager subscriber got %v, want %v", got, want)
			}
		}
		if got := (<-lazy).CPU.TempCelsius.Value; got != 5 {
			t.Errorf("lazy subscriber got %v, want the newest, 5", got)
		}
		endEager()
		endEager() // harmless
		endLazy()
		pass(2 * time.Second)
		if _, open := <-eager; open {
			t.Error("channel is open after the end of the subscription")
		}
	})
}

func TestSampleAfterDoneKeepsTheNewest(t *testing.T) {
	s, err := sysmon.New(sysmon.Readers{TempCelsius: counting()}, sysmon.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Sample(t.Context()); got != s.Latest() || got.CPU.TempCelsius.Value != 1 {
		t.Errorf("Sample reads %+v, want the newest with 1 °C", got.CPU.TempCelsius)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := s.Sample(ctx); got.CPU.TempCelsius.Value != 1 {
		t.Errorf("Sample with a done context reads %+v, want the last, 1 °C", got.CPU.TempCelsius)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	tests := map[string]struct {
		config sysmon.Config
		want   []string
	}{
		"too often":          {sysmon.Config{Interval: time.Millisecond}, []string{"interval is 1ms, want at least 10ms"}},
		"all wrong":          {sysmon.Config{Interval: -1, Timeout: -1, History: -1}, []string{"interval is -1ns", "timeout is -1ns", "history is -1ns"}},
		"too long a history": {sysmon.Config{History: 48 * time.Hour}, []string{"172800 points, want at most 100000"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := sysmon.New(sysmon.Readers{}, tt.config)
			if !errors.Is(err, sysmon.ErrConfig) {
				t.Fatalf("New = %v, want ErrConfig", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New = %v, want it to say %q", err, want)
				}
			}
		})
	}
}
