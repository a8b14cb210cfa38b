package scripts_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deployer is a clone that deploys, and the versions it can deploy.
type deployer struct {
	dir     string
	program []byte // version v1.0.0-test
}

// TestDeploy deploys the real program, over a real sshd, to scratch targets.
// It takes openssh-server and rsync; `make deploy-test` insists on them.
func TestDeploy(t *testing.T) {
	t.Parallel()
	for _, need := range []string{"/usr/sbin/sshd", "rsync", "ss", "../build/engine/lib/libllama.a", "../models/" + pulledFile} {
		if _, err := exec.LookPath(need); err != nil && !exists(need) {
			if os.Getenv("DEPLOY_TEST") != "" {
				t.Fatalf("%s is not here: apt-get install openssh-server rsync iproute2, then make engine model", need)
			}
			t.Skipf("%s is not here", need)
		}
	}
	if os.Getuid() == 0 && !exists("/run/sshd") {
		if err := os.Mkdir("/run/sshd", 0o755); err != nil { // sshd as root wants it
			t.Fatal(err)
		}
	}
	d := newDeployer(t)
	for name, test := range map[string]func(*testing.T, *deployer){
		"update and rollback": testUpdate, "dry run": testDryRun, "through sudo": testSudo,
		"sudo asks for a password": testSudoPassword,
		"the same build again":     testAgain, "three releases": testKeepsThree, "owner's edits": testEdits,
		"cut by rsync": testCutRsync, "cut by ssh": testCutSSH, "damaged part": testDamagedPart,
		"disk full": testDiskFull, "crash at start": testCrash, "first one crashes": testFirstCrash,
		"refusals": testRefusals, "logins": testLogins, "several targets": testSeveral,
		"damaged file": testDamagedFile, "damaged release": testDamagedRelease, "model of the catalogue": testPull, "local model": testLocalModel,
		"pulls from the catalogue": testPullsCatalogue, "pulls from an address": testPullsAddress, "pull faults": testPullFaults,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func newDeployer(t *testing.T) *deployer {
	t.Helper()
	d := &deployer{dir: t.TempDir()}
	if built := os.Getenv("DEPLOY_PROGRAM"); built != "" { // one of that version: linking takes its time
		d.program = []byte(read(t, built))
		return d
	}
	binary := filepath.Join(d.dir, "pichat")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v1.0.0-test", "-o", binary, "./cmd/pichat")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	d.program = []byte(read(t, binary))
	return d
}

// version writes a program of a version v1.0.N-test to a new clone, and
// returns the clone's folder. Linking once and changing the text saves minutes.
func (d *deployer) version(t *testing.T, n string) string {
	t.Helper()
	dir := t.TempDir()
	scripts, _ := filepath.Glob("deploy*.sh")
	for _, name := range append(scripts, "lib.sh") {
		write(t, filepath.Join(dir, "scripts", name), read(t, name))
	}
	write(t, filepath.Join(dir, "LICENSE"), "the licence\n")
	write(t, filepath.Join(dir, "cmd/pichat/licences/third_party.txt"), "theirs\n")
	write(t, filepath.Join(dir, "systemd/pichat.service"), shippedService)
	write(t, filepath.Join(dir, "systemd/pichat.socket"), shippedSocket)
	write(t, filepath.Join(dir, "systemd/pichat.env"), shippedEnv)
	program := bytes.ReplaceAll(d.program, []byte("v1.0.0-test"), []byte("v1.0."+n+"-test"))
	write(t, filepath.Join(dir, "dist/pichat-linux-arm64"), string(program))
	return dir
}

// deploy prepares a run of deploy.sh of a clone.
func (b *box) deploy(clone string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(clone, "scripts/deploy.sh"), args...)
	cmd.Env = append(os.Environ(), "SSH="+b.ssh, "PORT="+b.port, "WAIT=20")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// deploys runs a deployment that must succeed.
func (b *box) deploys(t *testing.T, clone string, env ...string) string {
	t.Helper()
	out, err := b.deploy(clone, env, "box").CombinedOutput()
	if err != nil {
		t.Fatalf("deploy: %v\n%s", err, out)
	}
	return string(out)
}

// running is a box on which version 1 runs, and the clone of version 2.
func (d *deployer) running(t *testing.T) (b *box, clone string) {
	t.Helper()
	b = newBox(t, t.TempDir())
	b.deploys(t, d.version(t, "1"))
	b.serves(t, "v1.0.1-test")
	return b, d.version(t, "2")
}

func testUpdate(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	if got := read(t, b.path("etc/systemd/system/pichat.service")); got != shippedService {
		t.Errorf("the unit is %q", got)
	}
	if got := read(t, b.path("opt/pichat/current/kit/LICENSE")); got != "the licence\n" {
		t.Errorf("the licence is %q", got)
	}
	wantText(t, b.deploys(t, clone), "v1.0.2-test runs", "Raspberry Pi 5", "from v1.0.1-test")
	b.serves(t, "v1.0.2-test")
	for _, want := range []string{"v1.0.1-test", "v1.0.2-test"} {
		out, err := b.deploy(clone, nil, "--rollback", "box").CombinedOutput()
		if err != nil {
			t.Fatalf("rollback: %v\n%s", err, out)
		}
		b.serves(t, want)
	}
	if exists(b.path("opt/pichat/incoming")) {
		t.Error("the folder for copies is still there")
	}
}

func testDryRun(t *testing.T, d *deployer) {
	b := newBox(t, t.TempDir())
	wantText(t, b.deploys(t, d.version(t, "1"), "DRY_RUN=1"), "would copy", "would switch from nothing", "8255 MB memory")
	if exists(b.path("opt")) || exists(b.path("etc/systemd")) {
		t.Error("a dry run changed the target")
	}
	wantText(t, fails(t, b.deploy(d.version(t, "1"), nil, "--rollback", "box")), "nothing is deployed")
}

func testSudo(t *testing.T, d *deployer) {
	b := newBox(t, t.TempDir())
	b.write(t, "fault/sudo", "yes")
	wantText(t, b.deploys(t, d.version(t, "1")), "root by sudo")
	b.serves(t, "v1.0.1-test")
	wantText(t, read(t, b.path("sudo.log")), "bash -s")
	b.write(t, "fault/sudo", "no")
	wantText(t, fails(t, b.deploy(d.version(t, "2"), nil, "box")), "sudo asks for a password")
	b.serves(t, "v1.0.1-test")
}

// A second run with nothing new must not interrupt those who chat.
func testAgain(t *testing.T, d *deployer) {
	b := newBox(t, t.TempDir())
	clone := d.version(t, "1")
	b.deploys(t, clone)
	pid := b.pid()
	wantText(t, b.deploys(t, clone), "this build is there already")
	b.serves(t, "v1.0.1-test")
	if b.pid() != pid {
		t.Error("the program was restarted")
	}
}

func testKeepsThree(t *testing.T, d *deployer) {
	b := newBox(t, t.TempDir())
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		b.deploys(t, d.version(t, n))
	}
	if got, want := b.releases(t), []string{"v1.0.3-test", "v1.0.4-test", "v1.0.5-test"}; !slices.Equal(got, want) {
		t.Errorf("releases %v, want %v", got, want)
	}
}

func testEdits(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	unit, env := b.path("etc/systemd/system/pichat.service"), b.path("etc/pichat/pichat.env")
	write(t, unit, shippedService+"Nice=5\n")
	write(t, env, shippedEnv+"PICHAT_SLOTS=3\n")
	out := b.deploys(t, clone)
	wantText(t, out, "kept /etc/systemd/system/pichat.service", "kept /etc/pichat/pichat.env")
	if exists(unit + ".new") {
		t.Error("a new unit was put aside, though this release brings none")
	}
	next := d.version(t, "3")
	write(t, filepath.Join(next, "systemd/pichat.service"), shippedService+"# new\n")
	write(t, filepath.Join(next, "systemd/pichat.socket"), shippedSocket+"# new\n")
	wantText(t, b.deploys(t, next), "beside it: /etc/systemd/system/pichat.service.new")
	for path, want := range map[string]string{
		unit: shippedService + "Nice=5\n", unit + ".new": shippedService + "# new\n",
		env: shippedEnv + "PICHAT_SLOTS=3\n",
		b.path("etc/systemd/system/pichat.socket"): shippedSocket + "# new\n",
	} {
		if got := read(t, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	b.serves(t, "v1.0.3-test")
}

func testSeveral(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	wantText(t, fails(t, b.deploy(clone, nil, "closed", "box")), "closed: the connection was refused", "not touched: box")
	b.serves(t, "v1.0.1-test")
	wantText(t, fails(t, b.deploy(clone, nil, "box", "nowhere", "closed")), "v1.0.2-test runs", "nowhere: unknown host", "not touched: closed")
	b.serves(t, "v1.0.2-test")
}

func testDamagedFile(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	binary := filepath.Join(clone, "dist/pichat-linux-arm64")
	sum := sha256.Sum256([]byte("another"))
	write(t, filepath.Join(clone, "dist/SHA256SUMS"), hex.EncodeToString(sum[:])+"  pichat-linux-arm64\n")
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "is damaged", "make pi")
	b.serves(t, "v1.0.1-test")
	if err := os.Remove(binary); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "is not there", "make pi")
	wantText(t, fails(t, b.deploy(clone, nil)), "no target", "make pi PI=")
	if strings.Contains(read(t, b.path("systemctl.log")), "stop pichat.service\n") {
		t.Error("the service was stopped")
	}
}
