package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pichat/llm"
)

func TestOf(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		code   string
		says   string
		hidden bool
	}{
		{"overflow has both numbers", fmt.Errorf("ask: %w", &llm.ContextError{PromptTokens: 1500, Window: 1024}), 400, CodeContextFull, "1500 tokens, but a slot's context window holds 1024", false},
		{"invalid drops the sentinel", fmt.Errorf("%w: top_p 3 is outside 0 to 1", llm.ErrInvalidRequest), 400, CodeInvalid, "top_p 3 is outside", false},
		{"queue full", llm.ErrQueueFull, 503, CodeQueueFull, "queue full", false},
		{"queue full, for all", &llm.QueueError{Reason: "9 wait", RetryAfter: time.Minute}, 503, CodeQueueFull, "9 wait: try again in 1m0s", false},
		{"queue full, for one", &llm.QueueError{Reason: "9 of yours wait", OfClient: true}, 429, CodeQueueFull, "9 of yours wait", false},
		{"loading", fmt.Errorf("%w (40 %%)", llm.ErrLoading), 503, CodeLoading, "40 %", false},
		{"failed says why", fmt.Errorf("%w: %w", llm.ErrUnavailable, errors.New("file is truncated")), 503, CodeUnavailable, "file is truncated", false},
		{"closing", llm.ErrClosed, 503, CodeStopping, "shutting down", true},
		{"backend hides details", fmt.Errorf("%w: ggml at 0xdead", llm.ErrBackend), 500, CodeInternal, "the model failed", true},
		{"client gone", context.Canceled, 499, CodeGone, "went away", true},
		{"body too large", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 4096}), 413, CodeTooLarge, "4096 bytes", false},
		{"a fault stays itself", fmt.Errorf("wrap: %w", Invalid("seed", "seed %q", "x")), 400, CodeInvalid, `seed "x"`, false},
		{"unknown is a plain 500", errors.New("dial tcp 10.0.0.1: secret"), 500, CodeInternal, "its log says what", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Of(tt.err)
			if f.Status != tt.status || f.Code != tt.code || f.Hidden != tt.hidden {
				t.Errorf("got %d %s hidden=%v, want %d %s hidden=%v", f.Status, f.Code, f.Hidden, tt.status, tt.code, tt.hidden)
			}
			if !strings.Contains(f.Message, tt.says) {
				t.Errorf("message %q lacks %q", f.Message, tt.says)
			}
			if strings.Contains(f.Message, "secret") || strings.Contains(f.Message, "0xdead") || strings.HasPrefix(f.Message, "invalid request:") {
				t.Errorf("message %q tells too much", f.Message)
			}
		})
	}
}
