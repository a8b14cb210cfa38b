package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxValue is the longest content of a file that holds one value. A larger one
// is not what we take it for.
const maxValue = 256

// readValue returns the content of a small kernel file, without the white
// space or NUL at its end. An empty file is an error.
func (t tree) readValue(name string) (string, error) {
	f, err := os.Open(t.path(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	var buf [maxValue + 1]byte
	n, err := io.ReadFull(f, buf[:])
	switch {
	case err == nil:
		return "", fmt.Errorf("more than %d bytes: %s", maxValue, name)
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return "", err
	}
	value := strings.Trim(string(buf[:n]), " \t\r\n\x00")
	if value == "" {
		return "", fmt.Errorf("empty file: %s", name)
	}
	return value, nil
}

// readNumber returns the number in a small kernel file.
func (t tree) readNumber(name string) (float64, error) {
	value, err := t.readValue(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("not a number, %q: %s", value, name)
	}
	return n, nil
}

// list returns the names of the entries of dir that begin with prefix, in the
// order of the number that follows it: hwmon2 before hwmon10. A directory that
// cannot be read has none.
func (t tree) list(dir, prefix string) []string {
	entries, err := os.ReadDir(t.path(dir))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(numberAfter(a, prefix), numberAfter(b, prefix))
	})
	return names
}

// glob lists the names in the tree that match pattern, sorted.
func (t tree) glob(pattern string) []string {
	paths, err := filepath.Glob(t.path(pattern))
	if err != nil {
		return nil // only a pattern of ours that is wrong
	}
	for i, p := range paths {
		paths[i] = t.shown(p)
	}
	return paths
}

// numberAfter returns the decimal number right after prefix in name; names
// without one sort last.
func numberAfter(name, prefix string) int {
	digits := strings.TrimPrefix(name, prefix)
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return math.MaxInt
	}
	return n
}

// reason puts an error in words for people: the cause, then the file.
func (t tree) reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return fmt.Sprintf("%s: %s", pathErr.Err, t.shown(pathErr.Path))
	}
	return err.Error()
}
