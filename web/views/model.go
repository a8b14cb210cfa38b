package views

// PageModel is everything of the first paint.
type PageModel struct {
	// Version is the server's; a page of another version reloads itself once.
	Version string
	// Host is the machine's name. It stands in the title, so that three boxes
	// can be told apart.
	Host     string
	State    StateModel
	Board    BoardModel
	Empty    EmptyModel
	Settings SettingsModel
	// TargetTPS and AverageTPS are the paces of the two readers, tokens/s;
	// both must be positive. See reader.Target and reader.Average.
	TargetTPS  float64
	AverageTPS float64
	// PatienceS is how long a reader may wait in all, seconds, before a pace
	// no longer counts as kept. See reader.Patience.
	PatienceS float64
	// MaxInput is the longest message the server takes, in bytes; 0 is no
	// limit that the page should know of.
	MaxInput int
}

// Phase says what the model is doing; the values are those of llm.Phase.
type Phase string

// The phases of a model.
const (
	PhaseLoading  Phase = "loading"
	PhaseReady    Phase = "ready"
	PhaseFailed   Phase = "failed"
	PhaseStopping Phase = "stopping"
)

// StateModel fills Header and StateNotices.
type StateModel struct {
	Host  string
	Phase Phase
	// Progress is how much of the model is loaded, 0 to 1; it counts while
	// Phase is PhaseLoading. Note says what is being done, in words.
	Progress float64
	Note     string
	// Failure says why the model could not be loaded and what to do; it
	// counts while Phase is PhaseFailed.
	Failure string
	// Model is the model's name for people, Size its parameters and
	// quantization, such as "135M · Q4_1". Both are empty until known.
	Model string
	Size  string
	// Scripted is set when answers are played from a script, not computed.
	Scripted bool
	// ScriptPaceTPS is the pace a scripted backend plays at; 0 is unknown.
	ScriptPaceTPS float64
	// Base is set when the model brings no chat template: it goes on with a
	// text rather than answering.
	Base bool
	// Better names a larger model for this machine; nil is none.
	Better *BetterModel
	// Thinking is set when the template knows a switch for reasoning.
	Thinking bool
}

// BetterModel is a model that the machine could run in place of a very small
// one.
type BetterModel struct {
	Name string
	// PaceTPS is the pace to expect, 0 where unknown. PaceKind says where it
	// comes from, "published" or "projected", and Board what board it is of.
	PaceTPS         float64
	PaceKind, Board string
	// Command is what to type on the machine.
	Command string
}

// EmptyModel fills the page before the first question.
type EmptyModel struct {
	// Board is what the machine is, such as "Raspberry Pi 5 Model B"; empty
	// when unknown.
	Board string
	// Questions are two or three to tap.
	Questions []string
	// Address is the URL of this box in the local network, by number; the QR
	// code is drawn from it. Empty leaves both out.
	Address string
}

// SettingsModel carries the server's defaults, which the settings sheet shows
// where the reader has set nothing.
type SettingsModel struct {
	System        string
	Temperature   float64
	TopK          int
	TopP          float64
	MinP          float64
	RepeatPenalty float64
	MaxTokens     int
	// Window is the context window of one chat in tokens; 0 while unknown.
	Window int
}
