package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/remember"
	"pichat/cmd/pichat/tune"
	"pichat/llm/llamacpp"
	"pichat/sysmon/host"
)

// tuneWindow is the context that tune measures with: prompts of a server's
// step and a few tokens after.
const tuneWindow = 512

// tune measures numbers of threads, prints them, and remembers the best.
func (a *app) tune(ctx context.Context, c *config.Tune) error {
	most := llamacpp.DefaultThreads()
	engine := config.Engine{Model: c.Model, Models: c.Models, Cache: c.Cache, Context: tuneWindow, Threads: most, PrefillThreads: most}
	conf := a.boot(ctx, engine, 1, 1, newLogger(c.LogLevel, a.stderr))
	candidate, err := boot.Inspect(conf)
	if err != nil {
		return err
	}
	status := newStatusLine(a.stderr)
	defer status.clear()
	running, err := boot.Load(ctx, conf, candidate, func(_ float64, note string) { status.show(note) })
	if err != nil {
		return whyEnded(ctx, err)
	}
	err = a.measure(ctx, running.Model, candidate.Path, tune.Store{Folder: conf.Remembered}, status)
	return errors.Join(err, running.Close())
}

// measure does it with a loaded model.
func (a *app) measure(ctx context.Context, m *llamacpp.Model, path string, store tune.Store, status *statusLine) error {
	measured, err := tune.Measure(ctx, m, tune.Config{
		Counts:   tune.Counts(m.Info().DecodeThreads),
		Progress: func(done float64) { status.show(fmt.Sprintf("measuring %.0f %%", 100*done)) },
	})
	status.clear()
	if err != nil {
		return whyEnded(ctx, err)
	}
	choice := tune.Choice{Model: path, At: time.Now().UTC().Truncate(time.Second), Results: measured.Results}
	choice.Decode, choice.Prefill = tune.Choose(measured.Results)
	if err := writeTuning(a.stdout, choice); err != nil {
		return err
	}
	if err := measured.Spoilt(); err != nil {
		return fmt.Errorf("nothing is remembered: %w", err)
	}
	if err := store.Save(choice); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "remembered for serve and ask")
	return err
}

// writeTuning prints what was measured as a table.
func writeTuning(out io.Writer, c tune.Choice) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "threads\tdecode tokens/s\tlow to high\tprefill tokens/s\tlow to high\t")
	for _, r := range c.Results {
		var chosen []string
		if r.Threads == c.Decode {
			chosen = append(chosen, "decode")
		}
		if r.Threads == c.Prefill {
			chosen = append(chosen, "prefill")
		}
		mark := ""
		if len(chosen) > 0 {
			mark = "chosen for " + strings.Join(chosen, " and ")
		}
		fmt.Fprintf(w, "%d\t%.1f\t%.1f to %.1f\t%.1f\t%.1f to %.1f\t%s\n", r.Threads,
			r.Decode.Median, r.Decode.Low, r.Decode.High, r.Prefill.Median, r.Prefill.Low, r.Prefill.High, mark)
	}
	return w.Flush()
}

// whyEnded prefers that the person interrupted over what came of it.
func whyEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// remembered is where measurements are kept. They hold for one build and one
// kind of board, since a card may be put into another.
func (a *app) remembered(ctx context.Context, cache string) remember.Folder {
	r := host.Readers(host.Config{})
	machine := []string{a.prober(cache).Build, fmt.Sprint(runtime.NumCPU(), " ", llamacpp.DefaultThreads())}
	board, _ := r.BoardModel(ctx).Get()
	cpu, _ := r.CPUModel(ctx).Get()
	return remember.Folder{Path: a.cacheFolder(cache), Machine: strings.Join(append(machine, board, cpu), "\n")}
}
