package servebench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"pichat/web/wire"
)

const (
	program      = "../../../bin/pichat"
	model        = "../../../models/SmolLM2-135M-Instruct.Q4_1.gguf"
	question     = "Write a long story about a river and an old mill."
	slots        = 4
	window       = 2048
	answerTokens = 200
)

// server is a running bin/pichat with one compute thread, so that its CPU time
// in the model can be told (engine.compute_s of /status).
type server struct {
	cmd    *exec.Cmd
	addr   string
	listen time.Duration // from its start to the first answer of /healthz
}

func startServer(b *testing.B) *server {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	s := &server{addr: addr, cmd: exec.Command(program, "serve", "--listen", addr, "--model", model, "--no-qr",
		"--threads", "1", "--prefill-threads", "1", "--slots", fmt.Sprint(slots), "--context", fmt.Sprint(window))}
	s.cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		b.Fatalf("%v: run make build", err)
	}
	s.await(b, "/healthz", 10*time.Second)
	s.listen = time.Since(begin)
	s.await(b, "/readyz", time.Minute)
	return s
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// await polls an address until it answers 200.
func (s *server) await(b *testing.B, path string, limit time.Duration) {
	b.Helper()
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		resp, err := http.Get("http://" + s.addr + path)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		<-time.After(2 * time.Millisecond)
	}
	b.Fatalf("%s did not answer within %v", path, limit)
}

// cpuTime is what the whole program has used so far.
func (s *server) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	used, err := cpuTime(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// computed is the CPU time that the compute thread has spent in the model, once
// the engine is idle.
func (s *server) computed(b *testing.B) time.Duration {
	b.Helper()
	for range 1000 {
		resp, err := http.Get("http://" + s.addr + "/status")
		if err != nil {
			b.Fatal(err)
		}
		var status struct {
			Engine struct {
				Running  int     `json:"running"`
				ComputeS float64 `json:"compute_s"`
			} `json:"engine"`
		}
		err = json.NewDecoder(resp.Body).Decode(&status)
		_ = resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		if status.Engine.Running == 0 {
			return time.Duration(status.Engine.ComputeS * float64(time.Second))
		}
	}
	b.Fatal("the engine does not come to rest")
	return 0
}

// page is a client that reads every frame, as a browser does.
type page struct {
	conn  *websocket.Conn
	done  chan wire.Done
	ended chan struct{}
}

func openPage(b *testing.B, s *server) *page {
	b.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+s.addr+"/ws", nil)
	if err != nil {
		b.Fatal(err)
	}
	p := &page{conn: conn, done: make(chan wire.Done, 1), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for {
			_, frame, err := conn.ReadMessage()
			if err != nil {
				return
			}
			var done wire.Done
			if json.Unmarshal(frame, &done) == nil && (done.Type == wire.TypeDone || done.Type == wire.TypeError) {
				p.done <- done
			}
		}
	}()
	p.send(b, wire.FromPage{Type: wire.TypeHello})
	return p
}

func (p *page) close() {
	_ = p.conn.Close()
	<-p.ended
}

func (p *page) send(b *testing.B, frame wire.FromPage) {
	b.Helper()
	if err := p.conn.WriteJSON(frame); err != nil {
		b.Fatal(err)
	}
}

// ask has one answer written and returns its last frame.
func (p *page) ask(b *testing.B, id string) wire.Done {
	b.Helper()
	limit, temperature := answerTokens, 0.0
	p.send(b, wire.FromPage{
		Type: wire.TypeAsk, ID: id,
		Turns:    []wire.Turn{{Role: "user", Content: question}},
		Settings: &wire.Settings{MaxTokens: &limit, Temperature: &temperature},
	})
	select {
	case done := <-p.done:
		if done.Type != wire.TypeDone || done.Error != "" {
			b.Fatalf("the answer failed: %+v", done)
		}
		return done
	case <-time.After(2 * time.Minute):
		b.Fatal("no answer within two minutes")
	}
	return wire.Done{}
}
