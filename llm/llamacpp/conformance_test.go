package llamacpp

import (
	"testing"

	"pichat/llm"
	"pichat/llm/backendtest"
)

func TestConformance(t *testing.T) {
	for _, name := range []string{smolFile, gemmaFile} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) llm.Backend {
				return loadModel(t, name, Config{Slots: 3, Window: 300, BatchTokens: 128})
			})
		})
	}
}
