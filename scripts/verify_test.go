package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// verifier stands in for a pichat that is installed: its verify prints a report
// of the kind in $REPORT of the box, and logs what it was asked. The real one is
// tried by scripts/pi-test.sh.
const verifier = `#!/bin/bash
echo "$*" >>"$DEPLOY_ROOT/asked.log"
case "$*" in
version) echo "pichat     v1.0.0-test" ;;
"verify --help") [[ ! -e $DEPLOY_ROOT/old ]] ;;
*--show*) sed -n 's/^  "file_name": "\(.*\)",$/# \1/p'; printf '\n- what differs\n\n## Machine\n' ;;
verify*)
	[[ ! -e $DEPLOY_ROOT/down ]] || { echo "pichat: no service answers" >&2; exit 1; }
	cat "$DEPLOY_ROOT/report.json"
	[[ ! -e $DEPLOY_ROOT/differs ]]
	;;
esac
`

const piReport = `{
  "notice": "Measured on a Raspberry Pi 5.",
  "pi": true,
  "file_name": "raspberry-pi-5-v1.0.0-test",
  "doctor": {
    "file_name": "not this one"
  }
}
`

// newVerified is a box with such a program, and a clone to verify it from.
func newVerified(t *testing.T) (*box, string) {
	t.Helper()
	if !exists("/usr/sbin/sshd") {
		t.Skip("/usr/sbin/sshd is not here")
	}
	if os.Getuid() == 0 {
		_ = os.Mkdir("/run/sshd", 0o755) // sshd as root wants it; it may be there
	}
	b, clone := newBox(t, t.TempDir()), t.TempDir()
	for _, name := range []string{"pi-verify.sh", "verify-target.sh", "deploy-ssh.sh", "deploy-common.sh", "lib.sh"} {
		write(t, filepath.Join(clone, "scripts", name), read(t, name))
	}
	b.write(t, "opt/pichat/current/pichat", verifier)
	b.write(t, "etc/systemd/system/pichat.socket", "[Socket]\nListenStream=8123\n")
	b.write(t, "etc/pichat/pichat.env", "PICHAT_SLOTS=2\n")
	b.write(t, "report.json", piReport)
	return b, clone
}

func (b *box) verify(clone string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("bash", append([]string{filepath.Join(clone, "scripts/pi-verify.sh")}, args...)...)
	cmd.Env = append(append(os.Environ(), "SSH="+b.ssh, "SECONDS_OF_WRITING=5"), env...)
	return cmd
}

// The report is kept under the names of host, board and version, for programs
// and for people, and its head is shown.
func TestPiVerify(t *testing.T) {
	t.Parallel()
	b, clone := newVerified(t)
	out, err := b.verify(clone, []string{"TOKENS=16"}, "box").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantText(t, fails(t, b.verify(clone, nil, "closed", "box")), "closed: the connection was refused", "-test.json and .md", "not verified: closed\n")
	wantText(t, string(out), "# raspberry-pi-5-v1.0.0-test", "dist/verify/box-raspberry-pi-5-v1.0.0-test.json and .md")
	if strings.Contains(string(out), "## Machine") || strings.Contains(string(out), "NOT A RASPBERRY") {
		t.Errorf("it prints\n%s", out)
	}
	kept := filepath.Join(clone, "dist/verify/box-raspberry-pi-5-v1.0.0-test")
	if got := read(t, kept+".json"); got != piReport {
		t.Errorf("the report kept is %q", got)
	}
	wantText(t, read(t, kept+".md"), "# raspberry-pi-5", "## Machine")
	wantText(t, read(t, b.path("asked.log")), "verify --json --url http://127.0.0.1:8123 --seconds 5 --tokens 16 --config "+b.path("etc/pichat/pichat.env"))
}

// What differs makes it fail, and the report is kept all the same.
func TestPiVerifyFailsOnADifference(t *testing.T) {
	t.Parallel()
	b, clone := newVerified(t)
	b.write(t, "differs", "")
	b.write(t, "report.json", strings.ReplaceAll(strings.Replace(piReport, "true", "false", 1), "raspberry-pi-5", "not-a-pi"))
	wantText(t, fails(t, b.verify(clone, nil, "box")), "- what differs", "NOT A RASPBERRY PI", "not everything is as expected", "not verified: box")
	if !exists(filepath.Join(clone, "dist/verify/box-not-a-pi-v1.0.0-test.json")) {
		t.Error("the report is not kept")
	}
}

// Without a report each fault is one clear line, and nothing is left behind.
func TestPiVerifyWithoutAReport(t *testing.T) {
	t.Parallel()
	b, clone := newVerified(t)
	wantText(t, fails(t, b.verify(clone, nil)), "no target", "make pi-verify PI=")
	wantText(t, fails(t, b.verify(clone, []string{"SECONDS_OF_WRITING=0"}, "box")), "SECONDS=0 is not a whole number from 1 to 3600")
	wantText(t, fails(t, b.verify(clone, []string{"TOKENS=many"}, "box")), "TOKENS=many is not a whole number")
	wantText(t, fails(t, b.verify(clone, nil, "nowhere")), "nowhere: unknown host")
	b.write(t, "report.json", "Welcome!\n")
	wantText(t, fails(t, b.verify(clone, nil, "box")), "box: no report")
	b.write(t, "down", "")
	wantText(t, fails(t, b.verify(clone, nil, "box")), "no service answers", "box: no report")
	b.write(t, "old", "")
	wantText(t, fails(t, b.verify(clone, nil, "box")), "has no 'verify' (pichat     v1.0.0-test)", "make pi PI=")
	if err := os.Remove(b.path("opt/pichat/current/pichat")); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.verify(clone, nil, "box")), "no pichat is installed there")
	if exists(filepath.Join(clone, "dist")) {
		t.Error("something is in dist")
	}
}
