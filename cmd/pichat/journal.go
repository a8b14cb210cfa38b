package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// journal tells whether the standard error stream goes to systemd's journal,
// which reads a priority in front of each line (sd-daemon(3)). JOURNAL_STREAM
// alone does not tell: it is inherited by programs whose streams were
// redirected.
func (a *app) journal() bool {
	f, ok := a.stderr.(*os.File)
	if !ok {
		return false
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return false
	}
	return a.getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// priority is what stands in front of a line of that level: syslog's number in
// angle brackets, nothing outside of a journal.
func priority(level slog.Level, journal bool) string {
	switch {
	case !journal:
		return ""
	case level >= slog.LevelError:
		return "<3>"
	case level >= slog.LevelWarn:
		return "<4>"
	case level >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}

// complain prints why the program ends, each line with its priority.
func (a *app) complain(text string) {
	mark := priority(slog.LevelError, a.journal())
	fmt.Fprintf(a.stderr, "%spichat: %s\n", mark, strings.ReplaceAll(text, "\n", "\n"+mark))
}

// serveLogger is newLogger for a program that runs for months: in the journal
// with priorities, and without the time, which stands there already.
func (a *app) serveLogger(level string, to io.Writer) *slog.Logger {
	if !a.journal() {
		return newLogger(level, to)
	}
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // one of four words: config checked it
	h := make(journalHandler)
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		h[l] = slog.NewTextHandler(marked{to, priority(l, true)}, &slog.HandlerOptions{Level: least, ReplaceAttr: withoutTime})
	}
	return slog.New(h)
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// marked puts a mark in front of each line; slog writes a line at a time.
type marked struct {
	to   io.Writer
	mark string
}

func (m marked) Write(line []byte) (int, error) {
	if _, err := m.to.Write(append([]byte(m.mark), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// journalHandler has a handler for each of slog's four levels, since a handler
// cannot write anything in front of its line. It never changes.
type journalHandler map[slog.Level]slog.Handler

// of is the handler for records of that level or, between two, the lower one.
func (h journalHandler) of(level slog.Level) slog.Handler {
	for _, l := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo} {
		if level >= l {
			return h[l]
		}
	}
	return h[slog.LevelDebug]
}

// Enabled implements slog.Handler.
func (h journalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.of(level).Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.of(r.Level).Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.each(func(one slog.Handler) slog.Handler { return one.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h journalHandler) WithGroup(name string) slog.Handler {
	return h.each(func(one slog.Handler) slog.Handler { return one.WithGroup(name) })
}

func (h journalHandler) each(change func(slog.Handler) slog.Handler) slog.Handler {
	changed := make(journalHandler, len(h))
	for level, one := range h {
		changed[level] = change(one)
	}
	return changed
}
