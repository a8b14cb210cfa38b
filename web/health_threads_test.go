package web

import (
	"encoding/json"
	"strings"
	"testing"

	"pichat/llm"
	"pichat/llm/fakellm"
)

// /status tells the threads of now, those there may be, and why; for a backend
// without threads it leaves them out.
func TestStatusTellsThreads(t *testing.T) {
	data, err := json.Marshal(engineJSON{Threads: threadsOf(llm.ThreadStatus{
		Decode: 1, Prefill: 2, MostDecode: 2, MostPrefill: 2, Reason: "2 → 1: a neighbour takes 1.0 of 2 processors",
	})})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"threads":{"decode":1,"prefill":2,"most_decode":2,"most_prefill":2,"reason":"2 → 1: a neighbour takes 1.0 of 2 processors"}`; !strings.Contains(string(data), want) {
		t.Errorf("got %s, want %s in it", data, want)
	}
	b := newBox(t, boxConfig{fake: fakellm.Config{}})
	if _, body := b.get("/status"); strings.Contains(body, `"threads"`) {
		t.Errorf("a backend without threads: %s", body)
	}
}
