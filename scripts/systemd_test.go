package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const program = "/opt/pichat/current/pichat"

// analyze runs systemd-analyze; without it the test is skipped.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: apt-get install systemd")
	}
	output, err := exec.Command(tool, args...).CombinedOutput()
	return string(output), err
}

// unit reads a file of systemd/.
func unit(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The service's exposure is what we promise: at most 2.0 of 10.
func TestServiceExposure(t *testing.T) {
	output, err := analyze(t, "security", "--offline=true", "--no-pager", "../systemd/pichat.service")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	found := regexp.MustCompile(`Overall exposure level for pichat\.service: ([0-9.]+)`).FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("no exposure in\n%s", output)
	}
	if level, err := strconv.ParseFloat(found[1], 64); err != nil || level > 2.0 {
		t.Errorf("the exposure is %s, promised are 2.0 at most:\n%s", found[1], output)
	}
}

// systemd finds nothing to say about the units. The program is not installed
// where tests run, so another stands in for it.
func TestUnitsVerify(t *testing.T) {
	dir := t.TempDir()
	service := unit(t, "pichat.service")
	if !strings.Contains(service, "ExecStart="+program+" serve\n") {
		t.Fatalf("the service does not start %s serve", program)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := []string{
		write("pichat.service", strings.ReplaceAll(service, program, "/bin/true")),
		write("pichat.socket", unit(t, "pichat.socket")),
	}
	for _, path := range paths {
		if output, err := analyze(t, "verify", "--man=no", path); err != nil || output != "" {
			t.Errorf("%s: %v\n%s", filepath.Base(path), err, output)
		}
	}
	broken := write("broken.service", strings.Replace(service, "Restart=", "Restrat=", 1))
	if output, _ := analyze(t, "verify", "--man=no", broken); !strings.Contains(output, "Restrat") {
		t.Errorf("a broken unit passes: %q", output)
	}
}

// What the program does within the limits of the unit hangs on these.
func TestServiceProtocol(t *testing.T) {
	text := unit(t, "pichat.service")
	for _, line := range []string{
		"Type=notify", "NotifyAccess=main", "WatchdogSec=30", "TimeoutStopSec=10", "Restart=always",
		"Sockets=pichat.socket", "EnvironmentFile=-/etc/pichat/pichat.env", "StartLimitIntervalSec=0",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("pichat.service has no line %s", line)
		}
	}
	if !strings.Contains(unit(t, "pichat.socket"), "\nListenStream=80\n") {
		t.Error("pichat.socket does not listen on port 80")
	}
}
