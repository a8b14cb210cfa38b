// Package boot brings a model up, for every command that needs one: find the
// file, check its header in Go, hold its needs against memory, try it in a
// child process, load it, compile its chat template, make the engine.
//
// The order is that of growing cost and risk: [Inspect] takes milliseconds and
// touches no C, [Load] takes seconds to minutes.
package boot

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"pichat/cmd/pichat/probe"
	"pichat/cmd/pichat/remember"
	"pichat/llm"
	"pichat/llm/gguf"
	"pichat/llm/llamacpp"
)

// Config says what to bring up.
type Config struct {
	// Path of the model file; "" looks in Folders.
	Path    string
	Folders []string
	// Fetch is the command that gets a model for this machine, for the error
	// where there is none.
	Fetch  string
	Wish   Wish
	Memory Memory
	// Remembered holds what was measured of models on this machine: threads,
	// and the engine's step times.
	Remembered remember.Folder
	// Threads for decode and prefill; 0 chooses: what is remembered, else the
	// physical cores.
	Threads, PrefillThreads int
	// Calibrate lets the engine choose threads in its first idle time, where
	// none were asked for and none are remembered.
	Calibrate bool
	// Processors is the number of CPUs that threads can run on; 0 where unknown.
	Processors int
	// MaxTokens, Queue, Pace, Floor and MaxWait are llm.EngineConfig's.
	MaxTokens, Queue int
	Pace, Floor      float64
	MaxWait          time.Duration
	Prober           *probe.Prober
	// Logger must be set.
	Logger *slog.Logger
}

// Candidate is a model file that passed every check in Go.
type Candidate struct {
	Path string
	Info *gguf.Info
	Plan Plan
}

// Inspect finds the model file and checks it without loading anything.
func Inspect(c Config) (*Candidate, error) {
	path := c.Path
	if path == "" {
		var err error
		if path, err = FindModel(c.Folders, c.Fetch); err != nil {
			return nil, err
		}
	}
	info, err := gguf.Check(path)
	if err != nil {
		return nil, err
	}
	warning, err := CheckThreads(c.Threads, c.PrefillThreads, c.Processors)
	if err != nil {
		return nil, err
	}
	plan, err := Fit(info, c.Wish, c.Memory)
	if err != nil {
		return nil, about(path, err)
	}
	if warning != "" {
		plan.Warnings = append(plan.Warnings, warning)
	}
	return &Candidate{Path: path, Info: info, Plan: plan}, nil
}

// Running is a loaded model with its engine, which serves once its Run is
// called. Close it after Run has returned.
type Running struct {
	Engine *llm.Engine
	Model  *llamacpp.Model

	path       string
	threads    int // for decode, when it began
	remembered remember.Folder
}

// Close frees the model.
func (r *Running) Close() error { return r.Model.Close() }

// Load tries the candidate in a child process where it is new, and loads it.
// Progress is called from one goroutine at a time with the part that is done,
// 0..1, and what is being done.
func Load(ctx context.Context, c Config, candidate *Candidate, progress func(float64, string)) (*Running, error) {
	progress(0, "trying the model file in a process of its own")
	if err := c.Prober.Check(ctx, candidate.Path); err != nil {
		return nil, about(candidate.Path, err)
	}
	progress(0, "loading the model")
	decode, prefill := c.threads(candidate.Path)
	model, err := llamacpp.Load(ctx, llamacpp.Config{
		Path:           candidate.Path,
		Slots:          candidate.Plan.Slots,
		Window:         candidate.Plan.Window,
		DecodeThreads:  decode,
		PrefillThreads: prefill,
		Progress:       func(done float64) { progress(done, "loading the model") },
		Logger:         c.Logger,
	})
	if err != nil {
		return nil, err
	}
	format, err := templateOf(model)
	if err != nil {
		_ = model.Close()
		return nil, about(candidate.Path, err)
	}
	engine := llm.NewEngine(llm.EngineConfig{
		Backend:    model,
		Template:   template{format},
		QueueLimit: c.Queue,
		MaxWait:    c.MaxWait,
		Pace:       c.Pace,
		Floor:      c.Floor,
		Learned:    c.learned(candidate.Path, model.Info().DecodeThreads),
		MaxTokens:  c.MaxTokens,
		Logger:     c.Logger,
		Calibrate:  c.calibration(model, candidate.Path),
	})
	return &Running{
		Engine: engine, Model: model, path: candidate.Path, threads: model.Info().DecodeThreads, remembered: c.Remembered,
	}, nil
}

// about names the file in front of an error that does not name it itself.
func about(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
