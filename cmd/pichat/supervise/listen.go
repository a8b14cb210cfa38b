package supervise

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listener takes over the socket that systemd listens on, such as port 80 for
// a program that may not listen there itself. It is nil, without an error,
// where there is none. It may be called once in a process: the socket is the
// caller's then, and child processes do not get it.
func Listener() (net.Listener, error) {
	listeners, err := activation.Listeners()
	if err != nil || len(listeners) == 0 {
		return nil, err
	}
	if len(listeners) > 1 {
		closeAll(listeners)
		return nil, fmt.Errorf("systemd hands over %d sockets, and the page is served on one: keep a single ListenStream= in pichat.socket", len(listeners))
	}
	if l, ok := listeners[0].(*net.TCPListener); ok {
		return l, nil
	}
	closeAll(listeners)
	return nil, errors.New("the socket that systemd hands over is none of TCP: ListenStream= in pichat.socket has to be a port, such as 80")
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}
