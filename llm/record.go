package llm

import (
	"context"
	"errors"
	"log/slog"
)

// record is what the log tells of a reply: figures, never text.
type record struct {
	id      string
	finish  Finish
	err     error
	timings Timings
}

// record hands a reply's figures to the log; when the log does not keep up
// they are dropped rather than waited for.
func (e *Engine) record(j *job, finish Finish, err error) {
	select {
	case e.records <- record{j.request.ID, finish, err, j.reply.timings}:
	default:
	}
}

// logRecords writes records until the channel is closed.
func logRecords(log *slog.Logger, records <-chan record) {
	for r := range records {
		attrs := []slog.Attr{
			slog.String("request_id", r.id),
			slog.String("finish", string(r.finish)),
			slog.Int("prompt_tokens", r.timings.PromptTokens),
			slog.Int("cached_tokens", r.timings.CachedTokens),
			slog.Int("tokens", r.timings.Tokens()),
			slog.Duration("queue", r.timings.Queue),
			slog.Duration("e2e", r.timings.E2E),
		}
		if r.timings.Prefill > 0 { // else the prompt was not read to its end
			attrs = append(attrs, slog.Duration("prefill", r.timings.Prefill))
		}
		if ttft, ok := r.timings.TTFT(); ok {
			attrs = append(attrs, slog.Duration("ttft", ttft))
		}
		if tps, ok := r.timings.TPS(); ok {
			attrs = append(attrs, slog.Float64("tps", tps))
		}
		level := slog.LevelInfo
		if r.err != nil {
			if !errors.Is(r.err, ErrClosed) { // the end of the program is no fault
				level = slog.LevelError
			}
			attrs = append(attrs, slog.Any("error", r.err))
		}
		log.LogAttrs(context.Background(), level, "reply", attrs...)
	}
}
