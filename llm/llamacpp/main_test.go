package llamacpp

import (
	"os"
	"path/filepath"
	"testing"
)

// Models that the tests load; `make model-test` fetches them.
const (
	smolFile  = "SmolLM2-135M-Instruct.Q4_1.gguf"
	gemmaFile = "gemma-3-270m-q4_k_m.gguf"
)

// modelPath returns the path of a model, and skips the test where it is not there.
func modelPath(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "models", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("models/%s is missing: run make test, which fetches it", name)
	}
	return path
}

// loadModel loads a model with a small context and closes it with the test. It
// computes on one thread unless told otherwise: two that wait for each other by
// spinning take minutes where something else runs on one of their cores.
func loadModel(t testing.TB, name string, config Config) *Model {
	t.Helper()
	config.Path = modelPath(t, name)
	if config.Window == 0 {
		config.Window = 1024
	}
	if config.DecodeThreads == 0 {
		config.DecodeThreads = 1
	}
	m, err := Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
