package sysmon

import (
	"context"
	"time"
)

// Readers are the functions a Sampler reads the board with. A nil function is
// a reading that this system does not offer; it stays unknown.
//
// The sampler never calls one function twice at the same time, but may call
// different ones concurrently. A function that blocks costs only its own
// reading. It should return soon after ctx is done where it can.
type Readers struct {
	// Facts, read once.
	Hostname   func(ctx context.Context) Reading[string]
	BoardModel func(ctx context.Context) Reading[string]
	OS         func(ctx context.Context) Reading[string]
	CPUModel   func(ctx context.Context) Reading[string]
	Cores      func(ctx context.Context) Reading[int]
	MaxClockHz func(ctx context.Context) Reading[float64]

	// CPUTimes counts the machine's CPU time since boot. The sampler makes
	// percentages of it.
	CPUTimes func(ctx context.Context) Reading[CPUTimes]
	// ProcessTime is the CPU time this program has used so far.
	ProcessTime func(ctx context.Context) Reading[time.Duration]

	TempCelsius   func(ctx context.Context) Reading[float64]
	ClockHz       func(ctx context.Context) Reading[float64]
	TrueClockHz   func(ctx context.Context) Reading[float64]
	Memory        func(ctx context.Context) Memory
	ProcessMemory func(ctx context.Context) Reading[ProcessMemory]
	Throttle      func(ctx context.Context) Throttle
	FanRPM        func(ctx context.Context) Reading[float64]
	Power         func(ctx context.Context) Power
	Load          func(ctx context.Context) Reading[LoadAverage]
}

// CPUTimes is CPU time summed over all cores since boot. Total includes Busy.
type CPUTimes struct {
	Busy, Total time.Duration
}
