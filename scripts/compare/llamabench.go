package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// benchFlags are the flags of llama-bench that a sweep varies.
type benchFlags struct {
	Threads int `json:"threads"`
	UBatch  int `json:"ubatch"`
}

func (f benchFlags) String() string { return fmt.Sprintf("-t %d -ub %d", f.Threads, f.UBatch) }

// bench runs llama-bench once: prompt tokens are read, or tokens are written,
// the other being 0. It returns tokens/s.
func (c config) bench(ctx context.Context, f benchFlags, prompt, tokens int) (float64, error) {
	cmd := exec.CommandContext(ctx, c.llamaBench, "-m", c.model, "-r", "1", "-o", "json",
		"-p", strconv.Itoa(prompt), "-n", strconv.Itoa(tokens), "-t", strconv.Itoa(f.Threads), "-ub", strconv.Itoa(f.UBatch))
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return 0, fmt.Errorf("llama-bench: %w: %.300s", err, exit.Stderr)
		}
		return 0, fmt.Errorf("llama-bench: %w", err)
	}
	return parseBench(out)
}

// parseBench takes the speed out of llama-bench's JSON.
func parseBench(out []byte) (float64, error) {
	var tests []struct {
		Speed float64 `json:"avg_ts"`
	}
	if err := json.Unmarshal(out, &tests); err != nil {
		return 0, fmt.Errorf("llama-bench prints no JSON: %w", err)
	}
	if len(tests) != 1 || tests[0].Speed <= 0 {
		return 0, fmt.Errorf("llama-bench tells no speed: %.200s", out)
	}
	return tests[0].Speed, nil
}
