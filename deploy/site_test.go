package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/sysmon"
	"pichat/web"
)

// name is what people type: the server_name of nginx.conf.
const name = "chat.example"

// patience is how long a test waits for what has to happen.
const patience = 15 * time.Second

// pi is a whole pichat with a scripted model, on a port of its own. Its name
// is its version, so that a page tells which one it speaks with.
type pi struct {
	name   string
	addr   string
	engine *llm.Engine
	stop   func()
}

// newPi starts a pichat that answers without end at 20 tokens/s.
func newPi(t *testing.T, piName string) *pi {
	t.Helper()
	backend := fakellm.New(fakellm.Config{Slots: 8, Pace: 20, Script: fakellm.Endless("One word after another. ")})
	p := &pi{name: piName, engine: llm.NewEngine(llm.EngineConfig{Backend: backend, Template: fakellm.Template{}, MaxTokens: 2000})}
	service := new(llm.Service)
	service.SetReady(p.engine)
	server, err := web.New(web.Config{
		Service: service, Vitals: sysmon.Fixed(sysmon.Snapshot{At: time.Now()}), Version: piName,
		Hostname: piName, AllowHosts: []string{name}, TrustProxies: []string{"127.0.0.1"}, Grace: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	p.addr = listener.Addr().String()
	serving, stopServing := context.WithCancel(context.Background())
	running, stopEngine := context.WithCancel(context.Background())
	var engine, serve sync.WaitGroup
	engine.Go(func() {
		if err := p.engine.Run(running); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", piName, err)
		}
	})
	serve.Go(func() {
		if err := server.Serve(serving, listener); err != nil {
			t.Errorf("%s: %v", piName, err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		stopServing()
		serve.Wait()
		stopEngine()
		engine.Wait()
	})
	t.Cleanup(p.stop)
	return p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// mainConf is what Debian's nginx.conf has around the file, for a process of
// the test alone. Four workers, as many as a small machine has cores.
const mainConf = `%[2]s
daemon off;
worker_processes 4;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	include %[1]s/pichat.conf;
}
`

var (
	serverLine = regexp.MustCompile(`(?m)^(\s*server )(\S+)( max_fails=1 fail_timeout=10s;)$`)
	listenLine = regexp.MustCompile(`(?m)^\s*listen 80;$`)
)

// startNginx runs nginx with the committed file, its addresses alone replaced,
// and returns the address at which it listens.
func startNginx(t *testing.T, first, second string) string {
	t.Helper()
	nginx := findNginx(t)
	free := listen(t)
	addr := free.Addr().String()
	_ = free.Close()

	conf := readConf(t)
	if n, m := len(serverLine.FindAll(conf, -1)), len(listenLine.FindAll(conf, -1)); n != 2 || m != 1 {
		t.Fatalf("nginx.conf has %d servers and listens in %d places; this test knows how to replace 2 and 1", n, m)
	}
	targets := []string{first, second}
	conf = serverLine.ReplaceAllFunc(conf, func(line []byte) []byte {
		target := targets[0]
		targets = targets[1:]
		return serverLine.ReplaceAll(line, []byte("${1}"+target+"${3}"))
	})
	// With reuseport the kernel deals connections out to all workers.
	conf = listenLine.ReplaceAll(conf, []byte("listen "+addr+" reuseport;"))

	dir := t.TempDir()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // else its workers may not enter the folder
	}
	write(t, filepath.Join(dir, "pichat.conf"), conf)
	write(t, filepath.Join(dir, "nginx.conf"), fmt.Appendf(nil, mainConf, dir, user))
	var said bytes.Buffer
	cmd := exec.Command(nginx, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "error.log"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("nginx: %v\n%s", err, said.Bytes())
		}
		if log, _ := os.ReadFile(filepath.Join(dir, "error.log")); t.Failed() && len(log) > 0 {
			t.Logf("nginx said:\n%s", log)
		}
	})
	until(t, "nginx listens", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx does not take the file: %v\n%s", err, said.Bytes())
		default:
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return addr
}

// findNginx skips the test without nginx; where DEPLOY_TEST is set it fails.
func findNginx(t *testing.T) string {
	t.Helper()
	for _, place := range []string{"nginx", "/usr/sbin/nginx"} {
		if found, err := exec.LookPath(place); err == nil {
			return found
		}
	}
	const missing = "nginx is not here, so deploy/nginx.conf goes untried: apt-get install nginx"
	if os.Getenv("DEPLOY_TEST") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func readConf(t *testing.T) []byte {
	t.Helper()
	conf, err := os.ReadFile("nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition that another process or goroutine brings about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for: %s", patience, what)
		}
	}
}
