package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/probe"
	"pichat/llm/gguf"
)

// modelInfo prints what a model file says about itself.
func (a *app) modelInfo(c *config.ModelInfo) error {
	info, err := gguf.Check(c.File)
	if err != nil {
		return err
	}
	need := info.MemoryEstimate(c.Slots, c.Context)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("name", "%s", info.Name)
	if info.OwnName != "" && info.OwnName != info.Name {
		row("calls itself", "%q", info.OwnName)
	}
	row("file", "%s, %s", info.Path, boot.Bytes(info.SizeBytes))
	row("architecture", "%s, %d layers, embeddings of %d", info.Architecture, info.Layers, info.EmbeddingLength)
	row("parameters", "%s", boot.Count(info.Parameters))
	row("quantization", "%s", info.Quantization)
	row("vocabulary", "%d tokens", info.VocabSize)
	row("trained for", "%s", trainWindow(info))
	row("chat template", "%s", map[bool]string{true: "its own", false: "none: a base model, served in a plain format"}[info.HasTemplate()])
	row("licence", "%s", orUnknown(info.License))
	row("memory", "about %s for %d slots x %d tokens: weights %s, context %s, work memory %s",
		boot.Bytes(need.Total()), c.Slots, c.Context, boot.Bytes(need.Weights), boot.Bytes(need.KV), boot.Bytes(need.Compute))
	return w.Flush()
}

func trainWindow(info *gguf.Info) string {
	s := "an unknown window"
	if info.ContextTrain > 0 {
		s = fmt.Sprintf("%d tokens", info.ContextTrain)
	}
	if info.SlidingWindow > 0 {
		s += fmt.Sprintf(", with a sliding window of %d", info.SlidingWindow)
	}
	return s
}

func orUnknown(s string) string {
	if s == "" {
		return "the file does not say"
	}
	return s
}

// modelCheck checks a model file as serve does, and always tries it anew.
func (a *app) modelCheck(ctx context.Context, c *config.ModelCheck) error {
	info, err := gguf.Check(c.File)
	if err != nil {
		return err
	}
	prober := a.prober("")
	prober.Cache = ""
	if err := prober.Check(ctx, c.File); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: good: %s, %s, %s\n", c.File, info.Name, info.Quantization, boot.Bytes(info.SizeBytes))
	return err
}

// probe is the child of another pichat: it tries a model file and tells how
// that went.
func (a *app) probe(ctx context.Context, c *config.Probe) error {
	refused := boot.Trial(ctx, c.File)
	if err := probe.Answer(a.stdout, refused); err != nil {
		return err
	}
	if refused != nil {
		return errReported
	}
	return nil
}
