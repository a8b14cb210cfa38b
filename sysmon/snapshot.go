// Package sysmon samples the state of the board: temperature, clock,
// throttling, CPU, memory, fan and load.
//
// One [Sampler] reads everything about once a second and publishes an
// immutable [Snapshot] that any number of consumers read without locks. What
// cannot be read is unknown and says why; it is never zero ([Reading]).
//
// The package itself knows no operating system. It is given a set of
// functions ([Readers]); the subpackage host makes them for a real board.
package sysmon

import "time"

// Snapshot is the state of the board at one moment. It is never changed once
// published, so it is safe to share between goroutines; treat it as read-only.
type Snapshot struct {
	// At is when the sampler began to take this snapshot.
	At       time.Time `json:"at"`
	Host     Host      `json:"host"`
	CPU      CPU       `json:"cpu"`
	Memory   Memory    `json:"memory"`
	Process  Process   `json:"process"`
	Throttle Throttle  `json:"throttle"`
	// FanRPM is the speed of the cooling fan in revolutions per minute; a
	// known 0 is a fan at rest.
	FanRPM Reading[float64] `json:"fan_rpm"`
	Power  Power            `json:"power"`
	// Load is the average number of runnable tasks.
	Load Reading[LoadAverage] `json:"load_average"`
}

// Host holds what does not change while the program runs. It is read once.
type Host struct {
	Hostname Reading[string] `json:"hostname"`
	// BoardModel is what the device tree calls the board, such as
	// "Raspberry Pi 5 Model B Rev 1.0". PCs have none.
	BoardModel Reading[string] `json:"board_model"`
	// OS is the distribution's name for people, such as
	// "Debian GNU/Linux 12 (bookworm)".
	OS       Reading[string] `json:"os"`
	CPUModel Reading[string] `json:"cpu_model"`
	// Cores is the number of logical CPUs of the machine.
	Cores Reading[int] `json:"cores"`
	// MaxClockHz is the highest clock the CPU can be set to.
	MaxClockHz Reading[float64] `json:"max_clock_hz"`
}

// CPU is the state of the processor.
type CPU struct {
	// BusyPercent is the share of all cores' time that was not idle between
	// this snapshot and the one before, 0 to 100.
	BusyPercent Reading[float64] `json:"busy_percent"`
	// TempCelsius is the temperature of the CPU itself, never that of
	// another chip.
	TempCelsius Reading[float64] `json:"temp_celsius"`
	// ClockHz is the clock that the kernel has asked for: requested, not
	// measured. While the firmware throttles, the true clock is lower.
	ClockHz Reading[float64] `json:"clock_hz"`
	// TrueClockHz is the clock that the firmware has measured. Only a
	// Raspberry Pi has one to ask.
	TrueClockHz Reading[float64] `json:"true_clock_hz"`
}

// RunningClockHz is the best that is known of the clock: what was measured,
// else what was requested.
func (c CPU) RunningClockHz() Reading[float64] {
	if c.TrueClockHz.Known {
		return c.TrueClockHz
	}
	return c.ClockHz
}

// Power is what the board's power chip reports; a Raspberry Pi 5 has one.
type Power struct {
	// Watts is the sum of the rails that the chip feeds. Losses and what hangs
	// on the 5 V line itself (USB, HATs) come on top.
	Watts Reading[float64] `json:"watts"`
	// SupplyVolts is the voltage of the supply at the board's input.
	SupplyVolts Reading[float64] `json:"supply_volts"`
}

// UnknownPower is a Power of which nothing is known, and why.
func UnknownPower(reason string) Power {
	return Power{Watts: Unknown[float64](reason), SupplyVolts: Unknown[float64](reason)}
}

// Memory is the memory of the machine.
type Memory struct {
	RAM  Reading[RAM]  `json:"ram"`
	Swap Reading[Swap] `json:"swap"`
}

// RAM is main memory in bytes. UsedBytes is TotalBytes - AvailableBytes.
//
// A trap: AvailableBytes counts the page cache as free, and a model file that
// is mapped into memory is page cache. Loading a 2 GB model therefore hardly
// moves UsedBytes, though evicting those pages would mean reading the card
// again for every token. [ProcessMemory.FileBytes] shows the mapped model.
type RAM struct {
	TotalBytes     uint64 `json:"total_bytes"` // at least 1
	AvailableBytes uint64 `json:"available_bytes"`
	UsedBytes      uint64 `json:"used_bytes"`
}

// Swap is swap space in bytes, zram included. A known TotalBytes of 0 is a
// machine without swap.
type Swap struct {
	TotalBytes uint64 `json:"total_bytes"`
	UsedBytes  uint64 `json:"used_bytes"`
}

// Process is the state of this program.
type Process struct {
	// CPUPercent is the CPU time used between this snapshot and the one
	// before, in percent of one core: four busy threads are 400.
	CPUPercent Reading[float64]       `json:"cpu_percent"`
	Memory     Reading[ProcessMemory] `json:"memory"`
}

// ProcessMemory is the resident memory of this program in bytes.
// ResidentBytes (RSS) = FileBytes + AnonBytes.
type ProcessMemory struct {
	ResidentBytes uint64 `json:"resident_bytes"`
	// FileBytes is the part that mirrors files (the mapped model, the
	// program's code) and shared memory. The kernel may drop and read again
	// what mirrors a file.
	FileBytes uint64 `json:"file_bytes"`
	// AnonBytes is the part that no file backs (KV cache, heap, stacks).
	AnonBytes uint64 `json:"anon_bytes"`
}

// LoadAverage is the number of runnable or uninterruptible tasks, averaged
// over the last 1, 5 and 15 minutes.
type LoadAverage struct {
	One     float64 `json:"one"`
	Five    float64 `json:"five"`
	Fifteen float64 `json:"fifteen"`
}
