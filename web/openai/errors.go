package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"pichat/llm"
	"pichat/web/fault"
)

// errorDoc is the API's form of an error.
type errorDoc struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func docOf(f *fault.Fault) errorDoc {
	body := errorBody{Message: f.Message, Type: "invalid_request_error", Code: &f.Code}
	if f.Status >= 500 {
		body.Type = "server_error"
	}
	if f.Code == fault.CodeContextFull {
		code := "context_length_exceeded" // what clients look for
		body.Code = &code
	}
	if f.Param != "" {
		body.Param = &f.Param
	}
	return errorDoc{body}
}

// WriteError answers with a fault in the API's form.
func WriteError(w http.ResponseWriter, f *fault.Fault) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
	}
	_ = writeJSON(w, f.Status, docOf(f)) // strings and pointers to them always encode
}

func fmtLoading(st llm.State) error {
	return fmt.Errorf("%w (%.0f %%): try again in a moment", llm.ErrLoading, 100*st.Progress)
}

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
