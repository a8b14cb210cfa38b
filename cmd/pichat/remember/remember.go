// Package remember keeps what was measured of a model on this machine from run
// to run: small JSON files in the cache folder, one for each kind of thing, model
// file, program and machine. With another of these it is measured anew.
package remember

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pichat/cmd/pichat/probe"
)

// Folder is where things are remembered.
type Folder struct {
	// Path is the cache folder; "" remembers nothing.
	Path string
	// Machine identifies program, engine and machine.
	Machine string
}

// ErrNowhere means that there is no folder to remember in.
var ErrNowhere = errors.New("there is no cache folder: name one with --cache")

func (f Folder) file(kind, model string) (string, error) {
	if f.Path == "" {
		return "", ErrNowhere
	}
	key, err := probe.FileKey(model, f.Machine)
	if err != nil {
		return "", err
	}
	return filepath.Join(f.Path, kind, key+".json"), nil
}

// Save remembers v as the thing of that kind for a model file.
func (f Folder) Save(kind, model string, v any) error {
	name, err := f.file(kind, model)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("remember %s: %w", kind, err)
	}
	// Written beside and renamed: a cut in power leaves the old one or the new.
	if err := os.WriteFile(name+".part", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("remember %s: %w", kind, err)
	}
	return os.Rename(name+".part", name)
}

// Load fills v with what is remembered; false, with v as it may be, where
// nothing is or it cannot be read.
func (f Folder) Load(kind, model string, v any) bool {
	name, err := f.file(kind, model)
	if err != nil {
		return false
	}
	data, err := os.ReadFile(name)
	return err == nil && json.Unmarshal(data, v) == nil
}
