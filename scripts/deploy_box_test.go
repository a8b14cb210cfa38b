package scripts_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// box is a target of deployments: a scratch root behind an sshd of its own on
// loopback, with stand-ins on its PATH for what only a real machine has.
type box struct {
	root string
	port string // of pichat
	dirs string // its PATH, with stand-ins ahead
	env  string // more of its environment, as NAME=value, with a space before each
	ssh  string // the SSH client and its options
	sshd int    // its pid
	// login is who logs in, where it is not the one who runs the test; dir holds
	// what is known of it, and the stand-ins.
	login, dir string
}

// units are what the deployed clone ships; tests change them.
const (
	shippedService = "[Service]\nExecStart=/opt/pichat/current/pichat serve\n"
	shippedSocket  = "[Socket]\nListenStream=80\n"
	shippedEnv     = "PICHAT_MODEL=/srv/pichat/models/default.gguf\n#PICHAT_SLOTS=2\n"
)

// newBox starts a target below root, a board with 8 GB unless the test changes
// it. env is added to the environment of those who log in.
func newBox(t *testing.T, root string, env ...string) *box {
	t.Helper()
	b := &box{root: root}
	for _, e := range env {
		b.env += " " + e
	}
	b.start(t)
	return b
}

// start lays out the board and begins to serve SSH.
func (b *box) start(t *testing.T) {
	t.Helper()
	if b.port == "" {
		b.port = freePort(t)
	}
	if b.dirs == "" {
		b.dirs = b.standIns(t) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "bin/sh", string(shell[:64]))
	b.write(t, "proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\x00")
	b.write(t, "proc/meminfo", "MemTotal:        8255000 kB\n")
	b.write(t, "run/systemd/system/x", "")
	b.write(t, "srv/pichat/models/default.gguf", "GGUF")
	b.write(t, "journal", "")
	b.serveSSH(t)
	t.Cleanup(b.kill)
}

// serveSSH starts the sshd, with keys made for it alone.
func (b *box) serveSSH(t *testing.T) {
	t.Helper()
	dir, port := openDir(t), freePort(t)
	for _, key := range []string{"host", "user", "stranger"} {
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	write(t, filepath.Join(dir, "sshd_config"), fmt.Sprintf(`ListenAddress 127.0.0.1:%[1]s
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/user.pub
StrictModes no
UsePAM no
PasswordAuthentication %[3]s
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
SetEnv DEPLOY_ROOT=%[4]s HOME=%[4]s PATH=%[5]s%[6]s
`, port, dir, map[bool]string{false: "no", true: "yes"}[b.login != ""], b.root, b.dirs, b.env))
	user := ""
	if b.login != "" {
		user = "  User " + b.login + "\n"
	}
	common := user + fmt.Sprintf("  HostName 127.0.0.1\n  Port %s\n  IdentityFile %s/user\n", port, dir)
	write(t, filepath.Join(dir, "ssh_config"), fmt.Sprintf(`Host box
%[1]s
Host typed
%[1]s  PubkeyAuthentication no
  NumberOfPasswordPrompts 1
Host stranger
  HostName 127.0.0.1
  Port %[2]s
  IdentityFile %[3]s/stranger
Host unmet
  HostName 127.0.0.1
  Port %[2]s
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking yes
Host closed
  HostName 127.0.0.1
  Port %[4]s
Host nowhere
  HostName no-such-host.invalid
Host *
  IdentitiesOnly yes
  IdentityAgent none
  GlobalKnownHostsFile /dev/null
  UserKnownHostsFile %[3]s/known_hosts
`, common, port, dir, freePort(t)))
	write(t, filepath.Join(dir, "known_hosts"), fmt.Sprintf("[127.0.0.1]:%s %s", port, read(t, filepath.Join(dir, "host.pub"))))
	for _, secret := range []string{"host", "user", "stranger", "known_hosts"} {
		if err := os.Chmod(filepath.Join(dir, secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sshd := b.daemon(filepath.Join(dir, "sshd_config"))
	log, err := os.Create(filepath.Join(dir, "sshd.log"))
	if err != nil {
		t.Fatal(err)
	}
	sshd.Stderr = log
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	b.sshd = sshd.Process.Pid
	t.Cleanup(func() {
		_ = sshd.Process.Kill()
		_ = sshd.Wait()
		if t.Failed() {
			t.Logf("sshd says:\n%s", read(t, log.Name()))
		}
		_ = log.Close()
	})
	b.ssh = "ssh -F " + filepath.Join(dir, "ssh_config")
	await(t, "sshd answers", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// standIns is the folder of what only a real machine has.
func (b *box) standIns(t *testing.T) string {
	t.Helper()
	if b.login != "" {
		return filepath.Join(b.dir, "bin")
	}
	bin, err := filepath.Abs("testdata/deploy/bin")
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// openDir makes a folder that another login can look into.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *box) path(name string) string { return filepath.Join(b.root, name) }

func (b *box) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, b.path(name), text)
}

// kill ends the deployed program.
func (b *box) kill() {
	if pid := b.pid(); pid > 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// pid is the deployed program's, by the stand-in for systemd.
func (b *box) pid() int {
	text, _ := os.ReadFile(b.path("run/main.pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// serves checks which version answers on the box.
func (b *box) serves(t *testing.T, version string) {
	t.Helper()
	resp, err := http.Get("http://127.0.0.1:" + b.port + "/healthz")
	if err != nil {
		t.Fatalf("nothing serves, want %s: %v", version, err)
	}
	defer resp.Body.Close()
	var health struct{ Version string }
	if err := json.NewDecoder(resp.Body).Decode(&health); err != nil || health.Version != version {
		t.Fatalf("%q serves (%v), want %s", health.Version, err, version)
	}
}

// releases lists what is under /opt/pichat/releases.
func (b *box) releases(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(b.path("opt/pichat/releases"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 10 s for: " + what)
		}
	}
}

// freePort returns a port of loopback that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// run runs a command that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
