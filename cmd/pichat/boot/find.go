package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultModel is the file that `make model` fetches.
const DefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf"

// ErrNoModel means that no model was named and none was found.
var ErrNoModel = errors.New("no model found")

// ModelFolders lists where a model is looked for when none is named, in order:
// models/ in the working directory, models/ beside the program or beside the
// program's folder (bin/pichat), and the folder of installed models. program
// is the program's path; "" leaves its folders out.
func ModelFolders(program, installed string) []string {
	folders := []string{"models"}
	if program != "" {
		dir := filepath.Dir(program)
		folders = append(folders, filepath.Join(dir, "models"), filepath.Join(dir, "..", "models"))
	}
	if installed != "" {
		folders = append(folders, installed)
	}
	return folders
}

// FindModel returns the first folder's default model, or its only model. The
// error wraps ErrNoModel, or asks to choose when a folder holds several.
//
// fetch is the command that the error names for getting a model.
func FindModel(folders []string, fetch string) (string, error) {
	for _, folder := range folders {
		models, err := modelsIn(folder)
		if err != nil {
			return "", err
		}
		switch {
		case slices.Contains(models, DefaultModel):
			return filepath.Join(folder, DefaultModel), nil
		case len(models) == 1:
			return filepath.Join(folder, models[0]), nil
		case len(models) > 1:
			return "", fmt.Errorf("%s holds several models (%s): choose one with --model FILE", folder, strings.Join(models, ", "))
		}
	}
	return "", fmt.Errorf("%w in %s: fetch one with `%s`, or name one with --model FILE",
		ErrNoModel, strings.Join(folders, ", "), fetch)
}

// modelsIn lists the model files of a folder by name, of a split model the
// first part alone. A folder that is not there has none.
func modelsIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for models: %w", err)
	}
	var models []string
	for _, e := range entries {
		name := e.Name()
		later := strings.Contains(name, "-of-") && !strings.Contains(name, "-00001-of-")
		if strings.HasSuffix(strings.ToLower(name), ".gguf") && !strings.HasPrefix(name, ".") && !later {
			models = append(models, name)
		}
	}
	return models, nil
}
