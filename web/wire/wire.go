// Package wire defines the JSON frames between the page and the server, both
// ways, over the websocket at /ws. Every frame is an object with a "type".
// Durations are seconds, as in the API; unknown values are left out.
//
// A page opens the socket and sends Hello with the turns it has kept in the
// browser (the server keeps no conversation). The server answers with Welcome,
// then State and Vitals whenever they change. Ask starts a reply, whose id the
// page has chosen; its frames Queued, Prefilling, Text and Done carry a serial
// number from 1. A reply goes on for a while after its socket is lost: a page
// that comes back names it in Hello with the last serial it has seen, and gets
// every later frame.
package wire

// Types of frames from the page.
const (
	TypeHello = "hello"
	TypeAsk   = "ask"
	TypeStop  = "stop"
)

// Types of frames from the server.
const (
	TypeWelcome    = "welcome"
	TypeState      = "state"
	TypeVitals     = "vitals"
	TypeQueued     = "queued"
	TypePrefilling = "prefilling"
	TypeText       = "text"
	TypeDone       = "done"
	TypeError      = "error"
)

// FromPage is any frame from the page; which fields count depends on Type.
type FromPage struct {
	Type string `json:"type"`
	// ID names a reply (ask, stop): 8 to 64 letters, digits or dashes, chosen
	// at random by the page.
	ID string `json:"id,omitempty"`
	// Turns is the whole chat, oldest first (hello, ask). The last turn of an
	// ask is the user's.
	Turns []Turn `json:"turns,omitempty"`
	// Settings of an ask; left out means the server's defaults.
	Settings *Settings `json:"settings,omitempty"`
	// Resume names a reply that was running when the page was lost (hello).
	Resume *Resume `json:"resume,omitempty"`
}

// Turn is one message of a chat.
type Turn struct {
	Role    string `json:"role"` // "user" or "assistant"
	Content string `json:"content"`
	Thought string `json:"thought,omitempty"`
}

// Settings are a page's wishes for a reply.
type Settings struct {
	System        string   `json:"system,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopK          *int     `json:"top_k,omitempty"`
	TopP          *float64 `json:"top_p,omitempty"`
	MinP          *float64 `json:"min_p,omitempty"`
	RepeatPenalty *float64 `json:"repeat_penalty,omitempty"`
	Seed          *uint32  `json:"seed,omitempty"`
	MaxTokens     *int     `json:"max_tokens,omitempty"`
	Thinking      *bool    `json:"thinking,omitempty"`
}

// Resume asks for the frames of a reply after a serial number.
type Resume struct {
	ID    string `json:"id"`
	After int    `json:"after"` // last serial seen, 0 for none
}

// Welcome answers Hello.
type Welcome struct {
	Type string `json:"type"`
	// HTML renders the turns of Hello, one fragment a turn, in order. The
	// markup is sanitised: it may be put into the page as it is.
	HTML []string `json:"html"`
	// Resumed tells whether the reply named in Hello is still known.
	Resumed bool `json:"resumed"`
	// Version is the server's; a page of another version reloads itself once.
	Version string `json:"version"`
}

// State says what the model is doing; HTML is the header's fragment.
type State struct {
	Type     string  `json:"type"`
	Phase    string  `json:"phase"` // loading, ready, failed, stopping
	Progress float64 `json:"progress"`
	Note     string  `json:"note,omitempty"`
	HTML     string  `json:"html"` // header fragment: name, model, state dot and word
	// Notices is the fragment of what the reader should know of the model:
	// loading, failed, scripted, without a template. It may be empty.
	Notices string `json:"notices"`
	// Thinking tells whether the template knows a switch for reasoning.
	Thinking bool `json:"thinking"`
}

// Vitals carries the panel's figures once a second. HTML replaces the board
// strip's rows, whose sparklines the server has drawn as SVG.
type Vitals struct {
	Type string `json:"type"`
	HTML string `json:"html"` // board rows of the panel
	Line string `json:"line"` // the phone's one line of vitals, as HTML
	// Notices is the fragment of what holds the board back now; mostly empty.
	Notices string `json:"notices"`
	// PaceTPS is the pace of the reply now being written on this engine over
	// the last seconds; left out when none is.
	PaceTPS *float64 `json:"pace_tps,omitempty"`
}

// Queued says that a reply waits for a slot.
type Queued struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	Serial    int     `json:"serial"`
	Place     int     `json:"place"`
	EstimateS float64 `json:"estimate_s,omitempty"`
}

// Prefilling says how much of the prompt is read.
type Prefilling struct {
	Type         string  `json:"type"`
	ID           string  `json:"id"`
	Serial       int     `json:"serial"`
	PromptTokens int     `json:"prompt_tokens"`
	CachedTokens int     `json:"cached_tokens"`
	Done         int     `json:"done"`
	EstimateS    float64 `json:"estimate_s,omitempty"`
	// LeftOut is how many messages at the beginning of the chat no longer fit
	// the model's window.
	LeftOut int `json:"left_out,omitempty"`
}

// Text carries new text of a reply. The page appends Delta to the turn's raw
// content (or thought) and shows HTML: Blocks replaces everything from block
// number From on, so that finished blocks are never touched again.
type Text struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Serial  int       `json:"serial"`
	Delta   string    `json:"delta"`
	Thought bool      `json:"thought,omitempty"`
	Tokens  []int     `json:"tokens"` // per token group: number of tokens …
	AtS     []float64 `json:"at_s"`   // … and when it left the scheduler, since arrival
	From    int       `json:"from"`
	Blocks  []string  `json:"blocks"` // sanitised HTML, one element a block
}

// Done ends a reply.
type Done struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Serial  int     `json:"serial"`
	Finish  string  `json:"finish"` // as llm.Finish
	Timings Timings `json:"timings"`
	HTML    string  `json:"html"` // the verdict's fragment
	// Error is set when finish is "error": a sentence for people.
	Error string `json:"error,omitempty"`
}

// Timings are a reply's measures, names and formulas as in docs/glossary.md.
// Values that are undefined for a reply are left out.
type Timings struct {
	PromptTokens  int      `json:"prompt_tokens"`
	CachedTokens  int      `json:"cached_tokens"`
	Tokens        int      `json:"completion_tokens"`
	ThoughtTokens int      `json:"thought_tokens,omitempty"`
	QueueS        float64  `json:"queue_s"`
	PrefillS      float64  `json:"prefill_s"`
	TTFTS         *float64 `json:"ttft_s,omitempty"`
	FirstAnswerS  *float64 `json:"first_answer_s,omitempty"`
	TPS           *float64 `json:"tps,omitempty"`
	TPOTS         *float64 `json:"tpot_s,omitempty"`
	PrefillTPS    *float64 `json:"prefill_tps,omitempty"`
	SustainedTPS  *float64 `json:"sustained_tps,omitempty"` // r*
	ReaderWaitS   *float64 `json:"reader_wait_s,omitempty"` // W(target)
	E2ES          float64  `json:"e2e_s"`
}

// Error refuses a frame or an ask. The chat stays as it is.
type Error struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Code    string `json:"code"`    // e.g. context_full, queue_full, loading, bad_frame
	Message string `json:"message"` // what is wrong and what to do
}
