package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pichat/cmd/pichat/catalogue"
	"pichat/sysmon/host"
	"pichat/web"
)

// suggestion is the best model of the catalogue for this machine, nil where
// its memory is unknown or too small for any. It asks no server. models is the
// folder of the installed service's models.
func suggestion(ctx context.Context, models string) *web.Suggestion {
	model, _ := host.Readers(host.Config{}).BoardModel(ctx).Get()
	board := catalogue.BoardOf(model)
	best, ok := catalogue.Best(board, memory(ctx).Total)
	if !ok || best.Name == catalogue.Default {
		return nil
	}
	return &web.Suggestion{
		Name: best.Name, PaceTPS: best.Pace.TPS, PaceKind: string(best.Pace.Kind), Board: string(board),
		Command: pullWords(best.Name, needsSudo(models)),
	}
}

// pullCommand fetches the best model for this machine, or the default one.
func pullCommand(ctx context.Context, models string) string {
	if s := suggestion(ctx, models); s != nil {
		return s.Command
	}
	return pullWords(catalogue.Default, needsSudo(models))
}

// pullWords is the command line that fetches a model to where this program finds
// it.
func pullWords(name string, sudo bool) string {
	words := programWord() + " model pull " + name
	if sudo {
		return "sudo " + words
	}
	return words
}

// needsSudo tells whether an installed service's models are there and not this
// user's to write: the service itself may only read them.
func needsSudo(models string) bool {
	_, err := os.Stat(models)
	return err == nil && unix.Access(models, unix.W_OK|unix.X_OK) != nil
}

// programWord is what a person types to run this program: its name where the
// shell finds it by that, else its path.
func programWord() string {
	const name = "pichat"
	if filepath.Base(half.Program) != name {
		return name // a test's program, or one that does not know its file
	}
	if found, err := exec.LookPath(name); err == nil && sameFile(found, half.Program) {
		return name
	}
	// As the unit has it: a link that outlives the release it leads to.
	if started := os.Args[0]; filepath.IsAbs(started) && sameFile(started, half.Program) {
		return shellWord(started)
	}
	return shellWord(half.Program)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
