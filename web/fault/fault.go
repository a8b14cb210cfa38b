// Package fault maps errors to what people and programs are told about them.
//
// Handlers return errors; [Of] is the one place that decides on a status, a
// code and a sentence. What it does not know becomes a plain 500 whose details
// go to the log only.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pichat/llm"
)

// Codes of the page's error frames and, but for those that OpenAI's clients
// know under another name, of the API's error objects.
const (
	CodeInvalid       = "invalid_request"
	CodeBadFrame      = "bad_frame"
	CodeTooLarge      = "too_large"
	CodeContextFull   = "context_full"
	CodeQueueFull     = "queue_full"
	CodeLoading       = "loading"
	CodeUnavailable   = "unavailable"
	CodeStopping      = "stopping"
	CodeSlowReader    = "slow_reader"
	CodeNotFound      = "not_found"
	CodeMethod        = "method_not_allowed"
	CodeHostRefused   = "host_not_allowed"
	CodeOriginRefused = "origin_not_allowed"
	CodeGone          = "client_gone"
	CodeInternal      = "internal"
)

// statusClientGone is the customary status in logs for a client that went
// away before its answer; nobody receives it.
const statusClientGone = 499

// Fault is an error that may be told to whoever asked. Make one with New or
// Newf. It is immutable once returned.
type Fault struct {
	Status  int    // HTTP status
	Code    string // one of the Code constants
	Param   string // the field at fault; "" when none is
	Message string // what is wrong, the value, and what to do
	// RetryAfter is how long to wait before the same request may succeed; 0
	// when it will not by itself.
	RetryAfter time.Duration
	// Hidden is set when Message says less than the error did, so that the
	// error itself has to be logged.
	Hidden bool
}

func (f *Fault) Error() string { return f.Message }

// Invalid is a 400 about a field of the request.
func Invalid(param, format string, args ...any) *Fault {
	return &Fault{
		Status: http.StatusBadRequest, Code: CodeInvalid,
		Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// Newf is a fault about no field in particular.
func Newf(status int, code, format string, args ...any) *Fault {
	return &Fault{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// rule maps one sentinel.
type rule struct {
	is     error
	status int
	code   string
	retry  time.Duration
	// text replaces the error's own words, which then go to the log.
	text string
}

var rules = []rule{
	{is: llm.ErrContextFull, status: http.StatusBadRequest, code: CodeContextFull},
	{is: llm.ErrInvalidRequest, status: http.StatusBadRequest, code: CodeInvalid},
	{is: llm.ErrQueueFull, status: http.StatusServiceUnavailable, code: CodeQueueFull, retry: 5 * time.Second},
	{is: llm.ErrLoading, status: http.StatusServiceUnavailable, code: CodeLoading, retry: 2 * time.Second},
	{is: llm.ErrUnavailable, status: http.StatusServiceUnavailable, code: CodeUnavailable},
	{is: llm.ErrClosed, status: http.StatusServiceUnavailable, code: CodeStopping, retry: 5 * time.Second,
		text: "the server is shutting down: try again in a moment"},
	{is: llm.ErrSlowReader, status: http.StatusRequestTimeout, code: CodeSlowReader},
	{is: llm.ErrBackend, status: http.StatusInternalServerError, code: CodeInternal,
		text: "the model failed while it worked on this: the server's log says how. Try again"},
	{is: context.Canceled, status: statusClientGone, code: CodeGone, text: "the client went away"},
}

// Of says what to tell about err, which must not be nil. The result is the
// caller's to read only.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return Newf(http.StatusRequestEntityTooLarge, CodeTooLarge,
			"the request's body is larger than %d bytes, the limit here: shorten it", tooLarge.Limit)
	}
	if full := (*llm.QueueError)(nil); errors.As(err, &full) {
		f := Newf(http.StatusServiceUnavailable, CodeQueueFull, "%s", sentence(err))
		if full.OfClient {
			f.Status = http.StatusTooManyRequests
		}
		f.RetryAfter = full.RetryAfter
		return f
	}
	for _, r := range rules {
		if !errors.Is(err, r.is) {
			continue
		}
		f := &Fault{Status: r.status, Code: r.code, RetryAfter: r.retry, Message: sentence(err)}
		if r.text != "" {
			f.Message, f.Hidden = r.text, true
		}
		return f
	}
	return &Fault{
		Status: http.StatusInternalServerError, Code: CodeInternal, Hidden: true,
		Message: "something went wrong on the server: its log says what",
	}
}

// sentence drops the sentinel's words where the error goes on to say what is
// wrong.
func sentence(err error) string {
	return strings.TrimPrefix(err.Error(), llm.ErrInvalidRequest.Error()+": ")
}
