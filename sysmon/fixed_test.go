package sysmon_test

import (
	"testing"

	"pichat/sysmon"
)

// What shows the board takes either.
type board interface {
	Latest() *sysmon.Snapshot
	History() sysmon.History
	Subscribe() (snapshots <-chan *sysmon.Snapshot, end func())
}

var (
	_ board = (*sysmon.Sampler)(nil)
	_ board = (*sysmon.FixedSampler)(nil)
)

func TestFixed(t *testing.T) {
	warm := func(celsius float64) sysmon.Snapshot {
		return sysmon.Snapshot{CPU: sysmon.CPU{TempCelsius: sysmon.Measured(celsius, "test")}}
	}
	fixed := sysmon.Fixed(warm(50))
	if got := fixed.Latest().CPU.TempCelsius.Value; got != 50 {
		t.Errorf("Latest reads %v °C, want 50", got)
	}
	snapshots, end := fixed.Subscribe()
	defer end()
	fixed.Set(warm(60))
	if got := (<-snapshots).CPU.TempCelsius.Value; got != 60 {
		t.Errorf("subscriber reads %v °C, want 60", got)
	}
	if got := len(fixed.History().TempCelsius); got != 2 {
		t.Errorf("history has %d points, want 2", got)
	}
}
