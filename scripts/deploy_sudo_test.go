package scripts_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sudoer logs in to a box whose real sudo asks for this password.
const (
	sudoer       = "pichat-test"
	sudoPassword = "Opensesame-1"
)

// namespace gives the sshd accounts and rights of its own, on this machine and
// yet out of its sight: files bound over those of /etc where only it looks.
const namespace = `set -e
for name in passwd shadow sudoers; do mount --bind "$1/$name" "/etc/$name"; done
mkdir -p /var/lib/sudo /run/sudo
mount -t tmpfs none /var/lib/sudo
mount -t tmpfs none /run/sudo
exec /usr/sbin/sshd -D -e -f "$2"`

// sshd is the command that serves the box's logins.
func (b *box) daemon(config string) *exec.Cmd {
	if b.login == "" {
		return exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", config)
	}
	return exec.Command("unshare", "--mount", "--propagation", "private", "bash", "-c", namespace, "bash", b.dir, config)
}

// newSudoBox starts a target where a login with a password may become root.
func newSudoBox(t *testing.T) *box {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a login of its own takes root")
	}
	for _, need := range []string{"sudo", "script", "unshare", "openssl"} {
		if _, err := exec.LookPath(need); err != nil {
			if os.Getenv("DEPLOY_TEST") != "" {
				t.Fatalf("%s is not here: apt-get install sudo bsdutils util-linux openssl", need)
			}
			t.Skipf("%s is not here", need)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("no mount can be made for one process here: %s", out)
	}
	b := &box{root: openDir(t), login: sudoer, dir: openDir(t)}
	stand, _ := filepath.Glob("testdata/deploy/bin/*")
	for _, name := range stand {
		if base := filepath.Base(name); base != "sudo" && base != "id" {
			write(t, filepath.Join(b.dir, "bin", base), read(t, name))
		}
	}
	hash := strings.TrimSpace(run(t, "openssl", "passwd", "-6", sudoPassword))
	b.account(t, "passwd", read(t, "/etc/passwd")+fmt.Sprintf("%s:x:64001:65534::%s:/bin/bash\n", sudoer, b.root), 0o644)
	b.account(t, "shadow", "root:*:19000:0:99999:7:::\n"+sudoer+":"+hash+":19000:0:99999:7:::\n", 0o600)
	b.mayUseSudo(t, sudoer)
	b.start(t)
	return b
}

// mayUseSudo makes the settings of sudo: those of Debian, but for what the
// scratch root needs to be found as root too.
func (b *box) mayUseSudo(t *testing.T, who string) {
	t.Helper()
	b.account(t, "sudoers", fmt.Sprintf(`Defaults env_reset, use_pty
Defaults env_keep += "DEPLOY_ROOT"
Defaults secure_path="%s/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root ALL=(ALL:ALL) ALL
%s ALL=(ALL:ALL) ALL
`, b.dir, who), 0o440)
}

func (b *box) account(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	write(t, filepath.Join(b.dir, name), text)
	if err := os.Chmod(filepath.Join(b.dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

// Where a terminal asks for a password.
const (
	sudoAsks  = "sudo password on "
	loginAsks = "'s password: "
)

// typing runs a deployment in a terminal, and types a password where it is
// asked for, each time the same one.
func (b *box) typing(t *testing.T, clone, host string, passwords map[string]string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deploy := b.deploy(clone, nil, host)
	cmd := exec.CommandContext(ctx, "script", "-qec", deploy.Path+" "+host, "/dev/null")
	cmd.Env = deploy.Env
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	buf, typed := make([]byte, 4096), map[string]int{}
	for err == nil {
		var n int
		n, err = screen.Read(buf)
		got.Write(buf[:n])
		for prompt, password := range passwords {
			if strings.Count(got.String(), prompt) > typed[prompt] {
				typed[prompt]++
				_, _ = io.WriteString(keys, password+"\n")
			}
		}
	}
	_ = keys.Close()
	err = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("it hangs:\n%s", &got)
	}
	for _, password := range passwords {
		if password != "" && strings.Contains(got.String(), password) {
			t.Errorf("the password is on the screen:\n%s", &got)
		}
	}
	return got.String(), err
}

// refused runs a deployment with passwords of which one must be refused.
func (b *box) refused(t *testing.T, clone, host string, passwords map[string]string, words ...string) {
	t.Helper()
	got, err := b.typing(t, clone, host, passwords)
	if err == nil {
		t.Fatalf("it succeeded:\n%s", got)
	}
	wantText(t, got, words...)
}

func testSudoPassword(t *testing.T, d *deployer) {
	b, clone := newSudoBox(t), d.version(t, "1")
	right, wrong := map[string]string{sudoAsks: sudoPassword}, map[string]string{sudoAsks: "Opensesame-2"}
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "sudo asks for a password", "no terminal")
	b.refused(t, clone, "box", wrong, "sudo there does not take this password", "Nothing was changed", "incorrect password")
	b.refused(t, clone, "box", map[string]string{sudoAsks: ""}, "sudo there does not take this password", "Nothing was changed")
	if exists(b.path("opt")) || exists(b.path("etc/systemd")) {
		t.Error("a wrong password changed the target")
	}

	got, err := b.typing(t, clone, "box", right)
	if err != nil {
		t.Fatalf("with the password: %v\n%s", err, got)
	}
	wantText(t, got, "root by password", "v1.0.1-test runs")
	b.serves(t, "v1.0.1-test")

	pid, next := b.pid(), d.version(t, "2")
	b.refused(t, next, "box", wrong, "does not take this password")
	b.refused(t, next, "typed", map[string]string{loginAsks: "Opensesame-2"}, "the login was refused", "Permission denied")
	b.mayUseSudo(t, "somebody-else")
	b.refused(t, next, "box", right, "this login may not use sudo", "Nothing was changed")
	b.serves(t, "v1.0.1-test")
	if b.pid() != pid {
		t.Error("the running version was restarted")
	}

	// The login's password too is asked for once, whatever follows.
	b.mayUseSudo(t, sudoer)
	got, err = b.typing(t, next, "typed", map[string]string{loginAsks: sudoPassword, sudoAsks: sudoPassword})
	if err != nil || strings.Count(got, loginAsks) != 1 {
		t.Fatalf("with both passwords: %v\n%s", err, got)
	}
	b.serves(t, "v1.0.2-test")
}
