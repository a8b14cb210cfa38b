package boot

import (
	"errors"
	"fmt"

	"pichat/llm/gguf"
)

// What is chosen where nothing is asked for, and how far it is reduced where
// memory is short.
const (
	defaultSlots  = 4
	defaultWindow = 4096
	leastWindow   = 1024
)

// ErrTooLarge means that a model and its context cannot work on this machine.
var ErrTooLarge = errors.New("does not fit into memory")

// Wish is what was asked for; 0 leaves a choice to Fit.
type Wish struct {
	Slots  int // serving places
	Window int // tokens of one slot, prompt and reply together
}

// Memory is the machine's memory in bytes; 0 where unknown.
type Memory struct {
	Total, Available uint64
}

// Plan is what will be loaded.
type Plan struct {
	Slots, Window int
	Need          gguf.Memory
	// Warnings tell what will work badly, in whole sentences.
	Warnings []string
}

// Fit chooses slots and window and holds what they need against the machine.
//
// A window is at most what the model was trained for, unless asked for. Where
// the need passes nine tenths of the available memory, slots and then the
// window are reduced as far as they are free to choose. What is still too
// large is a warning: the weights are mapped from the file, so the model runs,
// slowly. It is ErrTooLarge only when the context alone, which no file backs,
// exceeds the machine's whole memory.
func Fit(model *gguf.Info, wish Wish, machine Memory) (Plan, error) {
	p := Plan{Slots: wish.Slots, Window: wish.Window}
	if p.Slots == 0 {
		p.Slots = defaultSlots
	}
	if p.Window == 0 {
		p.Window = defaultWindow
		if model.ContextTrain > 0 {
			p.Window = min(p.Window, model.ContextTrain)
		}
	}
	p.Need = model.MemoryEstimate(p.Slots, p.Window)
	roomy := func() bool {
		return machine.Available == 0 || p.Need.Total() <= machine.Available/10*9
	}
	for !roomy() && wish.Slots == 0 && p.Slots > 1 {
		p.Slots /= 2
		p.Need = model.MemoryEstimate(p.Slots, p.Window)
	}
	for !roomy() && wish.Window == 0 && p.Window/2 >= leastWindow {
		p.Window /= 2
		p.Need = model.MemoryEstimate(p.Slots, p.Window)
	}
	return p.judge(model, machine)
}

// judge adds warnings, or refuses.
func (p Plan) judge(model *gguf.Info, machine Memory) (Plan, error) {
	if machine.Total > 0 && p.Need.KV > machine.Total {
		return p, fmt.Errorf("%w: the context of %d slots x %d tokens needs %s, this machine has %s in all: lower --context or --slots",
			ErrTooLarge, p.Slots, p.Window, Bytes(p.Need.KV), Bytes(machine.Total))
	}
	switch {
	case machine.Available == 0:
	case p.Need.KV > machine.Available:
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the context of %d slots x %d tokens needs %s and %s are free: the system may have to end the program",
			p.Slots, p.Window, Bytes(p.Need.KV), Bytes(machine.Available)))
	case p.Need.Total() > machine.Available:
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the model needs about %s (weights %s, context %s, work memory %s) and %s are free: it will be read from the disk again and again, and be slow",
			Bytes(p.Need.Total()), Bytes(p.Need.Weights), Bytes(p.Need.KV), Bytes(p.Need.Compute), Bytes(machine.Available)))
	}
	if model.ContextTrain > 0 && p.Window > model.ContextTrain {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"the window of %d tokens is larger than the %d that the model was trained for: answers may get worse past that",
			p.Window, model.ContextTrain))
	}
	return p, nil
}

// Bytes prints a size for people, in decimal units as file managers do:
// "98.4 MB".
func Bytes(n uint64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// Count prints a number of weights for people: "135 M", "1.2 B"; "unknown" for
// 0.
func Count(n uint64) string {
	switch {
	case n == 0:
		return "unknown"
	case n >= 1e9:
		return fmt.Sprintf("%.1f B", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f M", float64(n)/1e6)
}
