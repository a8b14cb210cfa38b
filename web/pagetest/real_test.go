package pagetest

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realServer is the program itself, with the default model, and its URL.
func realServer(t *testing.T) string {
	t.Helper()
	const model = "../../models/SmolLM2-135M-Instruct.Q4_1.gguf"
	if _, err := os.Stat(model); err != nil {
		t.Fatalf("%v: run make model", err)
	}
	program := filepath.Join(t.TempDir(), "pichat")
	if out, err := exec.Command("go", "build", "-o", program, "pichat/cmd/pichat").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "serve", "--listen", address, "--model", model, "--no-qr")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	for deadline := time.Now().Add(patience); ; <-time.After(10 * ms) {
		if resp, err := http.Get("http://" + address + "/healthz"); err == nil {
			_ = resp.Body.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatal("the program does not listen")
		}
	}
}

// running asks the server how many replies it is writing.
func running(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var status struct {
		Engine struct{ Running int }
	}
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	return status.Engine.Running
}

// tokenCount is the number on the page; 0 while it still shows none.
const tokenCount = `(Number(document.getElementById("token-count").textContent) || 0)`

// TestRealModel: somebody opens the page and chats with the default model: the
// answer streams in, the numbers move, Stop stops, two browsers both stream.
func TestRealModel(t *testing.T) {
	url := realServer(t)
	a := open(t, url, desktop)
	a.until(`document.body.innerText.includes("ready")`)

	a.ask("Why is the sky blue?")
	a.until(`document.querySelector(".answer")?.textContent.length > 20`)
	early, before := eval[int](a, tokenCount), eval[int](a, `document.querySelector(".answer").textContent.length`)
	a.until(tokenCount + ` > ` + strconv.Itoa(early))
	a.until(`document.querySelector(".answer").textContent.length > ` + strconv.Itoa(before))
	a.until(`/\d tok\/s/.test(document.querySelector(".live .tps").textContent)`)
	a.until(`/\d %|\d\s*%/.test(document.getElementById("board").innerText)`)
	a.untilWithin(2*time.Minute, `document.querySelector(".verdict .headline")`)
	answer := a.text(".answer")
	if !regexp.MustCompile(`(?i)light|scatter`).MatchString(answer) {
		t.Errorf("the answer does not speak of light or scattering: %q", answer)
	}
	if headline := a.text(".verdict .headline"); !strings.Contains(headline, "to start, then") {
		t.Errorf("the verdict reads %q", headline)
	}

	b := open(t, url, phone)
	a.ask("Write a very long story about a river.")
	b.ask("Write a very long story about a mountain.")
	for _, p := range []*tab{a, b} {
		p.untilWithin(time.Minute, `[...document.querySelectorAll(".answer")].at(-1).textContent.length > 60`)
	}
	if n := running(t, url); n != 2 {
		t.Errorf("%d replies are being written, want both", n)
	}
	for _, p := range []*tab{a, b} {
		p.focus()
		p.press(escape)
		p.until(`[...document.querySelectorAll(".verdict .ending")].at(-1)?.textContent === "Stopped."`)
	}
	for deadline := time.Now().Add(2 * time.Second); running(t, url) != 0; <-time.After(10 * ms) {
		if time.Now().After(deadline) {
			t.Fatal("a stopped reply still runs after 2 s")
		}
	}
}
