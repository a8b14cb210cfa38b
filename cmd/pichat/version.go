package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/licences"
	"pichat/llm/llamacpp"
)

// version prints what this program is made of.
func (a *app) version(c *config.Version) error {
	if c.Licences {
		_, err := io.WriteString(a.stdout, licences.Text)
		return err
	}
	e := llamacpp.Engine()
	_, err := fmt.Fprintf(a.stdout, `pichat     %s
llama.cpp  %s (%s), flavour %s, build %s
           %s
program    %s
CPU        uses %s
           misses %s
Go         %s %s/%s
`, version, e.Version, e.Commit, e.Flavour, e.Key, e.Flags, half.Reason,
		words(e.FeaturesUsed, "nothing beyond the architecture's base"),
		words(e.FeaturesMissed, "nothing that this CPU has"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// words joins a list, or says what an empty one means.
func words(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, " ")
}
