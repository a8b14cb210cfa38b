package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/config"
	"pichat/llm"
)

// questionLimit bounds what is read from standard input; no window holds more.
const questionLimit = 4 << 20

// ask answers one question on standard output.
func (a *app) ask(ctx context.Context, c *config.Ask) error {
	question, err := a.question(c.Text)
	if err != nil {
		return err
	}
	conf := a.boot(ctx, c.Engine, 1, 1, newLogger(c.LogLevel, a.stderr))
	candidate, err := boot.Inspect(conf)
	if err != nil {
		return err
	}
	for _, w := range candidate.Plan.Warnings {
		fmt.Fprintf(a.stderr, "pichat: %s\n", w)
	}
	status := newStatusLine(a.stderr)
	running, err := boot.Load(ctx, conf, candidate, func(done float64, note string) {
		if done > 0 {
			note += fmt.Sprintf(" %.0f %%", 100*done)
		}
		status.show(note)
	})
	status.clear()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	request := llm.Request{Sampling: llm.DefaultSampling()}
	if c.System != "" {
		request.Messages = append(request.Messages, llm.Message{Role: llm.RoleSystem, Content: c.System})
	}
	request.Messages = append(request.Messages, llm.Message{Role: llm.RoleUser, Content: question})
	request.Sampling.Temperature, request.Sampling.Seed = c.Temperature, c.Seed
	err = a.answer(ctx, running.Engine, request, c.TargetPace)
	return errors.Join(err, running.Close())
}

// question joins the words; a word that is a dash stands for standard input.
func (a *app) question(words []string) (string, error) {
	words = append([]string(nil), words...)
	for i, w := range words {
		if w != "-" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(a.stdin, questionLimit+1))
		if err != nil {
			return "", fmt.Errorf("reading the question from standard input: %w", err)
		}
		if len(text) > questionLimit {
			return "", fmt.Errorf("the question on standard input is longer than %s", boot.Bytes(questionLimit))
		}
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return "", errors.New("standard input is not UTF-8 text")
		}
		words[i] = strings.TrimSpace(string(text))
	}
	return strings.Join(words, " "), nil
}

// answer runs the engine for one request and prints what comes.
func (a *app) answer(ctx context.Context, engine *llm.Engine, request llm.Request, target float64) error {
	// The engine outlives ctx: a cancelled reply still ends with its timings.
	engineCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(engineCtx) }()
	defer func() { stop(); <-ended }()

	stream, err := engine.Generate(ctx, request)
	if err != nil {
		return err
	}
	done, text, err := a.print(context.WithoutCancel(ctx), stream)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\n\n"+timingsLine(done, text, engine.Info(), target))
	switch done.Finish {
	case llm.FinishError:
		return done.Err
	case llm.FinishCancelled:
		return errInterrupted
	}
	return nil
}

// print writes a stream's text as it comes and returns its end, and the answer
// without reasoning.
func (a *app) print(ctx context.Context, stream *llm.Stream) (llm.Done, string, error) {
	status, out := newStatusLine(a.stderr), newTextWriter(a.stdout)
	defer status.clear()
	var answer strings.Builder
	for {
		events, err := stream.Next(ctx)
		if err != nil {
			return llm.Done{}, "", err
		}
		for _, e := range events {
			switch e := e.(type) {
			case llm.Prefilling:
				if e.Done < e.PromptTokens {
					status.show(fmt.Sprintf("reading the question %d %%", 100*e.Done/max(1, e.PromptTokens)))
				}
			case llm.Delta:
				status.clear()
				if !e.Thought {
					answer.WriteString(e.Text)
				}
				if err := out.write(e.Text, e.Thought); err != nil {
					return llm.Done{}, "", fmt.Errorf("writing the answer: %w", err)
				}
			case llm.Done:
				return e, answer.String(), out.end()
			}
		}
	}
}
