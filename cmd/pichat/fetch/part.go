package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// version says what a part is a part of. It stands beside the part.
type version struct {
	URL       string `json:"url"`
	Validator string `json:"validator"`
	Bytes     int64  `json:"bytes"`
}

func (p *pull) versionFile() string { return p.part + ".json" }

// resume makes the part ready and returns how many bytes of it can be kept: of
// the same version of the same file, or none.
func (p *pull) resume(r remote) (int64, error) {
	now := version{p.file.URL, r.validator, r.size}
	if st, err := os.Lstat(p.part); err == nil {
		if p.isVersion(now) && st.Mode().IsRegular() && (r.size < 0 || st.Size() <= r.size) {
			if st.Size() > 0 && r.continues(p.file) {
				p.note("going on after %d of %d bytes", st.Size(), r.size)
			}
			return st.Size(), nil
		}
		p.note("an unfinished download is of another version of the file: beginning anew")
	}
	p.discard()
	f, err := os.OpenFile(p.part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("nothing can be stored in the folder of models: %w; choose another with --dir, or become its owner", err)
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return 0, err
	}
	return 0, os.WriteFile(p.versionFile(), text, 0o644)
}

func (p *pull) isVersion(now version) bool {
	text, err := os.ReadFile(p.versionFile())
	var then version
	return err == nil && json.Unmarshal(text, &then) == nil && then == now
}

// discard removes what is unfinished. What cannot be removed is found to be of
// another version, or to be of a wrong checksum, by the next try.
func (p *pull) discard() {
	_ = os.Remove(p.part)
	_ = os.Remove(p.versionFile())
}

// already reports whether the whole file is there. A file of that name with
// other content is an error: it is its owner's.
func (p *pull) already() (Result, bool, error) {
	st, err := os.Stat(p.final)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, err
	}
	if p.file.SHA256 == "" {
		return Result{}, false, fmt.Errorf("%s is there already, and without --sha256 nothing says whether it is the same file: use it, or remove it with `pichat model rm %s`", p.final, p.file.Name)
	}
	sum, err := p.hash(p.final)
	if err != nil {
		return Result{}, false, err
	}
	if sum != p.file.SHA256 {
		return Result{}, false, fmt.Errorf("%w: %s is there already and has the sha256 %s, wanted is %s: remove it with `pichat model rm %s` and pull again",
			ErrChecksum, p.final, sum, p.file.SHA256, p.file.Name)
	}
	return Result{Path: p.final, Bytes: uint64(st.Size()), SHA256: sum, Already: true}, true, nil
}
