package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// launch says how a server is started.
type launch struct {
	name    string   // of the side, such as "pichat"
	program string   // its file
	args    []string // but for its address
	address func(host, port string) []string
	ready   string // path that answers 200 once the model is loaded
}

// server is a side that runs. It is also what requests go to.
type server struct {
	name   string
	url    string
	client *http.Client
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
}

const (
	startLimit = 2 * time.Minute
	stopLimit  = 20 * time.Second
)

// start runs a server on a free port until it is ready. Its output goes to a
// file in the folder of logs.
func (s *session) start(ctx context.Context, l launch) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(s.logs, l.name+"-"+port+".log"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := &server{name: l.name, url: "http://127.0.0.1:" + port, client: newClient(), ended: make(chan struct{})}
	out.cmd = exec.Command(l.program, append(l.args, l.address("127.0.0.1", port)...)...)
	out.cmd.Stdout, out.cmd.Stderr = file, file
	if err := out.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", l.name, err)
	}
	untrack := s.track(out.cmd.Process.Pid)
	go func() { defer close(out.ended); defer untrack(); _ = out.cmd.Wait() }()
	if err := out.await(ctx, l.ready); err != nil {
		out.stop()
		return nil, fmt.Errorf("%s %v: %w; its output is in %s", l.name, l.args, err, file.Name())
	}
	return out, nil
}

// newClient is for one server.
func newClient() *http.Client {
	// Each request has a connection of its own: llama-server closes an idle one
	// after some seconds, and a request sent into that ends with EOF.
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// await polls a path until it answers 200.
func (s *server) await(ctx context.Context, path string) error {
	limit := time.After(startLimit)
	for {
		if resp, err := s.client.Get(s.url + path); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ended:
			return errors.New("it ended before it was ready")
		case <-limit:
			return fmt.Errorf("it was not ready within %v", startLimit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the server, and kills it when it does not.
func (s *server) stop() {
	s.client.CloseIdleConnections()
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(stopLimit):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}
