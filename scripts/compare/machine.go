package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// cpuName is the processor as the kernel names it, and how many there are.
func cpuName() string {
	name := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs", name, runtime.NumCPU())
}

// head says what is compared, where and when.
func (s *session) head(ctx context.Context) []string {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	return []string{
		"machine: " + cpuName() + ", load average at the start " + strings.TrimSpace(string(load)),
		"model: " + s.model,
		strings.TrimSpace("pichat: " + firstLine(ctx, s.pichat, "version") + " " + strings.Join(s.pichatFlags, " ")),
		"llama-server: " + firstLine(ctx, s.llamaServer, "--version"),
		"date: " + time.Now().UTC().Format("2006-01-02 15:04 MST"),
	}
}

// firstLine is the first line that a program prints.
func firstLine(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "unknown"
	}
	return line
}
