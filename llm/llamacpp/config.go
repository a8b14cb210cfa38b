package llamacpp

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// Limits of a Config.
const (
	maxSlots       = 64
	minWindow      = 64
	maxWindow      = 1 << 24 // times maxSlots it stays within llama.cpp's 32 bits
	minBatchTokens = 32
	maxBatchTokens = 4096
)

// Config says what to load and how. Path is required; the zero value of every
// other field means its default.
type Config struct {
	Path string // the GGUF file
	// Slots is how many sequences the context holds, 1 to 64; default 1.
	Slots int
	// Window is how many tokens one slot holds, prompt and reply together, at
	// least 64; default 4096. One larger than the model was trained for is
	// allowed and logged.
	Window int
	// BatchTokens is how many tokens one Evaluate takes at most, 32 to 4096
	// and at least Slots; default 512.
	BatchTokens int
	// DecodeThreads and PrefillThreads are compute threads, 1 to 512, for steps
	// without and with prompt tokens; default DefaultThreads, and for prefill
	// that of decode. When they differ, two pools of threads are kept.
	DecodeThreads  int
	PrefillThreads int
	// Progress, when set, is called with the part of the model that is loaded,
	// 0..1, about ten times a second and at last with 1, from one goroutine
	// that ends before Load returns.
	Progress func(float64)
	// Logger takes llama.cpp's log; default is to drop it. llama.cpp's details
	// come at level debug.
	Logger *slog.Logger
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Slots, 1)
	set(&c.Window, 4096)
	set(&c.BatchTokens, 512)
	set(&c.DecodeThreads, DefaultThreads())
	set(&c.PrefillThreads, c.DecodeThreads)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate reports every fault of a Config at once.
func (c Config) validate() error {
	var faults []error
	within := func(name string, value, lo, hi int) {
		if value < lo || value > hi {
			faults = append(faults, fmt.Errorf("%s %d is outside %d to %d", name, value, lo, hi))
		}
	}
	within("slots", c.Slots, 1, maxSlots)
	within("window", c.Window, minWindow, maxWindow)
	within("batch tokens", c.BatchTokens, minBatchTokens, maxBatchTokens)
	within("decode threads", c.DecodeThreads, 1, maxThreads)
	within("prefill threads", c.PrefillThreads, 1, maxThreads)
	if len(faults) == 0 && c.BatchTokens < c.Slots {
		faults = append(faults, fmt.Errorf("batch tokens %d are fewer than the %d slots: every slot adds one to a step", c.BatchTokens, c.Slots))
	}
	if err := checkFile(c.Path); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// checkFile catches what needs no look into the file.
func checkFile(path string) error {
	if path == "" {
		return errors.New("no model file is given")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s is empty", path)
	}
	return nil
}
