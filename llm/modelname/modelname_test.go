package modelname

import (
	"strings"
	"testing"
)

func TestDisplay(t *testing.T) {
	for _, tt := range []struct{ file, own, want string }{
		{"/m/SmolLM2-135M-Instruct.Q4_1.gguf", "Smollm2 135M 8k Lc100K Mix1 Ep2", "SmolLM2 135M Instruct"},
		{"/m/gemma-3-1b-it-Q4_K_M.gguf", "Gemma 3 1b It", "gemma 3 1b it"},
		{"/m/gemma-4-E2B_q4_0-it.gguf", "", "gemma 4 E2B"},
		{"/m/Qwen3.5-0.8B-Q4_K_M.gguf", "x", "Qwen3.5 0.8B"},
		{"/m/Model-1.7B.GGUF", "x", "Model 1.7B"},
		{"https://example.org/a/llama-3.2-1b-Q4_0.gguf?download=true", "x", "llama 3.2 1b"},
		{"model.gguf", "Tiny Talker", "Tiny Talker"},
		{"model.gguf", " \t", "model"},
		{"model.gguf", "two\nlines \x1b[31m\xffred", "two lines [31mred"},
		{"model.gguf", strings.Repeat("x", 300), strings.Repeat("x", 79) + "…"},
	} {
		if got := Display(tt.file, tt.own); got != tt.want {
			t.Errorf("Display(%q, %q) = %q, want %q", tt.file, tt.own, got, tt.want)
		}
	}
}

func TestID(t *testing.T) {
	for _, tt := range []struct{ file, display, want string }{
		{"/m/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2 135M Instruct", "SmolLM2-135M-Instruct.Q4_1"},
		{"odd", "Odd", "odd"},
		{"", "Scripted Demo", "scripted-demo"},
	} {
		if got := ID(tt.file, tt.display); got != tt.want {
			t.Errorf("ID(%q, %q) = %q, want %q", tt.file, tt.display, got, tt.want)
		}
	}
}
