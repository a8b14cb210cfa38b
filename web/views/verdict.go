package views

import "time"

// VerdictModel fills Verdict: what an answer took, in two parts, the wait
// before and the pace after. The measures are those of package reader.
type VerdictModel struct {
	// Finish is why the reply ended, as llm.Finish.
	Finish string
	// Error is a sentence for people when Finish is "error".
	Error string

	// Headline is the verdict in plain words; not shown without a token.
	Headline string

	Tokens        int // of the reply, reasoning included
	ThoughtTokens int // of these, reasoning
	PromptTokens  int
	CachedTokens  int

	Queue   time.Duration
	Prefill time.Duration
	// TTFT is the time to the first token, FirstAnswer to the first that is
	// not reasoning; nil without one.
	TTFT        *time.Duration
	FirstAnswer *time.Duration
	E2E         time.Duration

	// TPS is the answer's mean tokens/s; nil when undefined.
	TPS *float64
	// SustainedTPS is r*, the pace of the fastest reader who hardly waits;
	// nil with Unbounded set is "faster than can be told".
	SustainedTPS *float64
	Unbounded    bool
	// Buffered is set when the tokens came in one instant and no rate can be
	// told.
	Buffered bool
	// Short is set for answers below reader.MinTokens: only the time is told.
	Short bool

	// TargetTPS is the reader's pace and Wait is W(TargetTPS). Ahead is the
	// verdict: the reader waited no longer than the patience allows.
	TargetTPS float64
	Wait      time.Duration
	Ahead     bool
	// AverageTPS is the slower, average reader, WaitAverage is W(AverageTPS).
	AverageTPS  float64
	WaitAverage time.Duration

	// WordsPerMinute is the speed of the text produced; nil when undefined.
	// CharsPerMinute is set in its place for Chinese, Japanese and Korean.
	WordsPerMinute *float64
	CharsPerMinute *float64

	// Model and Size name what answered. Small is set below 1 billion
	// parameters, where the pace says nothing of usefulness.
	Model string
	Size  string
	Small bool
}
