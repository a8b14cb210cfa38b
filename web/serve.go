package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"pichat/llm"
)

// Limits of the HTTP server. There is no limit on writing an answer as a
// whole: a reply may stream for minutes. Each write has its own deadline.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Serve answers on ln until ctx ends, then stops: it tells the pages, cancels
// the running replies, closes the sockets and waits for all of it, at most
// Config.Shutdown. It closes ln. The error is nil after a stop in time.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	srv := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	var running sync.WaitGroup
	running.Go(func() { s.hub.run(base) })
	failed := make(chan error, 1)
	running.Go(func() { failed <- srv.Serve(ln) })

	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	deadline, done := context.WithTimeout(context.WithoutCancel(ctx), s.config.Shutdown)
	defer done()
	err = errors.Join(err, s.stop(deadline, srv, cancel))
	running.Wait()
	return err
}

// stop ends everything that runs, in an order in which clients still hear of
// it: pages get the state, each reply its Done, sockets their close.
func (s *Server) stop(ctx context.Context, srv *http.Server, cancel context.CancelCauseFunc) error {
	s.hub.stop()
	// Shutdown closes the listener at once and then waits for requests;
	// websockets it does not know of.
	closed := make(chan error, 1)
	go func() { closed <- srv.Shutdown(ctx) }()
	err := s.replies.Close(ctx)
	cancel(llm.ErrClosed) // ends API requests and the hub
	s.hub.close(websocket.CloseGoingAway, "the server is stopping")
	gone := make(chan struct{})
	go func() { s.sockets.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
		err = errors.Join(err, errors.New("websockets still open"))
	}
	if e := <-closed; e != nil {
		err = errors.Join(err, fmt.Errorf("requests still running: %w", e))
		_ = srv.Close()
	}
	return err
}
