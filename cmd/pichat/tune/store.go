package tune

import (
	"time"

	"pichat/cmd/pichat/remember"
)

// Store remembers choices.
type Store struct{ remember.Folder }

// Choice is what was measured and chosen.
type Choice struct {
	Model   string    `json:"model"` // path of the file, for people
	At      time.Time `json:"at"`
	Decode  int       `json:"decode_threads"`
	Prefill int       `json:"prefill_threads"`
	Results []Result  `json:"results"`
}

// kind is what choices are remembered as.
const kind = "tuned-threads"

// maxThreads is the engine's limit.
const maxThreads = 512

// Save remembers a choice for the model file c.Model.
func (s Store) Save(c Choice) error { return s.Folder.Save(kind, c.Model, c) }

// Load returns the choice for a model file; false where there is none, or none
// that makes sense with so many processors (0 where that is unknown).
func (s Store) Load(model string, processors int) (Choice, bool) {
	var c Choice
	if !s.Folder.Load(kind, model, &c) {
		return Choice{}, false
	}
	if processors == 0 {
		processors = maxThreads
	}
	for _, n := range []int{c.Decode, c.Prefill} {
		if n < 1 || n > processors {
			return Choice{}, false
		}
	}
	return c, true
}
