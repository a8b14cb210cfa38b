package boot

import (
	"context"
	"fmt"
	"os"

	"pichat/cmd/pichat/probe"
	"pichat/llm"
	"pichat/llm/llamacpp"
)

// trialWindow is the context of a trial: enough for the prompt below.
const trialWindow = 512

// Trial does with a model file what a server will do with it, once and small:
// loads it, renders chats with its template, reads a prompt and writes a
// token. It belongs into a child process, since the file may take the process
// down; it sets limits that stay.
func Trial(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	probe.Limit(info.Size())
	model, err := llamacpp.Load(ctx, llamacpp.Config{Path: path, Slots: 1, Window: trialWindow})
	if err != nil {
		return err
	}
	defer model.Close()
	format, err := templateOf(model)
	if err != nil {
		return err
	}
	if err := format.Trial(ctx); err != nil {
		return err
	}
	return writeOne(ctx, model)
}

// writeOne evaluates a few tokens and samples one.
func writeOne(ctx context.Context, model *llamacpp.Model) error {
	tokens, err := model.Tokenize(llm.Text{Parts: []string{"Hello, world. 1 2 3"}})
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("the vocabulary makes no tokens of a plain sentence")
	}
	var batch llm.Batch
	batch.Prefill = true
	for i, t := range tokens {
		batch.Add(t, i, 0, i == len(tokens)-1)
	}
	if err := model.Evaluate(ctx, &batch); err != nil {
		return err
	}
	sampler, err := model.NewSampler(llm.Sampling{}, tokens)
	if err != nil {
		return err
	}
	defer sampler.Close()
	_, err = sampler.Sample(len(tokens) - 1)
	return err
}
