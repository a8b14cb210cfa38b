//go:build unix

package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pichat/sysmon"
)

// A file that never answers (here a FIFO without a writer) costs its own
// reading, whether it is ours or gopsutil's to read, and not the others.
func TestStuckFiles(t *testing.T) {
	tests := map[string]struct {
		file  string
		stuck func(*sysmon.Snapshot) string // the reason of the reading that it costs
		alive func(*sysmon.Snapshot) bool   // readings before and behind it
	}{
		"temperature": {
			hwmon0 + "temp1_input",
			func(s *sysmon.Snapshot) string { return s.CPU.TempCelsius.Reason },
			func(s *sysmon.Snapshot) bool {
				return s.Process.CPUPercent.Known && s.Memory.RAM.Known && s.Host.BoardModel.Known
			},
		},
		"memory, through gopsutil": {
			"proc/meminfo",
			func(s *sysmon.Snapshot) string { return s.Memory.RAM.Reason },
			func(s *sysmon.Snapshot) bool {
				return s.CPU.TempCelsius.Known && s.FanRPM.Known && s.Host.BoardModel.Known
			},
		},
		"throttling": {
			"sys/devices/platform/soc/soc:firmware/get_throttled",
			func(s *sysmon.Snapshot) string { return s.Throttle.Now.UnderVoltage.Reason },
			func(s *sysmon.Snapshot) bool { return s.CPU.TempCelsius.Known && s.FanRPM.Known && s.Load.Known },
		},
		"a fact": {
			"etc/os-release",
			func(s *sysmon.Snapshot) string { return s.Host.OS.Reason },
			func(s *sysmon.Snapshot) bool { return s.CPU.TempCelsius.Known && s.Host.Cores.Known },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := board(t, "pi5-bookworm")
			remove(t, root, tt.file)
			fifo := filepath.Join(root, tt.file)
			if err := syscall.Mkfifo(fifo, 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := sysmon.New(Readers(Config{Root: root}), sysmon.Config{
				Interval: 20 * time.Millisecond,
				Timeout:  300 * time.Millisecond, // a busy machine is not a stuck file
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			snapshots, unsubscribe := s.Subscribe()
			defer unsubscribe()
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()

			last := <-snapshots
			for range 4 { // the sampler goes on
				next := <-snapshots
				if !next.At.After(last.At) {
					t.Errorf("snapshot of %s after that of %s", next.At, last.At)
				}
				if reason := tt.stuck(next); !strings.HasPrefix(reason, "no answer") {
					t.Errorf("stuck reading has the reason %q, want no answer", reason)
				}
				last = next
			}
			if !tt.alive(last) {
				t.Errorf("other readings are lost: %+v", last)
			}

			cancel()
			release(t, fifo)
			if err := <-ended; err != nil {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

// release ends the read that is blocked in a FIFO with an end of file. The
// FIFO is gone by then, so that nothing blocks in it again.
func release(t *testing.T, fifo string) {
	t.Helper()
	w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("nobody reads the FIFO: %v", err)
	}
	defer w.Close()
	if err := os.Remove(fifo); err != nil {
		t.Error(err)
	}
}
