package web

import (
	"encoding/json"
	"net/http"
	"time"

	"pichat/llm"
	"pichat/sysmon"
	"pichat/web/openai"
)

// stateJSON is an llm.State as /readyz and /status show it.
type stateJSON struct {
	Phase    llm.Phase `json:"phase"`
	Progress float64   `json:"progress"`
	Note     string    `json:"note,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func stateOf(st llm.State) stateJSON {
	out := stateJSON{Phase: st.Phase, Progress: st.Progress, Note: st.Note}
	if st.Err != nil {
		out.Error = st.Err.Error()
	}
	return out
}

// health says that the process is alive, whatever the model does.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", s.config.Version})
}

// ready answers 200 once the model is loaded, else 503 with how far it is.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) error {
	st := s.hub.state()
	out := struct {
		Ready bool   `json:"ready"`
		Model string `json:"model,omitempty"`
		stateJSON
	}{Ready: st.Phase == llm.PhaseReady, stateJSON: stateOf(st)}
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "2")
	} else {
		out.Model = openai.ModelID(s.config.Service.Info())
	}
	return writeJSON(w, status, out)
}

// statusJSON is the answer of /status. Unknown figures are left out.
type statusJSON struct {
	Version string           `json:"version"`
	Build   Build            `json:"build,omitzero"`
	Host    string           `json:"host,omitempty"`
	At      time.Time        `json:"at"`
	State   stateJSON        `json:"state"`
	Engine  engineJSON       `json:"engine"`
	Model   *openai.ModelDoc `json:"model,omitempty"`
	Pages   int              `json:"pages"` // open websockets
	Vitals  *sysmon.Snapshot `json:"vitals"`
}

type engineJSON struct {
	Running  int    `json:"running"`
	Waiting  int    `json:"waiting"`
	Slots    int    `json:"slots"`
	KVTokens int    `json:"kv_tokens"`
	Steps    uint64 `json:"steps"`
	// ComputeS is the CPU time of the engine's thread inside the model.
	ComputeS float64 `json:"compute_s,omitzero"`
	// PaceTPS is the mean pace of the page's running replies over the last
	// seconds.
	PaceTPS *float64 `json:"pace_tps,omitempty"`
	// Schedule is left out where the engine does not show it.
	Schedule *scheduleJSON `json:"schedule,omitempty"`
	// Threads is left out for a backend whose threads cannot be changed.
	Threads *threadsJSON `json:"threads,omitempty"`
}

// threadsJSON is an llm.ThreadStatus.
type threadsJSON struct {
	Decode      int `json:"decode"`
	Prefill     int `json:"prefill"`
	MostDecode  int `json:"most_decode"` // as configured or measured
	MostPrefill int `json:"most_prefill"`
	// Reasons of the last changes.
	Reason        string `json:"reason,omitempty"`
	PrefillReason string `json:"prefill_reason,omitempty"`
}

func threadsOf(t llm.ThreadStatus) *threadsJSON {
	if t == (llm.ThreadStatus{}) {
		return nil
	}
	out := threadsJSON(t)
	return &out
}

// status shows the whole server as one snapshot.
func (s *Server) status(w http.ResponseWriter, _ *http.Request) error {
	e := s.config.Service.Status()
	out := statusJSON{
		Version: s.config.Version, Build: s.config.Build, Host: s.config.Hostname, At: time.Now(),
		State: stateOf(s.hub.state()),
		Engine: engineJSON{
			Running: e.Running, Waiting: e.Waiting, Slots: e.Slots, KVTokens: e.KVTokens, Steps: e.Steps,
			ComputeS: e.Compute.Seconds(), Threads: threadsOf(e.Threads),
		},
		Pages:  s.hub.pages(),
		Vitals: s.config.Vitals.Latest(),
	}
	if pace, ok := s.replies.Pace(); ok {
		out.Engine.PaceTPS = &pace
	}
	if sch, ok := s.config.Service.Schedule(); ok {
		out.Engine.Schedule = scheduleOf(sch)
	}
	if out.State.Phase == llm.PhaseReady {
		doc := openai.Describe(s.config.Service.Info())
		out.Model = &doc
	}
	return writeJSON(w, http.StatusOK, out)
}

// writeJSON answers with a value; it is encoded before anything is sent, so
// that a failure can still be told.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that is gone needs no answer
	return nil
}
