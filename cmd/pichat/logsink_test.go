package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// A log that nobody reads makes no writer wait; what is lost is told.
func TestLogSinkNeverBlocks(t *testing.T) {
	reader, writer := io.Pipe()
	s := newLogSink(writer, false)
	begin := time.Now()
	for i := range 3 * logLines {
		fmt.Fprintf(s, "line %d\n", i)
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("writing took %v while nobody read", d)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		read <- string(text)
	}()
	s.Close()
	_ = writer.Close()
	text := <-read
	if !strings.Contains(text, "line 0\n") || !strings.Contains(text, "log lines were dropped") {
		t.Errorf("the log reads %.80q …, want line 0 and how many were dropped", text)
	}
}

func TestLogSinkKeepsAll(t *testing.T) {
	var b strings.Builder
	s := newLogSink(&b, false)
	fmt.Fprintln(s, "one")
	fmt.Fprintln(s, "two")
	s.Close()
	if b.String() != "one\ntwo\n" {
		t.Errorf("the log reads %q", b.String())
	}
}
