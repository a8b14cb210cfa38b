package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	logLines = 1024            // that may wait for the terminal, pipe or journal
	logGrace = 2 * time.Second // for the last of them at the end
)

// logSink passes log lines on without making anybody wait: a terminal that is
// paused or a pipe that nobody reads must not hold up a decode step. Lines that
// find no room are dropped, and their number is told once there is room again.
// Write may be called from any goroutine, and after Close, when it does nothing
// to be seen.
type logSink struct {
	to      io.Writer
	mark    string // in front of a line of its own
	lines   chan []byte
	dropped atomic.Uint64
	quit    chan struct{}
	done    chan struct{}
}

// newLogSink starts the goroutine that writes; Close ends it.
func newLogSink(to io.Writer, journal bool) *logSink {
	s := &logSink{to: to, mark: priority(slog.LevelWarn, journal), lines: make(chan []byte, logLines), quit: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// Write takes one line. It never blocks and never fails.
func (s *logSink) Write(line []byte) (int, error) {
	select {
	case s.lines <- bytes.Clone(line):
	default:
		s.dropped.Add(1)
	}
	return len(line), nil
}

// Close writes what waits, for a moment at most.
func (s *logSink) Close() {
	close(s.quit)
	select {
	case <-s.done:
	case <-time.After(logGrace):
	}
}

func (s *logSink) run() {
	defer close(s.done)
	for {
		select {
		case line := <-s.lines:
			s.pass(line)
		case <-s.quit:
			for {
				select {
				case line := <-s.lines:
					s.pass(line)
				default:
					return
				}
			}
		}
	}
}

func (s *logSink) pass(line []byte) {
	if n := s.dropped.Swap(0); n > 0 {
		fmt.Fprintf(s.to, "%s%d log lines were dropped: nobody read them\n", s.mark, n)
	}
	_, _ = s.to.Write(line)
}
