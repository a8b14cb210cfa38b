package web

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// writeTimeout is how long an answer that is not a stream may take to leave.
// Streams and sockets set deadlines of their own for each write.
const writeTimeout = 60 * time.Second

// middleware wraps the routes: request id and log, recovery from panics, the
// host check, and headers that hold the browser to this server.
func (s *Server) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		id := newRequestID()
		r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
		rec := &recorder{ResponseWriter: w}
		secure(rec.Header())
		rec.Header().Set("X-Request-Id", id)
		_ = http.NewResponseController(w).SetWriteDeadline(begin.Add(writeTimeout))
		defer s.logRequest(rec, r, begin)
		defer s.recoverPanic(rec, r)
		if err := s.hosts.CheckHost(r); err != nil {
			s.fail(rec, r, err)
			return
		}
		next.ServeHTTP(rec, r)
	})
}

// contentPolicy lets the page load and connect to this server only. Inline
// styles and scripts do not work under it.
const contentPolicy = "default-src 'self'; connect-src 'self'; img-src 'self' data:; object-src 'none'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
}

func (s *Server) logRequest(rec *recorder, r *http.Request, begin time.Time) {
	level := slog.LevelDebug
	if rec.status >= 400 && r.URL.Path != "/readyz" { // "not yet" is an answer there, and is asked for often
		level = slog.LevelInfo
	}
	s.config.Logger.Log(r.Context(), level, "request",
		"request_id", requestID(r), "method", r.Method, "path", r.URL.Path,
		"status", rec.status, "bytes", rec.bytes, "remote", r.RemoteAddr,
		"duration", time.Since(begin).Round(time.Microsecond))
}

func (s *Server) recoverPanic(rec *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // net/http's own way to drop a connection
	}
	s.config.Logger.Error("panic", "request_id", requestID(r), "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	if rec.status == 0 {
		s.fail(rec, r, fmt.Errorf("panic: %v", v))
		return
	}
	panic(http.ErrAbortHandler) // the answer has begun: a broken one must not look whole
}

type requestIDKey struct{}

// requestID is the id that the log knows a request by.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// recorder remembers how a request was answered. It passes flushing,
// hijacking and deadlines through.
type recorder struct {
	http.ResponseWriter
	status int // 0 before the header is written
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *recorder) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Hijack implements http.Hijacker, which the websocket library asks for.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
