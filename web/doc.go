// Package web serves the chat page, its websocket and the API.
//
// [New] puts a [Server] together, [Server.Serve] runs it on a listener until
// its context ends. Routes: the page at /, its files under /static/, its
// socket at /ws (frames: package wire), the OpenAI-compatible API under /v1/
// (package openai), and /healthz, /readyz and /status, which only read
// snapshots and so answer at once whatever the engine is doing.
//
// Handlers return errors; [Server.fail] is the one place that turns them into
// an answer, by the map of package fault. Every request must name a host that
// this machine has (package guard).
//
// The work is done in small packages beside this one: replies keeps answers
// apart from their sockets, socket runs a connection, markdown renders what
// the model writes. This one wires them and fills the flat models of package
// views (render.go, board.go).
package web
