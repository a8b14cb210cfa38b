package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/probe"
	"pichat/llm/llamacpp"
	"pichat/sysmon/host"
)

// Exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // as a shell reports Ctrl-C
)

// Errors that say by themselves how a command ended; nothing is printed.
var (
	errReported    = errors.New("the command has said what is wrong")
	errInterrupted = errors.New("interrupted")
)

// app is what every command needs of the world outside.
type app struct {
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// transport reaches model hubs; nil is Go's own.
	transport http.RoundTripper
}

// run is the program without its process: args are without its name, environ
// is as os.Environ gives it. It ends in good order when ctx does, and returns
// the exit status.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	inv, err := config.Parse(args, environ, os.ReadFile)
	if err != nil {
		a.complain(err.Error())
		return statusUsage
	}
	if inv.Help != "" {
		_, _ = io.WriteString(stdout, inv.Help)
		return statusOK
	}
	switch err := a.dispatch(ctx, inv.Command); {
	case err == nil:
		return statusOK
	case errors.Is(err, errReported):
		return statusFailed
	case errors.Is(err, errInterrupted):
		return statusInterrupted
	default:
		a.complain(oneLine(err))
		return statusFailed
	}
}

func (a *app) dispatch(ctx context.Context, command any) error {
	switch c := command.(type) {
	case *config.Serve:
		return a.serve(ctx, c)
	case *config.Ask:
		return a.ask(ctx, c)
	case *config.Doctor:
		return a.doctor(ctx, c)
	case *config.Verify:
		return a.verify(ctx, c)
	case *config.ModelList:
		return a.modelList(ctx, c)
	case *config.ModelPull:
		return a.modelPull(ctx, c)
	case *config.ModelRm:
		return a.modelRemove(c)
	case *config.ModelInfo:
		return a.modelInfo(c)
	case *config.ModelCheck:
		return a.modelCheck(ctx, c)
	case *config.Tune:
		return a.tune(ctx, c)
	case *config.Version:
		return a.version(c)
	case *config.Probe:
		return a.probe(ctx, c)
	}
	return fmt.Errorf("no such command: %T", command)
}

// oneLine makes one line of an error, whatever a library put into it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// getenv looks a variable up in the environment that run was given.
func (a *app) getenv(key string) string {
	for _, pair := range a.environ {
		if k, v, _ := strings.Cut(pair, "="); k == key {
			return v
		}
	}
	return ""
}

// newLogger writes text lines of at least that level.
func newLogger(level string, to io.Writer) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // one of four words: config checked it
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: l}))
}

// boot fills in what all commands that need a model have in common.
func (a *app) boot(ctx context.Context, e config.Engine, slots, queue int, log *slog.Logger) boot.Config {
	program := half.Program // without it, two folders are not looked into
	c := boot.Config{
		Path:           e.Model,
		Folders:        boot.ModelFolders(program, e.Models),
		Fetch:          pullCommand(ctx, e.Models),
		Wish:           boot.Wish{Slots: slots, Window: e.Context},
		Threads:        e.Threads,
		PrefillThreads: e.PrefillThreads,
		Processors:     runtime.NumCPU(),
		MaxTokens:      e.MaxTokens,
		Queue:          queue,
		Prober:         a.prober(e.Cache),
		Remembered:     a.remembered(ctx, e.Cache),
		Logger:         log,
	}
	c.Memory = memory(ctx)
	return c
}

// memory reads the machine's memory; what is unknown is 0.
func memory(ctx context.Context) boot.Memory {
	ram, _ := host.Readers(host.Config{}).Memory(ctx).RAM.Get()
	return boot.Memory{Total: ram.TotalBytes, Available: ram.AvailableBytes}
}

// prober tries model files with this very program, in an empty environment.
func (a *app) prober(cache string) *probe.Prober {
	engine := llamacpp.Engine()
	return &probe.Prober{
		Command: []string{"/proc/self/exe", "probe-model"},
		Cache:   a.cacheFolder(cache),
		Build:   strings.Join([]string{version, engine.Version, engine.Commit, engine.Flavour, engine.Key}, " "),
	}
}

// cacheFolder is the folder that was asked for, else that of systemd's
// StateDirectory, else the user's; "" where there is none.
func (a *app) cacheFolder(asked string) string {
	state, _, _ := strings.Cut(a.getenv("STATE_DIRECTORY"), ":")
	switch {
	case asked != "":
		return asked
	case state != "":
		return state
	case a.getenv("XDG_CACHE_HOME") != "":
		return filepath.Join(a.getenv("XDG_CACHE_HOME"), "pichat")
	case a.getenv("HOME") != "":
		return filepath.Join(a.getenv("HOME"), ".cache", "pichat")
	}
	return ""
}
