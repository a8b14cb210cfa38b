package web

import "pichat/llm"

// scheduleJSON is an llm.ScheduleStatus as /status shows it. What is not known
// yet is left out.
type scheduleJSON struct {
	// Decision says why the last request was admitted or has to wait.
	Decision string `json:"decision,omitempty"`
	// Steps is T(B), the time of a step that writes a token for each stream.
	Steps []stepJSON `json:"steps,omitempty"`
	// PrefillTPS is how many prompt tokens/s are evaluated.
	PrefillTPS   float64    `json:"prefill_tps,omitzero"`
	CachedTokens uint64     `json:"cached_tokens"` // of all requests so far
	Slots        []slotJSON `json:"slots"`
}

type stepJSON struct {
	Streams int     `json:"streams"`
	StepS   float64 `json:"step_s"`
	PaceTPS float64 `json:"pace_tps"` // of each stream
	// Gain is the throughput beside that of one stream, B T(1)/T(B).
	Gain     float64 `json:"gain"`
	Measured uint64  `json:"measured"` // steps; 0 is a guess from the other sizes
}

type slotJSON struct {
	State        string `json:"state"` // idle, prefill, decode
	Request      string `json:"request_id,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitzero"`
	CachedTokens int    `json:"cached_tokens,omitzero"`
	Tokens       int    `json:"completion_tokens,omitzero"`
	KVTokens     int    `json:"kv_tokens"`
}

func scheduleOf(s llm.ScheduleStatus) *scheduleJSON {
	out := &scheduleJSON{
		Decision: s.Decision, PrefillTPS: s.Learned.PrefillTokensPerSecond, CachedTokens: s.CachedTokens,
		Slots: make([]slotJSON, 0, len(s.Slots)),
	}
	for _, t := range s.StepTimes {
		seconds, alone := t.Time.Seconds(), s.StepTimes[0].Time.Seconds()
		if seconds <= 0 {
			continue
		}
		out.Steps = append(out.Steps, stepJSON{
			Streams: t.Streams, StepS: seconds, PaceTPS: 1 / seconds, Gain: float64(t.Streams) * alone / seconds, Measured: t.Measured,
		})
	}
	for _, slot := range s.Slots {
		state := "decode"
		switch {
		case slot.Request == "":
			state = "idle"
		case slot.Prefilling:
			state = "prefill"
		}
		out.Slots = append(out.Slots, slotJSON{
			State: state, Request: slot.Request, PromptTokens: slot.PromptTokens, CachedTokens: slot.CachedTokens,
			Tokens: slot.Tokens, KVTokens: slot.Kept,
		})
	}
	return out
}
