package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pichat/cmd/pichat/probe"
)

// Store remembers choices, one file for each model file and machine.
type Store struct {
	// Folder is where the files lie; "" remembers nothing.
	Folder string
	// Machine identifies program, engine and machine: with another one the
	// choice is made anew.
	Machine string
}

// Choice is what was measured and chosen.
type Choice struct {
	Model   string    `json:"model"` // path of the file, for people
	At      time.Time `json:"at"`
	Decode  int       `json:"decode_threads"`
	Prefill int       `json:"prefill_threads"`
	Results []Result  `json:"results"`
}

// ErrNowhere means that there is no folder to remember a choice in.
var ErrNowhere = errors.New("there is no cache folder: name one with --cache")

// maxThreads is the engine's limit.
const maxThreads = 512

// file is where the choice for a model file is kept.
func (s Store) file(model string) (string, error) {
	if s.Folder == "" {
		return "", ErrNowhere
	}
	key, err := probe.FileKey(model, s.Machine)
	if err != nil {
		return "", err
	}
	return filepath.Join(s.Folder, "tuned-threads", key+".json"), nil
}

// Save remembers a choice for the model file c.Model.
func (s Store) Save(c Choice) error {
	name, err := s.file(c.Model)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("remember the number of threads: %w", err)
	}
	// Written beside and renamed: a cut in power leaves the old one or the new.
	if err := os.WriteFile(name+".part", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("remember the number of threads: %w", err)
	}
	return os.Rename(name+".part", name)
}

// Load returns the choice for a model file; false where there is none, or none
// that makes sense with so many processors (0 where that is unknown).
func (s Store) Load(model string, processors int) (Choice, bool) {
	name, err := s.file(model)
	if err != nil {
		return Choice{}, false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return Choice{}, false
	}
	var c Choice
	if json.Unmarshal(data, &c) != nil {
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
