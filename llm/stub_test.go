package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pichat/llm/policy"
)

// stub is a backend whose tokens are bytes, so that characters are split over
// tokens. It answers a prompt with what replies holds for it, and checks every
// batch against its own account of the sequences.
type stub struct {
	t       *testing.T
	info    ModelInfo
	replies map[string]string // by the prompt's text; missing: "ok"
	// evaluate, when set, is called within Evaluate: to take time, block or fail.
	evaluate func(ctx context.Context, b *Batch) error
	sample   error // what sampling returns
	noCopy   error // what copying a sequence returns

	mu       sync.Mutex
	kept     map[int]int // length of each sequence
	batches  []string    // "p32" or "d2": kind and size of each batch
	samplers int         // open ones
	copies   int
}

// quick is a machine on which two streams keep ahead of every reader.
var quick = policy.Snapshot{Sizes: []policy.SizeSnapshot{{Streams: 1, Seconds: .01, Steps: 9}, {Streams: 2, Seconds: .011, Steps: 9}}}

const stubEOG Token = 256

func newStub(t *testing.T, slots, window, batch int) *stub {
	return &stub{
		t: t, kept: map[int]int{}, replies: map[string]string{},
		info: ModelInfo{Name: "stub", VocabSize: 257, Slots: slots, Window: window, BatchTokens: batch},
	}
}

func (s *stub) Info() ModelInfo { return s.info }
func (s *stub) Close() error    { return nil }

func (s *stub) Tokenize(text Text) ([]Token, error) {
	var tokens []Token
	for _, b := range []byte(strings.Join(text.Parts, "")) {
		tokens = append(tokens, Token(b))
	}
	return tokens, nil
}

func (s *stub) AppendPiece(dst []byte, t Token) []byte { return append(dst, byte(t)) }
func (s *stub) IsEOG(t Token) bool                     { return t == stubEOG }

func (s *stub) Evaluate(ctx context.Context, b *Batch) error {
	if s.evaluate != nil {
		if err := s.evaluate(ctx, b); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "d"
	if b.Prefill {
		kind = "p"
	}
	s.batches = append(s.batches, fmt.Sprintf("%s%d", kind, b.Len()))
	if b.Len() == 0 || b.Len() > s.info.BatchTokens {
		s.t.Errorf("a batch of %d tokens, allowed are 1 to %d", b.Len(), s.info.BatchTokens)
	}
	for i := range b.Tokens {
		seq := int(b.Sequences[i])
		if seq >= s.info.Slots || int(b.Positions[i]) != s.kept[seq] || s.kept[seq] >= s.info.Window {
			s.t.Errorf("token %d: position %d of sequence %d, which holds %d of %d", i, b.Positions[i], seq, s.kept[seq], s.info.Window)
		}
		s.kept[seq]++
	}
	return nil
}

// promptTokens is how many tokens steps with prompts in them had.
func (s *stub) promptTokens() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		var size int
		if _, err := fmt.Sscanf(b, "p%d", &size); err == nil {
			n += size
		}
	}
	return n
}

func (s *stub) TrimSequence(seq, from int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[seq] = min(s.kept[seq], from)
	return nil
}

func (s *stub) CopySequence(from, to, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noCopy != nil {
		s.copies++
		return s.noCopy
	}
	if n > s.kept[from] || s.kept[to] != 0 {
		s.t.Errorf("copy %d of sequence %d, which holds %d, to %d, which holds %d", n, from, s.kept[from], to, s.kept[to])
	}
	s.kept[to] = n
	s.copies++
	return nil
}

func (s *stub) SequenceSpan(seq int) (first, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[seq] == 0 {
		return -1, -1
	}
	return 0, s.kept[seq] - 1
}

func (s *stub) NewSampler(_ Sampling, recent []Token) (Sampler, error) {
	var prompt strings.Builder
	for _, t := range recent {
		prompt.WriteByte(byte(t))
	}
	reply, ok := s.replies[prompt.String()]
	if !ok {
		reply = "ok"
	}
	s.mu.Lock()
	s.samplers++
	s.mu.Unlock()
	return &stubSampler{stub: s, reply: reply}, nil
}

type stubSampler struct {
	stub  *stub
	reply string
}

func (s *stubSampler) Sample(int) (Token, error) {
	if s.stub.sample != nil {
		return 0, s.stub.sample
	}
	if s.reply == "" {
		return stubEOG, nil
	}
	t := Token(s.reply[0])
	s.reply = s.reply[1:]
	return t, nil
}

func (s *stubSampler) Close() {
	s.stub.mu.Lock()
	s.stub.samplers--
	s.stub.mu.Unlock()
}

// plainTemplate renders the last message's content alone.
type plainTemplate struct{ info TemplateInfo }

func (p plainTemplate) Info() TemplateInfo { return p.info }

func (p plainTemplate) Render(messages []Message, _ *bool) (Prompt, error) {
	var parts []string
	for _, m := range messages {
		parts = append(parts, m.Content)
	}
	return Prompt{Parts: parts}, nil
}

// start runs an engine on a backend until the test ends.
func start(t *testing.T, c EngineConfig) *Engine {
	t.Helper()
	if c.Template == nil {
		c.Template = plainTemplate{}
	}
	e := NewEngine(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if s, ok := c.Backend.(*stub); ok && s.samplers != 0 {
			t.Errorf("%d samplers were not closed", s.samplers)
		}
	})
	return e
}

func chat(text string) Request {
	return Request{Messages: []Message{{Role: RoleUser, Content: text}}}
}

// result is all that a stream delivered.
type result struct {
	text, thought string
	deltas        []Delta
	queued        []Queued
	prefill       []Prefilling
	done          Done
}

// collect reads a stream to its end.
func collect(t *testing.T, s *Stream) result {
	t.Helper()
	return collectWithin(t, s, 20*time.Second)
}

func collectWithin(t *testing.T, s *Stream, limit time.Duration) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var r result
	for {
		events, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("the stream did not end: %v; so far %+v", err, r)
		}
		for _, e := range events {
			switch e := e.(type) {
			case Queued:
				r.queued = append(r.queued, e)
			case Prefilling:
				r.prefill = append(r.prefill, e)
			case Delta:
				r.deltas = append(r.deltas, e)
				if e.Thought {
					r.thought += e.Text
				} else {
					r.text += e.Text
				}
			case Done:
				r.done = e
				return r
			}
		}
	}
}

// generate sends a request that must be accepted and reads its stream.
func generate(t *testing.T, e *Engine, r Request) result {
	t.Helper()
	s, err := e.Generate(context.Background(), r)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return collect(t, s)
}
