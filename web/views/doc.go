// Package views renders the chat page and its fragments with templ.
//
// Components take flat models (model.go, board.go, verdict.go) that the server
// fills from its own types; nothing here calls a service, keeps state or reads
// a clock. Rendering is pure and may be done from any goroutine.
//
// The markup carries no inline style and no inline script, so that the page
// works under the content security policy default-src 'self'. Every string of
// a model is escaped; none is HTML.
//
// Fragments over the socket: Header and StateNotices belong into wire.State,
// Board, Line and BoardNotices into wire.Vitals, Verdict into wire.Done.
package views

//go:generate go tool templ generate
