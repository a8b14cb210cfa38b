package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// sampled is how much of each end of a file goes into its key. Hashing a whole
// model takes minutes on a memory card; size, time and both ends tell apart
// everything but a change made in the middle by someone who sets the time
// back, and who can do that can change this program as well.
const sampled = 1 << 20

// FileKey identifies a file's content and the build that tries it.
func FileKey(path, build string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%d\n", build, info.Size(), info.ModTime().UnixNano())
	for _, from := range []int64{0, max(0, info.Size()-sampled)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, from, sampled)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// record is the path of a key's record.
func (p *Prober) record(key string) string {
	return filepath.Join(p.Cache, "tried-models", key)
}

func (p *Prober) remembers(key string) bool {
	if p.Cache == "" {
		return false
	}
	_, err := os.Stat(p.record(key))
	return err == nil
}

// remember notes that a file passed. A folder that cannot be written costs a
// second try next time and nothing else, so that is no error.
func (p *Prober) remember(key, path string) {
	if p.Cache == "" {
		return
	}
	name := p.record(key)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return
	}
	// For people: the name alone is what counts.
	text := fmt.Sprintf("%s passed on %s\n%s\n", path, time.Now().Format(time.DateTime), p.Build)
	_ = os.WriteFile(name, []byte(text), 0o644)
}
