// Command compare measures pichat against llama-server and llama-bench, on one
// machine, with the same model, context, slots and prompts, in alternating
// runs, and prints the ratios with 95 % intervals. Run it with "make compare";
// docs/compare.md tells what each line means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// measures are run in this order.
var measures = []struct {
	name string
	run  func(context.Context, *session) ([]row, error)
}{
	{"decode", decode},
	{"prefill", prefill},
	{"aggregate", aggregate},
	{"gap", gap},
	{"beside", beside},
	{"chat", chat},
	{"neighbour", neighbour},
	{"goodput", goodput},
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == burnArgument {
		burn(os.Stdin)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// options are what the command line adds to config.
type options struct {
	only  []string
	json  string
	sweep string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.logs, err = os.MkdirTemp("", "pichat-compare-"); err != nil {
		return err
	}
	s := &session{config: c, out: stderr, running: map[int]bool{},
		rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
	if s.sweeps, err = loadSweeps(o.sweep); err != nil {
		return err
	}
	head := s.head(ctx)
	fmt.Fprintln(stdout, strings.Join(head, "\n"))
	rows, err := s.measure(ctx, o.only)
	// What was measured before a fault is shown too, but no row that it cut off.
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.Use == nil })
	fmt.Fprintln(stdout)
	if e := printTable(stdout, rows); e != nil {
		return errors.Join(err, e)
	}
	if o.json != "" {
		err = errors.Join(err, writeJSON(o.json, head, rows))
	}
	if err == nil {
		err = os.RemoveAll(c.logs)
	}
	return err
}

// measure runs what was asked for. One that fails does not stop the others.
func (s *session) measure(ctx context.Context, only []string) ([]row, error) {
	var rows []row
	var faults error
	for _, m := range measures {
		if !slices.Contains(only, m.name) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		fmt.Fprintf(s.out, "%s\n", m.name)
		got, err := m.run(ctx, s)
		rows = append(rows, got...)
		if err != nil {
			s.say("failed: %v", err)
			faults = errors.Join(faults, fmt.Errorf("%s: %w", m.name, err))
		}
		s.say("took %v", time.Since(began).Round(time.Second))
	}
	return rows, errors.Join(faults, ctx.Err())
}

func writeJSON(name string, head []string, rows []row) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(printJSON(f, head, rows), f.Close())
}

// parse reads the command line and reports every fault of it at once.
func parse(args []string, stderr io.Writer) (config, options, error) {
	var c config
	var o options
	names := make([]string, len(measures))
	for i, m := range measures {
		names[i] = m.name
	}
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.pichat, "pichat", "bin/pichat", "pichat's `file`")
	f.Func("pichat-flags", "`flags` of pichat serve to try, with spaces between them", func(text string) error {
		c.pichatFlags = strings.Fields(text)
		return nil
	})
	f.StringVar(&c.llamaServer, "llama-server", "", "llama-server's `file`")
	f.StringVar(&c.llamaBench, "llama-bench", "", "llama-bench's `file`")
	f.StringVar(&c.model, "model", "models/SmolLM2-135M-Instruct.Q4_1.gguf", "model `file`")
	f.IntVar(&c.runs, "runs", 7, "alternating runs; fewer than 6 give no 95 % interval")
	f.IntVar(&c.sweepTries, "sweep-tries", 2, "measurements of each set of flags in a sweep")
	f.DurationVar(&c.rest, "rest", 500*time.Millisecond, "rest between two sides")
	f.DurationVar(&c.window, "window", 40*time.Second, "length of an open-loop run")
	f.StringVar(&o.json, "json", "", "`file` to write all figures to")
	f.StringVar(&o.sweep, "sweep", "build/compare/sweep.json", "`file` that remembers the peer's best flags")
	only := f.String("only", strings.Join(names, ","), "measures to run, `list` with commas")
	if err := f.Parse(args); err != nil {
		return c, o, err
	}
	o.only = strings.Split(*only, ",")
	return c, o, check(c, o, names, f.Args())
}

func check(c config, o options, names, rest []string) error {
	var faults error
	fault := func(format string, args ...any) { faults = errors.Join(faults, fmt.Errorf(format, args...)) }
	files := map[string]string{"-pichat": c.pichat, "-llama-server": c.llamaServer, "-llama-bench": c.llamaBench, "-model": c.model}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := os.Stat(files[name]); err != nil {
			fault("%s %q: no such file (docs/compare.md tells how to get it)", name, files[name])
		}
	}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			fault("-only %q is none of %s", name, strings.Join(names, ", "))
		}
	}
	if c.runs < 1 || c.sweepTries < 1 {
		fault("-runs %d and -sweep-tries %d must be 1 or more", c.runs, c.sweepTries)
	}
	if c.window < 100*time.Millisecond {
		fault("-window %v is below 100ms", c.window)
	}
	if len(rest) > 0 {
		fault("%q is no flag", rest[0])
	}
	return faults
}
