package web

import (
	"strings"
	"testing"

	"pichat/llm"
	"pichat/web/views"
)

// The page names a better model beside a very small one, and keeps quiet about
// it beside any other, or where it knows of none.
func TestThePageNamesABetterModel(t *testing.T) {
	better := &views.BetterModel{Name: "llama-3.2-3b-instruct", PaceTPS: 4.58, PaceKind: "published", Board: "Pi 5", Command: "pichat model pull llama-3.2-3b-instruct"}
	html, err := render(views.StateNotices(views.StateModel{Phase: views.PhaseReady, Better: better}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"llama-3.2-3b-instruct", "4.6 tok/s", "published for a Pi 5", "<code>pichat model pull llama-3.2-3b-instruct</code>"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
	unknown := *better
	unknown.PaceTPS, unknown.PaceKind, unknown.Board = 0, "unknown", ""
	html, err = render(views.StateNotices(views.StateModel{Phase: views.PhaseReady, Better: &unknown}))
	if err != nil || !strings.Contains(string(html), "its pace here is unknown") || strings.Contains(string(html), "tok/s") {
		t.Errorf("an unknown pace: %s, %v", html, err)
	}
	for _, tt := range []struct {
		info llm.ModelInfo
		want bool
	}{
		{llm.ModelInfo{Parameters: 135e6}, true},
		{llm.ModelInfo{Parameters: 1.24e9}, false},
		{llm.ModelInfo{Parameters: 135e6, Scripted: true}, false},
		{llm.ModelInfo{}, false},
	} {
		if got := isTiny(tt.info); got != tt.want {
			t.Errorf("%+v: got %v", tt.info, got)
		}
	}
}
