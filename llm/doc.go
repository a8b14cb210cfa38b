// Package llm turns requests into streams of text on one loaded model.
//
// It declares what a model backend must do ([Backend]), what a server may ask
// ([Generator], [Request]) and what it gets ([Stream], [Event], [Timings]),
// and it holds the [Engine] between the two: one goroutine that owns the
// backend's context and steps all slots together. The words are those of
// docs/glossary.md; in short: prefill reads the prompt, decode writes one
// token after another, a slot is a serving place with its own context window.
//
// The package knows neither C, nor HTTP, nor a chat template's language:
// adapters live in llamacpp, fakellm and chattmpl.
package llm
