package servebench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"pichat/llm"
	"pichat/llm/llamacpp"
)

// bareVariable makes this test binary the bare program: load, decode, wait.
const bareVariable = "PICHAT_SERVEBENCH_BARE"

func TestMain(m *testing.M) {
	if os.Getenv(bareVariable) != "" {
		if err := bare(); err != nil {
			fmt.Println(err)
		}
		return
	}
	m.Run()
}

// bare loads the model as the server does, writes answerTokens tokens, prints
// a line and waits until its input ends.
func bare() error {
	m, err := llamacpp.Load(context.Background(), llamacpp.Config{Path: model, Slots: slots, Window: window, DecodeThreads: 1})
	if err != nil {
		return err
	}
	tokens, err := m.Tokenize(llm.Text{Parts: []string{question}})
	if err != nil {
		return err
	}
	sampler, err := m.NewSampler(llm.Sampling{}, tokens)
	if err != nil {
		return err
	}
	defer sampler.Close()
	var batch llm.Batch
	for i, t := range tokens {
		batch.Add(t, i, 0, i == len(tokens)-1)
	}
	for i := range answerTokens {
		if err := m.Evaluate(context.Background(), &batch); err != nil {
			return err
		}
		next, err := sampler.Sample(batch.Len() - 1)
		if err != nil {
			return err
		}
		batch.Reset()
		batch.Add(next, len(tokens)+i, 0, true)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return m.Close()
}

// bareMemory runs the bare program and returns its resident memory.
func bareMemory(b *testing.B) int64 {
	b.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), bareVariable+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		b.Fatalf("the bare program says %q, %v", line, err)
	}
	rss, err := residentBytes(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	return rss
}
