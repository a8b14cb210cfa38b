package views

import (
	"strings"
	"testing"
)

func pts(values ...float64) []Point {
	out := make([]Point, len(values))
	for i, v := range values {
		out[i] = Point{Value: v, Known: v >= 0} // a negative value is a gap
	}
	return out
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		name       string
		points     []Point
		line, area string
	}{
		{"nothing", nil, "", ""},
		{"unknown", pts(-1, -1), "", ""},
		{"rise", pts(0, 10), "M0 11L100 1", "M0 12L0 11L100 1L100 12Z"},
		{"gap", pts(0, 0, -1, 10, 10), "M0 11L25 11M75 1L100 1", "M0 12L0 11L25 11L25 12ZM75 12L75 1L100 1L100 12Z"},
		{"single at the end", pts(-1, -1, 5), "M100 6h.1", "M50 12V6h50V12Z"},
		{"beyond the scale", pts(-1, 99, 99), "M50 1L100 1", "M50 12L50 1L100 1L100 12Z"},
	} {
		if got := linePath(c.points, scale{0, 10}, 100, 12); got != c.line {
			t.Errorf("%s: line %q, want %q", c.name, got, c.line)
		}
		if got := areaPath(c.points, scale{0, 10}, 100, 12); got != c.area {
			t.Errorf("%s: area %q, want %q", c.name, got, c.area)
		}
	}
}

func TestAround(t *testing.T) {
	if got := around(pts(50, 51), 8); got != (scale{46.5, 54.5}) {
		t.Errorf("a small change fills the drawing: %v", got)
	}
	if got := around(pts(40, 80), 8); got != (scale{40, 80}) {
		t.Errorf("got %v", got)
	}
	if got := around(nil, 8); got != (scale{0, 8}) {
		t.Errorf("got %v", got)
	}
}

// TestSegments: the parts of the memory bar add up to its length, whatever the
// figures say.
func TestSegments(t *testing.T) {
	for name, m := range map[string]MemoryModel{
		"usual":    {Total: 8 << 30, Model: 2 << 30, Cache: 1 << 28, Process: 1 << 27, Free: 5 << 30},
		"too much": {Total: 1 << 30, Model: 2 << 30, Free: 1 << 30},
		"all free": {Total: 1 << 30, Free: 1 << 30},
	} {
		var bytes uint64
		for _, s := range m.segments() {
			bytes += s.Bytes
			if strings.HasPrefix(s.Width, "-") {
				t.Errorf("%s: %s has width %s", name, s.Key, s.Width)
			}
		}
		if name != "too much" && bytes != m.Total {
			t.Errorf("%s: the parts have %d bytes of %d", name, bytes, m.Total)
		}
	}
	if got := (MemoryModel{}).segments(); len(got) != 0 {
		t.Errorf("an unknown memory has parts: %v", got)
	}
}

func TestQRCode(t *testing.T) {
	if _, _, ok := qrCode(""); ok {
		t.Error("no address has a code")
	}
	if _, _, ok := qrCode(strings.Repeat("x", 5000)); ok {
		t.Error("an address too long for a code has one")
	}
	path, side, ok := qrCode("http://192.168.1.20:8080")
	// the first finder pattern begins with a run of seven modules
	if !ok || side < 21+2*qrQuiet || !strings.HasPrefix(path, "M4 4h7v1h-7z") {
		t.Errorf("code of side %d begins %.20q, %t", side, path, ok)
	}
}
