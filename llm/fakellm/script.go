package fakellm

import (
	"hash/fnv"
	"strings"

	"pichat/llm"
)

// Turn is what a Script answers to.
type Turn struct {
	Prompt   string // the sequence's text, special tokens spelled out
	Number   int    // of replies that were begun before this one
	Sampling llm.Sampling
	Seed     uint32 // of the sampling, picked at random where none was given
}

// Greedy reports whether the same prompt has to get the same answer.
func (t Turn) Greedy() bool { return t.Sampling.Temperature == 0 }

// Script decides what is answered. It is called by one goroutine at a time.
type Script func(Turn) Reply

// Reply is an answer.
type Reply struct {
	// Text is cut into tokens by the tokenizer.
	Text string
	// Pieces are further tokens, each of exactly these bytes: for tests that
	// need a character or a stop string split in a certain place.
	Pieces []string
	// Endless begins the answer anew instead of ending it.
	Endless bool
}

// endlessTokens is what an endless reply is filled up to: more than any window.
const endlessTokens = 1 << 17

func (r Reply) tokens(t *tokenizer) []llm.Token {
	tokens := t.tokenize([]llm.Token{}, r.Text, false)
	for _, p := range r.Pieces {
		if p != "" {
			tokens = append(tokens, t.pieceToken(p))
		}
	}
	if r.Endless && len(tokens) > 0 {
		once := tokens
		for len(tokens) < endlessTokens {
			tokens = append(tokens, once...)
		}
	}
	return tokens
}

// Say answers with the texts in turn and begins anew after the last.
func Say(texts ...string) Script {
	return func(t Turn) Reply { return Reply{Text: texts[t.Number%len(texts)]} }
}

// Pieces answers with exactly these tokens.
func Pieces(pieces ...string) Script {
	return func(Turn) Reply { return Reply{Pieces: pieces} }
}

// Endless answers with a text over and over, until something stops it.
func Endless(text string) Script {
	return func(Turn) Reply { return Reply{Text: text, Endless: true} }
}

// Echo answers with what the last user turn of a ChatML prompt said.
func Echo(t Turn) Reply { return Reply{Text: lastUserTurn(t.Prompt)} }

// DefaultScript answers with one of a few texts that look like a model's but
// say what they are. A greedy turn's depends on the last user message alone,
// another's on the seed too.
func DefaultScript(t Turn) Reply {
	h := fnv.New32a()
	h.Write([]byte(lastUserTurn(t.Prompt)))
	n := h.Sum32()
	if !t.Greedy() {
		n += t.Seed
	}
	return Reply{Text: answers[n%uint32(len(answers))]}
}

// lastUserTurn returns the content of the last user turn in a ChatML prompt,
// or the whole prompt when there is none.
func lastUserTurn(prompt string) string {
	open := specials[TokenStart] + "user\n"
	at := strings.LastIndex(prompt, open)
	if at < 0 {
		return strings.TrimPrefix(prompt, specials[TokenBOS])
	}
	content, _, _ := strings.Cut(prompt[at+len(open):], specials[TokenEnd])
	return content
}

// answers are long enough to read along with, and honest.
var answers = []string{
	`This is a scripted answer: no model wrote it. It is here so that you can see how the page looks and how fast the text comes, without loading anything.

The pace is set when the server starts. At **five tokens per second**, which is about what a small board manages with a mid-sized model, the words come a little slower than you read, and the cursor has to wait for them. At eleven it keeps ahead of you.

Here is what the figures beside this text mean:

1. *Time to first token* is how long you looked at an empty answer.
2. *Tokens per second* is how fast the text came after that.
3. The *pace* is the fastest reader who would hardly have had to wait.

Stop the answer whenever you like: what was written so far stays on the page.
`,
	`You are reading a scripted answer; there is no model behind it. Its text is fixed, and only its speed is real.

Scripts are useful to try things out:

- how a list looks while it is still being written,
- whether a long line wraps on a narrow phone,
- what happens when you press Stop in the middle of a word.

They can hold code, too. This function says how long a reader waits in all when text comes at one rate and is read at another:

` + "```go" + `
// wait returns the seconds that a reader of pace r loses over n tokens
// that come at v tokens per second.
func wait(n int, v, r float64) float64 {
	if v >= r {
		return 0
	}
	return float64(n-1) * (1/v - 1/r)
}
` + "```" + `

For two hundred tokens at five per second, read at eleven, that is about twenty-two seconds.
`,
	`A scripted answer again, written in advance and played back token by token.

Think of it as a test picture. It has short words and long ones, such as "incomprehensibilities"; it has characters that take several bytes, such as é, ß, 你好 and 🙂; and it has a quotation:

> Measure what is measurable, and make measurable what is not so.

When a real model is loaded, the same page shows the same figures for it: how long the prompt took to read, how fast the answer came, how warm the processor got meanwhile, and how much memory was left. Then you can tell whether the board is fast enough for the people who are to use it.
`,
	`Hello! This answer comes from a script, not from a model, so do not look for sense in how it fits your question.

Small computers write text the way it appears here: one token after another, each a short word or a part of one. Two things decide whether that is pleasant to read.

First, the wait before the first word. A long question, or a long chat before it, has to be read by the model, and that takes time.

Second, the pace afterwards. Most people read between four and seven tokens of English in a second. If the text comes more slowly than that, the eyes arrive at the end of the line before the words do.

Both are shown below this answer when it has ended.
`,
}
