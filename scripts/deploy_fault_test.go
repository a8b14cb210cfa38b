package scripts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// part is where the copy of a clone's program grows on the box.
func (b *box) part(t *testing.T, clone string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(read(t, filepath.Join(clone, "dist/pichat-linux-arm64"))))
	return b.path("opt/pichat/incoming/" + hex.EncodeToString(sum[:]) + ".part")
}

func testCutRsync(t *testing.T, d *deployer) { testCut(t, d, "COPY=rsync") }
func testCutSSH(t *testing.T, d *deployer)   { testCut(t, d, "COPY=ssh") }

// The connection goes down in the middle of the copy; the next run goes on.
func testCut(t *testing.T, d *deployer, copyBy string) {
	b, clone := d.running(t)
	pid := b.pid()
	b.write(t, "fault/cut", "")
	wantText(t, fails(t, b.deploy(clone, []string{copyBy}, "box")), "the copy was cut off", "running version is untouched")
	b.serves(t, "v1.0.1-test")
	if b.pid() != pid {
		t.Error("the running version was restarted")
	}
	await(t, "a part of the copy", func() bool {
		info, err := os.Stat(b.part(t, clone))
		return err == nil && info.Size() > 1e6
	})
	wantText(t, b.deploys(t, clone, copyBy), "going on with the copy", "v1.0.2-test runs")
	b.serves(t, "v1.0.2-test")
}

// What is there of a copy may be rubbish: it is found before anything is switched.
func testDamagedPart(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	write(t, b.part(t, clone), strings.Repeat("rubbish!", 1e5))
	wantText(t, fails(t, b.deploy(clone, []string{"COPY=ssh"}, "box")), "what arrived is not what was sent", "not deployed")
	b.serves(t, "v1.0.1-test")
	b.deploys(t, clone, "COPY=ssh")
	b.serves(t, "v1.0.2-test")
}

// A card that goes bad takes what lies on it: a damaged release is never switched to.
func testDamagedRelease(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	b.deploys(t, clone)
	pid := b.pid()
	damage := func(link string) {
		path := b.path("opt/pichat/" + link + "/pichat")
		write(t, path+".bad", read(t, path)[:1e6])
		if err := os.Rename(path+".bad", path); err != nil {
			t.Fatal(err)
		}
	}
	damage("previous")
	wantText(t, fails(t, b.deploy(clone, nil, "--rollback", "box")), "v1.0.1-test is damaged on the disk", "nothing was switched", "v1.0.2-test runs on")
	damage("current")
	wantText(t, b.deploys(t, clone), "will copy")
	if read(t, b.path("opt/pichat/current/pichat")) != read(t, filepath.Join(clone, "dist/pichat-linux-arm64")) {
		t.Error("the damaged program is still there")
	}
	b.serves(t, "v1.0.2-test")
	if b.pid() != pid {
		t.Error("the running version was restarted")
	}
}

func testDiskFull(t *testing.T, d *deployer) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk takes root")
	}
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=40m"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) })
	b := newBox(t, root)
	b.deploys(t, d.version(t, "1"))
	b.write(t, "filler", strings.Repeat("x", 10e6))
	clone := d.version(t, "2")
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "the disk is full", "Make room")
	b.write(t, "fault/df", "") // the room seems to be there, and is gone during the copy
	for _, copyBy := range []string{"COPY=rsync", "COPY=ssh"} {
		wantText(t, fails(t, b.deploy(clone, []string{copyBy}, "box")), "the disk is full", "untouched")
		b.serves(t, "v1.0.1-test")
	}
	if err := os.Remove(b.path("filler")); err != nil {
		t.Fatal(err)
	}
	b.deploys(t, clone)
	b.serves(t, "v1.0.2-test")
}

// crasher is a program that says its version, and crashes when it is to serve.
const crasher = "#!/bin/sh\n[ $1 = version ] && echo 'pichat v2.0.0-test' && exit\necho 'boom: cannot go on'\nexit 1\n"

func testCrash(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	write(t, filepath.Join(clone, "dist/pichat-linux-arm64"), crasher)
	write(t, filepath.Join(clone, "systemd/pichat.service"), shippedService+"# of the one that crashes\n")
	wantText(t, fails(t, b.deploy(clone, []string{"WAIT=2"}, "box")),
		"v2.0.0-test does not answer", "boom: cannot go on", "switching back to v1.0.1-test", "v1.0.1-test runs again")
	b.serves(t, "v1.0.1-test")
	if got := read(t, b.path("etc/systemd/system/pichat.service")); got != shippedService {
		t.Errorf("the unit is the crashed one's: %q", got)
	}
	if got := b.releases(t); !slices.Equal(got, []string{"v1.0.1-test"}) {
		t.Errorf("releases %v: the one that crashed is kept", got)
	}
	wantText(t, fails(t, b.deploy(clone, nil, "--rollback", "box")), "only release")
	b.serves(t, "v1.0.1-test")
}

func testFirstCrash(t *testing.T, d *deployer) {
	b := newBox(t, t.TempDir())
	clone := d.version(t, "1")
	binary := filepath.Join(clone, "dist/pichat-linux-arm64")
	good := read(t, binary)
	write(t, binary, crasher)
	wantText(t, fails(t, b.deploy(clone, []string{"WAIT=2"}, "box")), "boom", "no earlier release")
	write(t, binary, "#!/bin/sh\necho 'GLIBC_9 not found' >&2; exit 1\n")
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "does not run here: GLIBC_9 not found")
	write(t, binary, good)
	b.deploys(t, clone)
	b.serves(t, "v1.0.1-test")
}

// elf32 begins a program of a 32-bit ARM userland.
var elf32 = "\x7fELF\x01\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x28\x00" + strings.Repeat("\x00", 44)

func testRefusals(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	pid := b.pid()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, taken, _ := net.SplitHostPort(other.Addr().String())
	for _, tt := range []struct {
		file, text string
		env        []string
		words      []string
	}{
		{"bin/sh", elf32, nil, []string{"32-bit", "64-bit Raspberry Pi OS"}},
		{"bin/sh", strings.Replace(elf32, "\x01\x01\x01", "\x02\x01\x01", 1), nil, []string{"its system is for 32-bit ARM"}},
		{"fault/deb", "installed 0.9", nil, []string{"pichat 0.9 is installed there from a .deb", "apt remove", "OVER_DEB=1"}},
		{"proc/meminfo", "MemTotal: 200000 kB\n", nil, []string{"200 MB of memory"}},
		{"", "", []string{"PORT=" + taken}, []string{"port " + taken + " is taken by", "PORT=8080"}},
		{"", "", []string{"MODEL=/no/such.gguf"}, []string{"MODEL=/no/such.gguf", "no such file"}},
		{"", "", []string{"PORT=eighty"}, []string{"PORT=eighty"}},
	} {
		before := ""
		if tt.file != "" && exists(b.path(tt.file)) {
			before = read(t, b.path(tt.file))
		}
		if tt.file != "" {
			b.write(t, tt.file, tt.text)
		}
		wantText(t, fails(t, b.deploy(clone, tt.env, "box")), tt.words...)
		b.serves(t, "v1.0.1-test")
		if tt.file != "" {
			b.write(t, tt.file, before)
		}
	}
	if b.pid() != pid {
		t.Error("the running version was restarted")
	}
	if err := os.RemoveAll(b.path("run/systemd")); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.deploy(clone, nil, "box")), "no systemd")
	b.write(t, "run/systemd/system/x", "")
	b.write(t, "fault/deb", "installed 0.9")
	b.deploys(t, clone, "OVER_DEB=1")
	b.serves(t, "v1.0.2-test")
}

func testLogins(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	for host, words := range map[string][]string{
		"stranger": {"the login was refused", "Permission denied (publickey)"},
		"closed":   {"the connection was refused", "Connection refused"},
		"unmet":    {"its host key is not known here yet", "Run 'ssh unmet' once"},
		"nowhere":  {"unknown host", "Could not resolve hostname"},
	} {
		got := fails(t, b.deploy(clone, nil, host))
		wantText(t, got, words...)
		if n := strings.Count(got, "\n"); n != 1 {
			t.Errorf("%d lines for %s, want 1:\n%s", n, host, got)
		}
	}
	b.serves(t, "v1.0.1-test")
}

// puller is a program that fetches models as a catalogue would, and does not
// start with a bad one; all else the real program at %s does.
const puller = `#!/bin/bash
if [[ $1 == model ]]; then
	[[ $3 != unreachable ]] || { echo 'no network' >&2; exit 1; }
	echo GGUF >"$5/$3-Q4.gguf"
	echo "$5/$3-Q4.gguf"
	exit
fi
[[ ${MODEL_OF_SETTINGS-} != *bad* ]] || { echo 'cannot load this'; exit 1; }
exec %s "$@"
`

// pulling is a clone whose program is a puller.
func (d *deployer) pulling(t *testing.T) string {
	t.Helper()
	clone := d.version(t, "1")
	binary := filepath.Join(clone, "dist/pichat-linux-arm64")
	if err := os.Rename(binary, binary+".real"); err != nil {
		t.Fatal(err)
	}
	write(t, binary, strings.Replace(puller, "%s", binary+".real", 1))
	return clone
}

func testPull(t *testing.T, d *deployer) {
	for _, tt := range []struct{ board, memory, want string }{
		{"Raspberry Pi 5 Model B Rev 1.0", "8255000", "llama-3.2-3b-instruct"},
		{"Raspberry Pi 4 Model B Rev 1.5", "3900000", "gemma-3-1b-it"},
		{"Raspberry Pi 3 Model B Rev 1.2", "930000", "gemma-3-270m-it"},
	} {
		b, clone := newBox(t, t.TempDir()), d.pulling(t)
		b.write(t, "proc/device-tree/model", tt.board+"\x00")
		b.write(t, "proc/meminfo", "MemTotal: "+tt.memory+" kB\n")
		if err := os.Remove(b.path("srv/pichat/models/default.gguf")); err != nil {
			t.Fatal(err)
		}
		wantText(t, b.deploys(t, clone, "MODEL=unreachable"), "no network", "has no model: its page says so")
		wantText(t, b.deploys(t, clone), "the model is "+tt.want+"-Q4.gguf")
		wantText(t, read(t, b.path("etc/pichat/pichat.env")), "PICHAT_MODEL=/srv/pichat/models/"+tt.want+"-Q4.gguf", "#PICHAT_SLOTS=2")
		b.serves(t, "v1.0.1-test")

		env := read(t, b.path("etc/pichat/pichat.env"))
		wantText(t, b.deploys(t, clone, "MODEL=unreachable"), "no network", "goes on with the model it had", "make pi PI=box MODEL=unreachable")
		wantText(t, b.deploys(t, clone, "MODEL=bad", "WAIT=2"), "does not load bad-Q4.gguf", "cannot load this", "as they were before")
		if got := read(t, b.path("etc/pichat/pichat.env")); got != env {
			t.Errorf("after a bad model the settings are %q, want %q", got, env)
		}
		await(t, "the model before", func() bool { return dial(b.port) })
		b.serves(t, "v1.0.1-test")
	}
}

// dial tells whether someone listens.
func dial(port string) bool {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func testLocalModel(t *testing.T, d *deployer) {
	b, clone := d.running(t)
	model := filepath.Join(clone, "mine.gguf")
	write(t, model, "GGUF"+strings.Repeat("weights ", 3e6))
	b.write(t, "proc/meminfo", "MemTotal: 400000 kB\n")
	huge := filepath.Join(clone, "huge.gguf")
	write(t, huge, "")
	if err := os.Truncate(huge, 1e9); err != nil {
		t.Fatal(err)
	}
	wantText(t, fails(t, b.deploy(clone, []string{"MODEL=" + huge}, "box")), "takes 1000 MB", "400 MB", "smaller model")
	b.serves(t, "v1.0.1-test")

	b.deploys(t, clone)
	b.write(t, "fault/cut", "")
	got := b.deploys(t, clone, "MODEL="+model)
	wantText(t, got, "this build is there already", "the copy was cut off", "pichat is deployed and goes on with the model it had")
	b.serves(t, "v1.0.2-test")
	wantText(t, b.deploys(t, clone, "MODEL="+model), "going on with the copy", "the model is mine.gguf")
	if read(t, b.path("srv/pichat/models/mine.gguf")) != read(t, model) {
		t.Error("the model that arrived is another")
	}
	wantText(t, read(t, b.path("etc/pichat/pichat.env")), "PICHAT_MODEL=/srv/pichat/models/mine.gguf")
	b.serves(t, "v1.0.2-test")
}
