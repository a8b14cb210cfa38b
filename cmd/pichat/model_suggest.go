package main

import (
	"context"

	"pichat/cmd/pichat/catalogue"
	"pichat/sysmon/host"
	"pichat/web"
)

// suggestion is the best model of the catalogue for this machine, nil where
// its memory is unknown or too small for any. It asks no server.
func suggestion(ctx context.Context) *web.Suggestion {
	model, _ := host.Readers(host.Config{}).BoardModel(ctx).Get()
	board := catalogue.BoardOf(model)
	best, ok := catalogue.Best(board, memory(ctx).Total)
	if !ok || best.Name == catalogue.Default {
		return nil
	}
	return &web.Suggestion{
		Name: best.Name, PaceTPS: best.Pace.TPS, PaceKind: string(best.Pace.Kind), Board: string(board),
		Command: "pichat model pull " + best.Name,
	}
}

// pullCommand fetches the best model for this machine, or the default one.
func pullCommand(ctx context.Context) string {
	if s := suggestion(ctx); s != nil {
		return s.Command
	}
	return "pichat model pull " + catalogue.Default
}
