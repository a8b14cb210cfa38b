package gguf

import (
	"fmt"
	"strings"
)

//go:generate go test -run TestArchitectureListIsCurrent -update

// traits of an architecture, as llama.cpp has them.
type traits uint8

const (
	recurrent  traits = 1 << iota // state instead of KV memory
	hybrid                        // state beside KV memory
	diffusion                     // does not write token after token
	memoryless                    // llama.cpp gives it no KV memory
)

// unusable are the architectures that llama.cpp loads and that cannot chat,
// beside those that the list marks.
var unusable = map[string]string{
	"clip":             "it is the vision or audio part of a model (mmproj), not a model: choose the model's own file",
	"t5":               "it translates a whole text at once (encoder and decoder) and cannot chat: choose a chat model",
	"t5encoder":        "it is an embedding model, which turns text into vectors and cannot write: choose a chat model",
	"llama-embed":      "it is an embedding model, which turns text into vectors and cannot write: choose a chat model",
	"wavtokenizer-dec": "it makes sound, not text: choose a chat model",
	"qwen3tts":         "it makes sound, not text: choose a chat model",
	"pockettts":        "it makes sound, not text: choose a chat model",
	"gemma4-assistant": "it is a draft part for another model and cannot chat on its own: choose the model's own file",
	"eagle3":           "it is a draft part for another model and cannot chat on its own: choose the model's own file",
	"dflash":           "it is a draft part for another model and cannot chat on its own: choose the model's own file",
}

// checkArchitecture refuses what this llama.cpp does not know and what cannot
// chat.
func checkArchitecture(name string) (traits, error) {
	if name == "" {
		return 0, fmt.Errorf("it names no architecture (general.architecture): it is no model for llama.cpp; choose another file")
	}
	t, known := architectures[name]
	if !known {
		return 0, fmt.Errorf("llama.cpp %s does not know the architecture %q; choose another model, or a newer pichat", archVersion, shorten(name))
	}
	if reason, bad := unusable[name]; bad {
		return 0, fmt.Errorf("architecture %q: %s", name, reason)
	}
	switch {
	case t&diffusion != 0:
		return 0, fmt.Errorf("architecture %q: it is a diffusion model, which does not write token after token; choose a chat model", name)
	case t&memoryless != 0:
		return 0, fmt.Errorf("architecture %q: it is an embedding model, which turns text into vectors and cannot write; choose a chat model", name)
	}
	return t, nil
}

// shorten cuts a text from the file for use in an error.
func shorten(s string) string {
	if r := []rune(strings.ToValidUTF8(s, "\uFFFD")); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
