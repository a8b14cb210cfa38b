package pagetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io/fs"
	"testing"

	"pichat/web/static"
	"pichat/web/views"
)

// TestWeight: the page and all that it loads weigh at most 60 kB compressed;
// more than 40 would be worth a thought.
func TestWeight(t *testing.T) {
	var page bytes.Buffer
	if err := views.Page(pageModel()).Render(context.Background(), &page); err != nil {
		t.Fatal(err)
	}
	total := packed(t, page.Bytes())
	t.Logf("page %d bytes compressed, %d plain", total, page.Len())
	err := fs.WalkDir(static.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := static.Files.ReadFile(name)
		if err != nil {
			return err
		}
		n := packed(t, data)
		t.Logf("%s %d", name, n)
		total += n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("in all %d", total)
	if total > 40_000 {
		t.Errorf("the page weighs %d bytes compressed, want at most 40,000", total)
	}
}

func packed(t *testing.T, data []byte) int {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
