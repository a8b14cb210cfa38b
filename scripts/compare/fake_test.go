package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"
)

// fakeVariable makes this test binary one of the programs that are compared.
const fakeVariable = "COMPARE_TEST_FAKE"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == burnArgument {
		burn(os.Stdin)
		return
	}
	switch kind := os.Getenv(fakeVariable); kind {
	case "":
		os.Exit(m.Run())
	case "llama-bench":
		fmt.Println(`[{"avg_ts": 500.0}]`)
	default:
		if err := fakeServe(kind, os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// fakeServe is a server that answers at a pace of its own until interrupted.
func fakeServe(kind string, args []string) error {
	if len(args) == 1 { // version, --version
		fmt.Println(kind, "1.2.3")
		return nil
	}
	f := flag.NewFlagSet(kind, flag.ContinueOnError)
	address := f.String("listen", "", "")
	host, port := f.String("host", "", ""), f.String("port", "", "")
	f.Bool("no-qr", false, "")
	f.Bool("kv-unified", false, "")
	for _, name := range []string{"log-level", "model", "slots", "context", "parallel", "ctx-size", "threads", "batch-size", "ubatch-size"} {
		f.String(name, "", "")
	}
	if kind == "pichat" {
		args = args[1:] // serve
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if *address == "" {
		*address = net.JoinHostPort(*host, *port)
	}
	l, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, fakeChat{pace: 200 * time.Microsecond, burst: 4}) }()
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	<-end
	return nil
}

// fakeChat answers every path with 200 and a chat with max_tokens words. It
// counts a token for each word of the prompt.
type fakeChat struct {
	pace  time.Duration
	burst int           // frames that go out at once, 1 when not set
	gates chan struct{} // when set, a frame goes out for each value
}

func (c fakeChat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != "POST" {
		return
	}
	var asked struct {
		Messages  []message `json:"messages"`
		MaxTokens int       `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	prompt := 0
	for _, m := range asked.Messages {
		prompt += len(strings.Fields(m.Content))
	}
	send := func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n\n", args...)
		_ = http.NewResponseController(w).Flush()
	}
	send(`: prefill %d of %d`, prompt, prompt)
	send(`data: {"choices":[{"delta":{"role":"assistant","content":""}}]}`)
	for i := range asked.MaxTokens {
		if i%max(c.burst, 1) == 0 {
			select {
			case <-c.next():
			case <-r.Context().Done():
				return
			}
		}
		send(`data: {"choices":[{"delta":{"content":" word"}}]}`)
	}
	send(`data: {"choices":[{"delta":{},"finish_reason":"length"}],"timings":{}}`)
	send(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":4}}}`, prompt, asked.MaxTokens)
	send(`data: [DONE]`)
}

// next is ready when the next frame is due.
func (c fakeChat) next() <-chan struct{} {
	if c.gates != nil {
		return c.gates
	}
	due := make(chan struct{})
	time.AfterFunc(c.pace, func() { close(due) })
	return due
}
