package sim

import (
	"embed"
	"encoding/json"
	"fmt"
)

// Curve is what a machine does with a model: its step times and prefill speed.
type Curve struct {
	Name    string `json:"-"` // short, for tables
	Machine string `json:"machine"`
	Model   string `json:"model"`
	Date    string `json:"date"`   // of the measurement, or of the published figures
	Source  string `json:"source"` // how it was measured, or what it was derived from
	Derived bool   `json:"derived,omitempty"`
	// StepSeconds are T(1), T(2), …: a token for each stream, sampling
	// included.
	StepSeconds []float64 `json:"step_seconds"`
	// PrefillTokensPerSecond is for prompts that are read alone.
	PrefillTokensPerSecond float64 `json:"prefill_tokens_per_second"`
	// SharedPrefillTokensPerSecond is for chunks beside running streams, over
	// the time that they add to the step.
	SharedPrefillTokensPerSecond float64 `json:"shared_prefill_tokens_per_second"`
}

// Slots is how many streams the curve goes to.
func (c Curve) Slots() int { return len(c.StepSeconds) }

// Gain is g(B) = B T(1)/T(B).
func (c Curve) Gain(streams int) float64 {
	return float64(streams) * c.StepSeconds[0] / c.StepSeconds[streams-1]
}

//go:embed testdata/*.json
var measured embed.FS

// Curves returns the measured and the derived curves, measured first.
func Curves() ([]Curve, error) {
	var curves []Curve
	for _, m := range []struct{ name, file string }{
		{"server, 135M", "server-smollm2.json"},
	} {
		text, err := measured.ReadFile("testdata/" + m.file)
		if err != nil {
			return nil, err
		}
		c := Curve{Name: m.name}
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", m.file, err)
		}
		curves = append(curves, c)
	}
	return append(curves, derived(curves[0])...), nil
}
