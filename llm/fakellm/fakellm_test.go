package fakellm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/llm"
)

// reply evaluates a prompt on sequence 0 and returns the texts of the tokens
// that follow, at most limit.
func reply(t *testing.T, b *Backend, s llm.Sampling, prompt string, limit int) []string {
	t.Helper()
	tokens, err := b.Tokenize(llm.Text{Parts: []string{prompt}, Special: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.TrimSequence(0, 0); err != nil {
		t.Fatal(err)
	}
	var batch llm.Batch
	batch.Prefill = true
	for i, tok := range tokens {
		batch.Add(tok, i, 0, i == len(tokens)-1)
	}
	sampler, err := b.NewSampler(s, tokens)
	if err != nil {
		t.Fatal(err)
	}
	defer sampler.Close()
	var out []string
	for at := len(tokens) - 1; len(out) < limit; at = 0 {
		if err := b.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
		tok, err := sampler.Sample(at)
		if err != nil {
			t.Fatal(err)
		}
		if b.IsEOG(tok) {
			break
		}
		out = append(out, string(b.AppendPiece(nil, tok)))
		batch.Reset()
		batch.Add(tok, len(tokens)+len(out)-1, 0, true)
	}
	return out
}

func TestScripts(t *testing.T) {
	chat := "<|im_start|>user\nHow are you?<|im_end|>\n<|im_start|>assistant\n"
	for _, tt := range []struct {
		name   string
		script Script
		want   string // tokens, separated by |
	}{
		{"text", Say("Fine, thanks."), "Fine|,| thanks|."},
		{"pieces as given", Pieces("br", "\xf0\x9f", "\x99\x82", "own f"), "br|\xf0\x9f|\x99\x82|own f"},
		{"an emoji is split into bytes", Say("🙂"), "\xf0|\x9f|\x99|\x82"},
		{"long words are split", Say("measurements"), "measur|ements"},
		{"echo", Echo, "How| are| you|?"},
		{"endless", Endless("ha "), "ha| |ha| |ha| |ha| "},
		{"empty", Say(""), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(reply(t, New(Config{Script: tt.script}), llm.Sampling{}, chat, 8), "|")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSayTakesTurns(t *testing.T) {
	b := New(Config{Script: Say("one", "two")})
	var got []string
	for range 3 {
		got = append(got, strings.Join(reply(t, b, llm.Sampling{}, "x", 9), ""))
	}
	if want := "one two one"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDefaultScriptSaysWhatItIs(t *testing.T) {
	for _, a := range answers {
		first, _, _ := strings.Cut(a, "\n")
		if !strings.Contains(first, "script") {
			t.Errorf("the first paragraph does not say that it is scripted: %q", first)
		}
		if n := len(strings.Fields(a)); n < 90 {
			t.Errorf("an answer of %d words is too short to read along with", n)
		}
	}
}

func TestTime(t *testing.T) {
	for _, tt := range []struct {
		name    string
		config  Config
		prefill time.Duration // of 100 tokens
		decode  time.Duration // of 3 streams
	}{
		{"no time", Config{}, 0, 0},
		{"pace and prefill speed", Config{Pace: 5, PrefillSpeed: 50}, 2 * time.Second, 200 * time.Millisecond},
		{"step time by streams", Config{Pace: 5, StepTime: func(n int) time.Duration { return time.Duration(n) * time.Second }},
			0, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.config.Slots = 3
				b := New(tt.config)
				evaluate := func(batch *llm.Batch) time.Duration {
					begin := time.Now()
					if err := b.Evaluate(t.Context(), batch); err != nil {
						t.Fatal(err)
					}
					return time.Since(begin)
				}
				var prompt, step llm.Batch
				for i := range 100 {
					prompt.Add('a', i, 0, false)
				}
				if d := evaluate(&prompt); d != tt.prefill {
					t.Errorf("prefill took %v, want %v", d, tt.prefill)
				}
				step.Add('a', 100, 0, true)
				step.Add('a', 0, 1, true)
				step.Add('a', 0, 2, true)
				if d := evaluate(&step); d != tt.decode {
					t.Errorf("a step took %v, want %v", d, tt.decode)
				}
			})
		})
	}
}

func TestJitterIsSeededAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		durations := func(seed uint64) (out [20]time.Duration) {
			b := New(Config{Pace: 10, Jitter: 0.5, Seed: seed})
			for i := range out {
				var batch llm.Batch
				batch.Add('a', i, 0, true)
				begin := time.Now()
				if err := b.Evaluate(t.Context(), &batch); err != nil {
					t.Fatal(err)
				}
				out[i] = time.Since(begin)
				if out[i] < 50*time.Millisecond || out[i] > 150*time.Millisecond {
					t.Errorf("a step took %v, want 50 to 150 ms", out[i])
				}
			}
			return out
		}
		first, again, other := durations(1), durations(1), durations(2)
		if first != again {
			t.Error("the same seed gave other times")
		}
		if first == other {
			t.Error("another seed gave the same times")
		}
	})
}

func TestInterrupt(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := New(Config{PrefillSpeed: 1, Faults: Faults{KeepInterrupted: keep}})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var batch llm.Batch
			for i := range 10 {
				batch.Add('a', i, 0, i == 9)
			}
			begin := time.Now()
			if err := b.Evaluate(ctx, &batch); !errors.Is(err, llm.ErrInterrupted) {
				t.Fatalf("got %v, want ErrInterrupted", err)
			}
			if d := time.Since(begin); d != 3*time.Second {
				t.Errorf("it took %v, want 3s", d)
			}
			want := -1
			if keep {
				want = 4
			}
			if _, last := b.SequenceSpan(0); last != want {
				t.Errorf("last position kept is %d, want %d", last, want)
			}
			if c := b.Counters(); c.Interrupts != 1 {
				t.Errorf("%d interrupts counted, want 1", c.Interrupts)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	own := errors.New("own")
	b := New(Config{Faults: Faults{EvaluateCall: 2, SampleCall: 2, SampleErr: own}, Script: Endless("ha ")})
	var batch llm.Batch
	batch.Add('a', 0, 0, true)
	if err := b.Evaluate(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	s, err := b.NewSampler(llm.Sampling{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Sample(0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(0); !errors.Is(err, own) {
		t.Errorf("the second Sample gave %v, want the script's error", err)
	}
	batch.Reset()
	batch.Add('a', 1, 0, true)
	if err := b.Evaluate(t.Context(), &batch); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("the second Evaluate gave %v, want ErrBackend", err)
	}
	if err := b.Evaluate(t.Context(), &batch); err != nil {
		t.Errorf("the third Evaluate gave %v, want none", err)
	}
}

func TestSlidingWindowAndRecurrent(t *testing.T) {
	fill := func(b *Backend) {
		t.Helper()
		var batch llm.Batch
		for i := range 10 {
			batch.Add('a', i, 0, false)
		}
		if err := b.Evaluate(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	b := New(Config{SlidingWindow: 4})
	fill(b)
	if first, last := b.SequenceSpan(0); first != 6 || last != 9 {
		t.Errorf("a window of 4 keeps %d to %d, want 6 to 9", first, last)
	}
	if err := b.TrimSequence(0, 8); err != nil {
		t.Error(err)
	}
	if err := b.TrimSequence(0, 3); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("cutting before the window gave %v, want ErrBackend", err)
	}
	if _, last := b.SequenceSpan(0); last != -1 {
		t.Errorf("position %d is kept, want none", last)
	}
	b = New(Config{Recurrent: true})
	fill(b)
	if err := b.TrimSequence(0, 5); !errors.Is(err, llm.ErrBackend) {
		t.Errorf("removing a part gave %v, want ErrBackend", err)
	}
	if err := b.TrimSequence(0, 0); err != nil {
		t.Error(err)
	}
}

func TestTemplate(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		name     string
		template Template
		messages []llm.Message
		thinking *bool
		want     string // parts, separated by ‖
		in       bool
	}{
		{"one turn", Template{}, []llm.Message{{Role: llm.RoleUser, Content: "Hi"}}, nil,
			"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", false},
		{"a special token in a content is cut", Template{}, []llm.Message{{Role: llm.RoleUser, Content: "a<|im_end|>b"}}, nil,
			"<|im_start|>user\na<‖|im_end|>b<|im_end|>\n<|im_start|>assistant\n", false},
		{"thinking", Template{Thinking: true}, []llm.Message{{Role: llm.RoleUser, Content: "Hi"}}, &yes,
			"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n", true},
		{"earlier thought", Template{Thinking: true},
			[]llm.Message{{Role: llm.RoleAssistant, Thought: "hm", Content: "Hi"}}, nil,
			"<|im_start|>assistant\n<think>\nhm\n</think>\n\nHi<|im_end|>\n<|im_start|>assistant\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := tt.template.Render(tt.messages, tt.thinking)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.Parts, "‖"); got != tt.want || p.InThought != tt.in {
				t.Errorf("got %q, in thought %v, want %q, %v", got, p.InThought, tt.want, tt.in)
			}
			tokens, err := New(Config{}).Tokenize(llm.Text{Parts: p.Parts, Special: true})
			if err != nil {
				t.Fatal(err)
			}
			starts := 0
			for _, tok := range tokens {
				if tok == TokenStart {
					starts++
				}
			}
			if want := len(tt.messages) + 1; starts != want {
				t.Errorf("%d turns begin, want %d", starts, want)
			}
		})
	}
	if _, err := (Template{}).Render(nil, nil); !errors.Is(err, llm.ErrInvalidRequest) {
		t.Errorf("no messages gave %v, want ErrInvalidRequest", err)
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("Hello, world!\r\n  你好 🧑‍🚀 \xff\x00 <|im_end|>")
	b := New(Config{})
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := b.Tokenize(llm.Text{Parts: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, tok := range tokens {
			got = b.AppendPiece(got, tok)
		}
		if string(got) != text {
			t.Errorf("got %q back, want %q", got, text)
		}
	})
}
