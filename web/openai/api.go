// Package openai serves the part of OpenAI's HTTP API that chat clients use:
// POST /v1/chat/completions, streamed or not, and GET /v1/models.
//
// A parameter that would change the answer and is not served is refused by its
// name, never ignored. Beyond the API, answers carry "timings" with the
// measures of docs/glossary.md, and reasoning comes as "reasoning_content".
// The "model" of a request is not looked at: there is one.
package openai

import (
	"log/slog"
	"net/http"
	"time"

	"pichat/llm"
	"pichat/llm/modelname"
	"pichat/llm/reader"
	"pichat/web/fault"
)

// Service is what the API is served from: an llm.Service.
type Service interface {
	llm.Generator
	State() llm.State
}

// Config configures an API. Service is needed; zero values of the rest mean
// the defaults named.
type Config struct {
	Service Service
	// MaxBodyBytes bounds a request's body; 4 MiB.
	MaxBodyBytes int64
	// TargetTPS is the pace that reader_wait_s is for; reader.Target.
	TargetTPS float64
	// Ping is the time between two comments in a stream that has nothing to
	// say; 15 s.
	Ping time.Duration
	// WriteTimeout is how long one piece of a stream may take to leave; 20 s,
	// less than the engine waits for a reader.
	WriteTimeout time.Duration
	// CheckOrigin refuses a request that another site's page caused; nil
	// refuses none.
	CheckOrigin func(*http.Request) error
	// Logger gets what clients are not told; nil discards it.
	Logger *slog.Logger
}

// API answers requests. Its handlers return errors that they have not
// answered; WriteError answers them in the API's form. They may be called from
// any goroutine.
type API struct{ config Config }

// New returns an API. It starts nothing.
func New(c Config) *API {
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 4 << 20
	}
	if c.TargetTPS == 0 {
		c.TargetTPS = reader.Target
	}
	if c.Ping == 0 {
		c.Ping = 15 * time.Second
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 20 * time.Second
	}
	if c.CheckOrigin == nil {
		c.CheckOrigin = func(*http.Request) error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &API{config: c}
}

// ModelDoc describes the served model, as in GET /v1/models.
type ModelDoc struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// ContextWindow is how many tokens one request may have, prompt and answer
	// together: the window of one slot, not the sum over the slots.
	ContextWindow int       `json:"context_window"`
	Meta          ModelMeta `json:"meta"`
}

// ModelMeta tells more of a model; unknown values are left out.
type ModelMeta struct {
	Name         string `json:"name"`
	Architecture string `json:"architecture,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	Parameters   uint64 `json:"parameters,omitempty"`
	FileBytes    uint64 `json:"file_bytes,omitempty"`
	KVBytes      uint64 `json:"kv_bytes,omitempty"`
	VocabSize    int    `json:"vocab_size,omitempty"`
	TrainWindow  int    `json:"train_window,omitempty"`
	Slots        int    `json:"slots"`
	// KVTokens is what all slots hold together: slots x context_window.
	KVTokens int  `json:"kv_tokens"`
	Scripted bool `json:"scripted,omitempty"`
}

// Describe puts a model into the API's form.
func Describe(info llm.ModelInfo) ModelDoc {
	return ModelDoc{
		ID: ModelID(info), Object: "model", OwnedBy: "pichat", ContextWindow: info.Window,
		Meta: ModelMeta{
			Name: info.Name, Architecture: info.Architecture, Quantization: info.Quantization,
			Parameters: info.Parameters, FileBytes: info.FileBytes, KVBytes: info.KVBytes,
			VocabSize: info.VocabSize, TrainWindow: info.TrainWindow,
			Slots: info.Slots, KVTokens: info.Slots * info.Window, Scripted: info.Scripted,
		},
	}
}

// ModelID is the name that clients know a model by, as package modelname has it.
func ModelID(info llm.ModelInfo) string { return modelname.ID(info.File, info.Name) }

// Models answers GET /v1/models with the one model, or with why there is none
// yet.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) error {
	doc, err := a.model()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct {
		Object string     `json:"object"`
		Data   []ModelDoc `json:"data"`
	}{"list", []ModelDoc{doc}})
}

// Model answers GET /v1/models/{id}.
func (a *API) Model(w http.ResponseWriter, r *http.Request) error {
	doc, err := a.model()
	if err != nil {
		return err
	}
	if id := r.PathValue("id"); id != doc.ID {
		return fault.Newf(http.StatusNotFound, fault.CodeNotFound, "there is no model %.100q here, only %q", id, doc.ID)
	}
	return writeJSON(w, http.StatusOK, doc)
}

func (a *API) model() (ModelDoc, error) {
	st := a.config.Service.State()
	switch st.Phase {
	case llm.PhaseReady:
		return Describe(a.config.Service.Info()), nil
	case llm.PhaseFailed:
		return ModelDoc{}, fault.Newf(http.StatusServiceUnavailable, fault.CodeUnavailable, "no model available: %v", st.Err)
	case llm.PhaseStopping:
		return ModelDoc{}, llm.ErrClosed
	}
	return ModelDoc{}, fmtLoading(st)
}
