// Package host reads the board that the program runs on, for package sysmon.
//
// What gopsutil gets right comes from gopsutil, in one file. What it loses or
// gets wrong on a Raspberry Pi (a CPU temperature beside other sensors,
// throttling, the fan, load) is read from /proc and /sys here, one file of
// code per reading. The firmware of a Raspberry Pi is asked through its mailbox
// device, which needs the group video. Nothing forks. On systems without /proc
// and /sys those readings are unknown.
package host

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"pichat/sysmon"
)

// Config says which machine to read. The zero Config is this machine.
type Config struct {
	// Root is the directory that holds proc, sys and etc; empty is "/". With
	// another root everything is read from that tree, and nothing from the
	// real machine, except the CPU time of this process.
	Root string
	// OpenMailbox opens the firmware's mailbox by the path of its device; nil
	// opens the real one. Tests give a scripted one.
	OpenMailbox func(path string) (Mailbox, error)
	// Logger gets a warning, once, when gopsutil could read only some of the
	// sensors; nil discards.
	Logger *slog.Logger
}

// Readers returns the functions that read the machine, for sysmon.New. They
// belong to one Sampler: some remember where they found a sensor, and the
// same one must not be called twice at once.
func Readers(cfg Config) sysmon.Readers {
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	t := tree(cfg.Root)
	stats := &gopsutil{tree: t, log: cfg.Logger}
	gencmd := &firmware{tree: t, open: cfg.OpenMailbox}
	if gencmd.open == nil {
		gencmd.open = openMailbox
	}
	return sysmon.Readers{
		Hostname:   t.hostname,
		BoardModel: t.boardModel,
		OS:         t.osName,
		CPUModel:   stats.cpuModel,
		Cores:      stats.cores,
		MaxClockHz: maxClock(t).reading,

		CPUTimes:      stats.cpuTimes,
		ProcessTime:   processTime,
		TempCelsius:   thermometer(t, stats).reading,
		ClockHz:       clock(t).reading,
		TrueClockHz:   trueClock(t, gencmd).reading,
		Memory:        stats.memory,
		ProcessMemory: processMemory(t, os.Getpagesize()),
		Throttle:      throttleReader(t, gencmd, time.Now),
		FanRPM:        fan(t).reading,
		Power:         powerReader(t, gencmd),
		Load:          t.loadAverage,
	}
}

// tree is the directory that a machine's files are read under.
type tree string

// real tells whether t is the machine itself rather than a copy of one.
func (t tree) real() bool { return t == "/" }

// path returns where the machine's file name, such as "/proc/stat", is found.
func (t tree) path(name string) string {
	if t.real() {
		return name
	}
	return strings.TrimSuffix(string(t), "/") + name
}

// shown is the reverse of path: the name of a file as people know it.
func (t tree) shown(path string) string {
	if t.real() {
		return path
	}
	return strings.TrimPrefix(path, strings.TrimSuffix(string(t), "/"))
}
