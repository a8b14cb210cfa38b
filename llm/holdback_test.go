package llm

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// run pushes text byte by byte or in pieces and returns what came out at each
// step, joined by "|", then what the end let go.
func runHoldback(stops, pieces []string) (out string, stopped bool) {
	h := holdback{stops: stops}
	var steps []string
	for _, p := range pieces {
		text, stop := h.push([]byte(p))
		steps = append(steps, text)
		if stop {
			return strings.Join(steps, "|"), true
		}
	}
	return strings.Join(append(steps, h.flush()), "|"), false
}

func TestHoldback(t *testing.T) {
	tests := []struct {
		name    string
		stops   []string
		pieces  []string
		want    string
		stopped bool
	}{
		{"text goes at once", nil, []string{"a", " b"}, "a| b|", false},
		{"a split emoji waits", nil, []string{"x\xf0\x9f", "\x94\xa5", "y"}, "x|🔥|y|", false},
		{"a cut character is dropped at the end", nil, []string{"x\xd0"}, "x|", false},
		{"bytes that are no text become a mark", nil, []string{"a\xff", "b"}, "a\uFFFD|b|", false},
		{"a stop string over three tokens", []string{"own fox"}, []string{"The quick br", "own", " f", "ox jumps"}, "The quick br|||", true},
		{"what looks like a stop string and is none", []string{"own fox"}, []string{"br", "own", " cow"}, "br||own c|ow", false},
		{"held text goes at the end", []string{"###"}, []string{"a##"}, "a|##", false},
		{"the earliest of two", []string{"c", "b"}, []string{"abcd"}, "a", true},
		{"a stop string that overlaps itself", []string{"aab"}, []string{"a", "a", "a", "b"}, "||a|", true},
		{"a stop string inside a token", []string{"\n"}, []string{"one\ntwo"}, "one", true},
		{"a stop string of split characters", []string{"🔥"}, []string{"x\xf0\x9f", "\x94", "\xa5"}, "x||", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, stopped := runHoldback(tt.stops, tt.pieces)
			if got != tt.want || stopped != tt.stopped {
				t.Errorf("got %q, %v; want %q, %v", got, stopped, tt.want, tt.stopped)
			}
		})
	}
}

// Whatever the cuts between tokens, the text is what it would be in one piece,
// and every step is valid UTF-8 (case T1, T2).
func FuzzHoldback(f *testing.F) {
	f.Add("Reply only: 🧑‍🚀🔥你好Ёж", "ox", uint8(1))
	f.Add("The quick brown fox", "own fox", uint8(2))
	f.Add("aaab", "aab", uint8(1))
	f.Fuzz(func(t *testing.T, text, stop string, size uint8) {
		if !utf8.ValidString(text) || !utf8.ValidString(stop) || stop == "" {
			t.Skip("not text")
		}
		want, _, _ := strings.Cut(text, stop)
		h := holdback{stops: []string{stop}}
		var got strings.Builder
		step := int(size%7) + 1
		stopped := false
		for at := 0; at < len(text) && !stopped; at += step {
			var out string
			out, stopped = h.push([]byte(text[at:min(at+step, len(text))]))
			if !utf8.ValidString(out) || strings.Contains(out, "\uFFFD") && !strings.Contains(text, "\uFFFD") {
				t.Fatalf("a step gave %q", out)
			}
			got.WriteString(out)
		}
		if !stopped {
			got.WriteString(h.flush())
		}
		if got.String() != want {
			t.Errorf("%q with stop %q in steps of %d gave %q, want %q", text, stop, step, got.String(), want)
		}
	})
}
