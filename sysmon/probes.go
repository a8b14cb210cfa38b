package sysmon

import (
	"context"
	"time"
)

// How often the slower readings are taken.
const (
	// Each look at the throttling word or the true clock is a call into the
	// firmware.
	throttlePeriod = 2 * time.Second
	clockPeriod    = 2 * time.Second
	fanPeriod      = 2 * time.Second
	// The firmware takes 23 ms to measure all rails.
	powerPeriod = 5 * time.Second
	// The kernel computes the load averages anew every 5 s.
	loadPeriod = 5 * time.Second
)

// newProbes lists all readings with their places in a Snapshot. What moves
// comes first, so that a stuck fact delays no live value.
func newProbes(r Readers, interval time.Duration) []*probe {
	ticks := func(period time.Duration) int { return max(1, int(period/interval)) }
	busy, process := &busyRate{}, &processRate{}
	return []*probe{
		newProbe("cpu_times", 1, r.CPUTimes, Unknown[CPUTimes],
			func(s *Snapshot, v Reading[CPUTimes]) { s.CPU.BusyPercent = busy.percent(v) }),
		newProbe("process_time", 1, stamped(r.ProcessTime), unknownStamped,
			func(s *Snapshot, v stampedTime) { s.Process.CPUPercent = process.percent(v) }),
		newProbe("temperature", 1, r.TempCelsius, Unknown[float64],
			func(s *Snapshot, v Reading[float64]) { s.CPU.TempCelsius = v }),
		newProbe("clock", 1, r.ClockHz, Unknown[float64],
			func(s *Snapshot, v Reading[float64]) { s.CPU.ClockHz = v }),
		newProbe("memory", 1, r.Memory, unknownMemory,
			func(s *Snapshot, v Memory) { s.Memory = v }),
		newProbe("process_memory", 1, r.ProcessMemory, Unknown[ProcessMemory],
			func(s *Snapshot, v Reading[ProcessMemory]) { s.Process.Memory = v }),
		newProbe("throttle", ticks(throttlePeriod), r.Throttle, UnknownThrottle,
			func(s *Snapshot, v Throttle) { s.Throttle = v }),
		newProbe("true_clock", ticks(clockPeriod), r.TrueClockHz, Unknown[float64],
			func(s *Snapshot, v Reading[float64]) { s.CPU.TrueClockHz = v }),
		newProbe("fan", ticks(fanPeriod), r.FanRPM, Unknown[float64],
			func(s *Snapshot, v Reading[float64]) { s.FanRPM = v }),
		newProbe("load", ticks(loadPeriod), r.Load, Unknown[LoadAverage],
			func(s *Snapshot, v Reading[LoadAverage]) { s.Load = v }),
		newProbe("power", ticks(powerPeriod), r.Power, UnknownPower,
			func(s *Snapshot, v Power) { s.Power = v }),

		newProbe("hostname", 0, r.Hostname, Unknown[string],
			func(s *Snapshot, v Reading[string]) { s.Host.Hostname = v }),
		newProbe("board_model", 0, r.BoardModel, Unknown[string],
			func(s *Snapshot, v Reading[string]) { s.Host.BoardModel = v }),
		newProbe("os", 0, r.OS, Unknown[string],
			func(s *Snapshot, v Reading[string]) { s.Host.OS = v }),
		newProbe("cpu_model", 0, r.CPUModel, Unknown[string],
			func(s *Snapshot, v Reading[string]) { s.Host.CPUModel = v }),
		newProbe("cores", 0, r.Cores, Unknown[int],
			func(s *Snapshot, v Reading[int]) { s.Host.Cores = v }),
		newProbe("max_clock", 0, r.MaxClockHz, Unknown[float64],
			func(s *Snapshot, v Reading[float64]) { s.Host.MaxClockHz = v }),
	}
}

func unknownMemory(reason string) Memory {
	return Memory{RAM: Unknown[RAM](reason), Swap: Unknown[Swap](reason)}
}

// stampedTime is a process time and the moment it was read.
type stampedTime struct {
	used Reading[time.Duration]
	at   time.Time
}

// stamped notes the moment right beside the reading: readers before it may
// have waited, and the rate would be off by their wait.
func stamped(reader func(context.Context) Reading[time.Duration]) func(context.Context) stampedTime {
	if reader == nil {
		return nil
	}
	return func(ctx context.Context) stampedTime {
		return stampedTime{used: reader(ctx), at: time.Now()}
	}
}

func unknownStamped(reason string) stampedTime {
	return stampedTime{used: Unknown[time.Duration](reason)}
}
