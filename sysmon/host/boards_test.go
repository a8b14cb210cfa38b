package host

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"pichat/sysmon"
)

var update = flag.Bool("update", false, "rewrite the file want in testdata/*.txtar")

// unpack writes the files of a testdata archive under a new directory and
// returns it. The device tree's strings end with a NUL, as the kernel's do.
func unpack(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range archive.Files {
		data := string(f.Data)
		if strings.HasPrefix(f.Name, "proc/device-tree/") {
			data = strings.TrimSuffix(data, "\n") + "\x00"
		}
		put(t, root, f.Name, data)
	}
	return root
}

func parse(t testing.TB, file string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// board unpacks testdata/name.txtar.
func board(t testing.TB, name string) string {
	t.Helper()
	return unpack(t, parse(t, filepath.Join("testdata", name+".txtar")))
}

// put writes one file of a tree.
func put(t testing.TB, root, name, data string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// remove takes a file or directory out of a tree.
func remove(t testing.TB, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

// Every reading of every board, as the archive's file want has it.
func TestBoards(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 11 {
		t.Fatalf("found %d boards (%v), want at least 11", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := parse(t, file)
			synctest.Test(t, func(t *testing.T) {
				snapshot := sampleTwice(t, unpack(t, archive), strings.Contains(file, "pi5"))
				if _, err := json.Marshal(snapshot); err != nil {
					t.Errorf("snapshot has no JSON: %v", err)
				}
				got := describe(snapshot)
				for i, f := range archive.Files {
					if f.Name != "want" {
						continue
					}
					if *update {
						archive.Files[i].Data = []byte(got)
						if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
							t.Fatal(err)
						}
					} else if string(f.Data) != got {
						t.Errorf("read\n%s\nwant\n%s", got, f.Data)
					}
				}
			})
		})
	}
}

// sampleTwice reads root, lets a second pass in which the files under
// root/later take their place, and reads again.
func sampleTwice(t *testing.T, root string, bigPages bool) *sysmon.Snapshot {
	t.Helper()
	readers := Readers(boardReaders(root))
	// The one thing that is of this process and not of a tree.
	begin := time.Now()
	readers.ProcessTime = func(context.Context) sysmon.Reading[time.Duration] {
		return sysmon.Measured(time.Since(begin)/4, testSource)
	}
	pageSize := 4096
	if bigPages {
		pageSize = 16384
	}
	readers.ProcessMemory = processMemory(tree(root), pageSize)
	s, err := sysmon.New(readers, sysmon.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.Sample(t.Context())
	time.Sleep(time.Second) // of the bubble's clock
	if later, err := os.ReadFile(filepath.Join(root, "later/proc/stat")); err == nil {
		put(t, root, "proc/stat", string(later))
	}
	return s.Sample(t.Context())
}

// describe lists every reading of a snapshot, one a line.
func describe(s *sysmon.Snapshot) string {
	var b strings.Builder
	s.EachReading(func(name string, r sysmon.AnyReading) {
		if r.Known {
			fmt.Fprintf(&b, "%s: %+v (%s)\n", name, r.Value, r.Source)
		} else {
			fmt.Fprintf(&b, "%s: n/a: %s\n", name, r.Reason)
		}
	})
	return b.String()
}
