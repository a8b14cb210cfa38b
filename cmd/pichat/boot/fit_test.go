package boot

import (
	"errors"
	"strings"
	"testing"

	"pichat/llm/gguf"
)

// small is a model of 100 MB whose KV takes 40 kB a token.
func small() *gguf.Info {
	heads := make([]int, 10)
	for i := range heads {
		heads[i] = 8
	}
	return &gguf.Info{
		Architecture: "llama", SizeBytes: 100e6, WeightsBytes: 100e6,
		ContextTrain: 8192, VocabSize: 1000, EmbeddingLength: 1024,
		Layers: 10, HeadsKV: heads, KeyLength: 128, ValueLength: 128,
	}
}

func TestFit(t *testing.T) {
	const mb, gb = 1e6, 1e9
	tests := []struct {
		name    string
		train   int
		wish    Wish
		machine Memory
		slots   int
		window  int
		warns   string // part of the only warning; "" for none
		err     error
	}{
		{"room enough", 8192, Wish{}, Memory{8 * gb, 7 * gb}, 4, 4096, "", nil},
		{"memory unknown", 8192, Wish{}, Memory{}, 4, 4096, "", nil},
		{"trained for less", 2048, Wish{}, Memory{8 * gb, 7 * gb}, 4, 2048, "", nil},
		{"asked for", 8192, Wish{2, 8192}, Memory{8 * gb, 7 * gb}, 2, 8192, "", nil},
		{"more than it was trained for", 8192, Wish{1, 9000}, Memory{8 * gb, 7 * gb}, 1, 9000, "larger than the 8192", nil},
		{"window goes down when slots are set", 8192, Wish{Slots: 4}, Memory{1 * gb, 700 * mb}, 4, 2048, "", nil},
		{"asked for more than is free", 8192, Wish{1, 8192}, Memory{2 * gb, 400 * mb}, 1, 8192, "slow", nil},
		{"larger than free memory, nothing left to reduce", 8192, Wish{}, Memory{1 * gb, 50 * mb}, 1, 1024, "are free", nil},
		{"a context that may not fit", 8192, Wish{4, 8192}, Memory{2 * gb, 600 * mb}, 4, 8192, "may have to end the program", nil},
		{"cannot work", 8192, Wish{64, 8192}, Memory{8 * gb, 7 * gb}, 64, 8192, "", ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := small()
			model.ContextTrain = tt.train
			p, err := Fit(model, tt.wish, tt.machine)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if p.Slots != tt.slots || p.Window != tt.window {
				t.Errorf("got %d x %d, want %d x %d (needs %+v)", p.Slots, p.Window, tt.slots, tt.window, p.Need)
			}
			if got := strings.Join(p.Warnings, "; "); tt.warns == "" != (got == "") || !strings.Contains(got, tt.warns) {
				t.Errorf("got warnings %q, want %q", got, tt.warns)
			}
		})
	}
}

func TestFitGivesUpSlotsBeforeWindow(t *testing.T) {
	p, err := Fit(small(), Wish{}, Memory{Total: 1e9, Available: 700e6})
	if err != nil || p.Slots >= defaultSlots || p.Window != defaultWindow || len(p.Warnings) > 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestTooLargeNamesBothNumbers(t *testing.T) {
	_, err := Fit(small(), Wish{64, 8192}, Memory{Total: 8e9, Available: 7e9})
	if err == nil || !strings.Contains(err.Error(), "64 slots x 8192 tokens") || !strings.Contains(err.Error(), "8.0 GB") {
		t.Errorf("got %v", err)
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1500: "2 kB", 98362432: "98.4 MB", 2.5e9: "2.5 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "unknown", 134515008: "135 M", 1.24e9: "1.2 B"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
}
