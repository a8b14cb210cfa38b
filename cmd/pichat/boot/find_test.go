package boot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindModel(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	empty := folder(t, "README", ".hidden.gguf")
	one := folder(t, "a.gguf", "a.txt")
	split := folder(t, "b-00001-of-00002.gguf", "b-00002-of-00002.gguf")
	both := folder(t, "a.gguf", DefaultModel)
	several := folder(t, "a.gguf", "b.GGUF")

	tests := []struct {
		name    string
		folders []string
		want    string
	}{
		{"the only one", []string{none, empty, one, both}, filepath.Join(one, "a.gguf")},
		{"the default among others", []string{both}, filepath.Join(both, DefaultModel)},
		{"the first part of a split one", []string{split}, filepath.Join(split, "b-00001-of-00002.gguf")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := FindModel(tt.folders, ""); got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}

	if _, err := FindModel([]string{none, empty}, "pichat model pull tiny"); !errors.Is(err, ErrNoModel) || !strings.Contains(err.Error(), "`pichat model pull tiny`") {
		t.Errorf("no model: %v", err)
	}
	if _, err := FindModel([]string{several, one}, ""); err == nil || !strings.Contains(err.Error(), "a.gguf, b.GGUF") {
		t.Errorf("several models: %v", err)
	}
}

func TestModelFolders(t *testing.T) {
	got := strings.Join(ModelFolders("/opt/pichat/bin/pichat", "/srv/models"), " ")
	if want := "models /opt/pichat/bin/models /opt/pichat/models /srv/models"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
