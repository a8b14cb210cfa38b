package llamacpp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEngine(t *testing.T) {
	e := Engine()
	if e.Version == "" || e.Commit == "" || e.Flavour == "" || e.Key == "" {
		t.Errorf("the engine does not say what it is: %+v", e)
	}
	for _, f := range e.FeaturesUsed {
		if slices.Contains(e.FeaturesMissed, f) {
			t.Errorf("%s is used and missed", f)
		}
	}
	if e.Flavour == "native" && len(e.FeaturesMissed) > 0 && !slices.Equal(e.FeaturesMissed, []string{"amx_int8"}) {
		t.Logf("a build for this CPU misses %v", e.FeaturesMissed)
	}
}

func TestMissed(t *testing.T) {
	arm := map[string]bool{"neon": true, "fma": true, "fp16": false, "dotprod": false, "i8mm": false}
	x86 := map[string]bool{"sse3": true, "avx2": true, "fma": false, "avx512": false, "avx512_vnni": false}
	for _, tt := range []struct {
		name     string
		cpuinfo  string
		features map[string]bool
		want     string
	}{
		{"Pi 4", "processor\t: 0\nFeatures\t: fp asimd evtstrm crc32 cpuid\n", arm, "[]"},
		{"Pi 5", "processor\t: 0\nFeatures\t: fp asimd aes crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp\n", arm, "[dotprod fp16]"},
		{"PC", "flags\t\t: pni avx2 fma avx512f avx512cd\n", x86, "[fma]"},
		{"PC with all of AVX-512", "flags : pni avx2 fma avx512f avx512cd avx512vl avx512dq avx512bw avx512_vnni\n", x86, "[avx512 avx512_vnni fma]"},
		{"nothing known", "", x86, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(missed(tt.features, cpuFlags(strings.NewReader(tt.cpuinfo)))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPhysicalCores(t *testing.T) {
	for _, tt := range []struct {
		name     string
		siblings map[int]string
		allowed  []int
		want     int
	}{
		{"four cores", map[int]string{0: "0", 1: "1", 2: "2", 3: "3"}, []int{0, 1, 2, 3}, 4},
		{"two cores of two threads", map[int]string{0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, []int{0, 1, 2, 3}, 2},
		{"bound to one of them", map[int]string{0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, []int{0, 2}, 1},
		{"topology not told", nil, []int{0, 1, 70}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for cpu, list := range tt.siblings {
				dir := filepath.Join(root, fmt.Sprintf("cpu%d", cpu), "topology")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "thread_siblings_list"), []byte(list+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var set unix.CPUSet
			for _, cpu := range tt.allowed {
				set.Set(cpu)
			}
			if got := physicalCores(root, &set); got != tt.want {
				t.Errorf("got %d cores, want %d", got, tt.want)
			}
		})
	}
	if n := DefaultThreads(); n < 1 || n > maxThreads {
		t.Errorf("the default is %d threads", n)
	}
}
