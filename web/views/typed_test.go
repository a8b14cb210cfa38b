package views

import (
	"bytes"
	"strings"
	"testing"
)

// A failure's command stands apart from its words, so that it can be marked and
// copied as a whole.
func TestFailureShowsItsCommand(t *testing.T) {
	for _, tt := range []struct{ name, failure, want string }{
		{"a command", "no model found: fetch one with `sudo pichat model pull tiny`, or name one", "<code>sudo pichat model pull tiny</code>, or name one"},
		{"two commands", "`a` or `b`", "<code>a</code> or <code>b</code>"},
		{"none", "it was cut short", "it was cut short"},
		{"a lone backtick", "a ` b", "a ` b"},
		{"markup", "`<b>`", "<code>&lt;b&gt;</code>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := StateNotices(StateModel{Phase: PhaseFailed, Failure: tt.failure}).Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
