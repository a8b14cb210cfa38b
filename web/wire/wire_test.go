package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pichat/llm"
)

func TestTimingsOf(t *testing.T) {
	at := func(n int, every time.Duration) (out []time.Duration) {
		for i := range n {
			out = append(out, time.Second+time.Duration(i)*every)
		}
		return out
	}
	tests := []struct {
		name    string
		timings llm.Timings
		has     string // the optional fields that are there
	}{
		{"nothing came", llm.Timings{}, ""},
		{"one token", llm.Timings{Arrivals: at(1, 0)}, "ttft_s first_answer_s"},
		{"short", llm.Timings{Arrivals: at(10, time.Second)}, "ttft_s first_answer_s tps tpot_s"},
		{"long and slow", llm.Timings{Arrivals: at(50, time.Second), PromptTokens: 10, Prefill: time.Second}, "ttft_s first_answer_s tps tpot_s prefill_tps sustained_tps reader_wait_s"},
		{"faster than can be told", llm.Timings{Arrivals: at(50, time.Millisecond)}, "ttft_s first_answer_s tps tpot_s reader_wait_s"},
		{"buffered", llm.Timings{Arrivals: at(50, 0)}, "ttft_s first_answer_s tpot_s"},
		{"only thought", llm.Timings{Arrivals: at(50, time.Second), ThoughtTokens: 50}, "ttft_s tps tpot_s"},
	}
	optional := strings.Fields("ttft_s first_answer_s tps tpot_s prefill_tps sustained_tps reader_wait_s")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := Encode(TimingsOf(tt.timings, 11))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			for _, name := range optional {
				_, has := got[name]
				if want := strings.Contains(" "+tt.has+" ", " "+name+" "); has != want {
					t.Errorf("%s is there: %v, want %v", name, has, want)
				}
			}
		})
	}
}

func TestEncodeKeepsMarkup(t *testing.T) {
	data, err := Encode(Welcome{Type: TypeWelcome, HTML: []string{`<p dir="auto">a & b</p>`}})
	if err != nil || !strings.Contains(string(data), `<p dir=\"auto\">a & b</p>`) || strings.HasSuffix(string(data), "\n") {
		t.Errorf("%s %v", data, err)
	}
}

func TestErrorOf(t *testing.T) {
	e := ErrorOf("id", errors.New("secret"))
	if e.Type != TypeError || e.ID != "id" || e.Code != "internal" || strings.Contains(e.Message, "secret") {
		t.Errorf("got %+v", e)
	}
}
