package fakellm_test

import (
	"testing"

	"pichat/llm"
	"pichat/llm/backendtest"
	"pichat/llm/fakellm"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) llm.Backend {
		b := fakellm.New(fakellm.Config{Slots: 3, Window: 600, BatchTokens: 128, Pace: 2000, PrefillSpeed: 2000})
		t.Cleanup(func() { b.Close() })
		return b
	})
}
