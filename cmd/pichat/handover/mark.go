package handover

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
)

// markName is the environment variable by which the first program tells the
// second what it cannot find out by itself. It does not begin as the settings
// do, and neither program's work ever sees it.
const markName = "_PICHAT_HANDOVER"

// setMark returns environ with a mark. Half is two strings, which always encode.
func setMark(environ []string, half *Half) []string {
	text, _ := json.Marshal(half)
	return append(slices.Clone(environ), markName+"="+string(text))
}

// takeMark returns the mark in environ, nil where there is none, and environ
// without it. The process's own environment loses it too, so that no child of
// this process takes it for its own.
func takeMark(environ []string) (*Half, []string) {
	isMark := func(pair string) bool { return strings.HasPrefix(pair, markName+"=") }
	i := slices.IndexFunc(environ, isMark)
	if i < 0 {
		return nil, environ
	}
	_ = os.Unsetenv(markName) // fails only for a name that is no name
	half := &Half{}
	if err := json.Unmarshal([]byte(environ[i][len(markName)+1:]), half); err != nil {
		half.Reason = "handed over, by a mark in the environment that does not read"
	}
	return half, slices.DeleteFunc(slices.Clone(environ), isMark)
}

// nameProcess gives the process its name back: after an exec of an open file
// the kernel calls it by the file's number, and so would ps and top. It is a
// nicety, so a failure is not worth a word.
func nameProcess() { _ = os.WriteFile("/proc/self/comm", []byte("pichat"), 0) }
