package llamacpp

// #include "shim.h"
import "C"

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
)

// EngineInfo describes the llama.cpp that this program is linked with.
type EngineInfo struct {
	Version string // as upstream numbers it, e.g. "0.5.0"
	Commit  string // upstream's commit, short
	Flavour string // which CPUs it was built for, e.g. "native"
	Key     string // of the build in the engine cache
	Flags   string // CMake flags and compiler, for people
	// FeaturesUsed are the CPU features that this build uses, as ggml names them.
	FeaturesUsed []string
	// FeaturesMissed are those of ggml's features that this machine's CPU has
	// and the build does not use: a build for this CPU would be faster. It is
	// nil where the CPU's features cannot be read.
	FeaturesMissed []string
}

// Engine describes the linked llama.cpp. It may be called from any goroutine
// and loads nothing.
func Engine() EngineInfo {
	e := EngineInfo{
		Version: engineVersion,
		Commit:  engineCommit,
		Flavour: engineFlavour,
		Key:     engineKey,
		Flags:   engineFlags,
	}
	all := map[string]bool{} // feature: used by the build
	for i := 0; ; i++ {
		var used C.int
		name := C.pc_cpu_feature(C.int(i), &used)
		if name == nil {
			break
		}
		feature := C.GoString(name)
		all[feature] = used != 0
		if used != 0 {
			e.FeaturesUsed = append(e.FeaturesUsed, feature)
		}
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return e
	}
	defer f.Close()
	e.FeaturesMissed = missed(all, cpuFlags(f))
	return e
}

// kernelNames says how Linux names the features that ggml names, where the
// names differ. All the names of a row must be there.
var kernelNames = map[string][]string{
	"sse3":        {"pni"},
	"avx512":      {"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"},
	"avx512_vbmi": {"avx512vbmi"},
	"neon":        {"asimd"},
	"fp16":        {"asimdhp"},
	"dotprod":     {"asimddp"},
}

// missed returns the features that the CPU has and the build does not use.
func missed(features, cpu map[string]bool) []string {
	var names []string
	for feature, used := range features {
		kernel := kernelNames[feature]
		if kernel == nil {
			kernel = []string{feature}
		}
		if feature == "fma" && cpu["asimd"] {
			kernel = []string{"asimd"} // every ARM CPU with NEON multiplies and adds at once
		}
		has := !slices.ContainsFunc(kernel, func(k string) bool { return !cpu[k] })
		if has && !used {
			names = append(names, feature)
		}
	}
	slices.Sort(names)
	return names
}

// cpuFlags reads the first CPU's feature flags from /proc/cpuinfo.
func cpuFlags(r io.Reader) map[string]bool {
	flags := map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), ":")
		key = strings.TrimSpace(key)
		if !found || key != "flags" && key != "Features" {
			continue
		}
		for f := range strings.FieldsSeq(value) {
			flags[f] = true
		}
		break
	}
	return flags
}
