package main

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestFigureIsWellFormedAndWithinItsFrame(t *testing.T) {
	f := figure{columns: 2, panels: []panel{
		{title: "a < b & c", x: "streams", lines: []line{
			{name: "first", points: []point{{1, 0}, {2, 3}, {8, 5}}},
			{name: "rule", rule: true, points: []point{{1, 2}, {8, 2}}}}},
		{title: "logarithmic", log: true, lines: []line{{name: "first", dashed: true, points: []point{{1, 0.2}, {8, 700}}}}},
	}}
	svg := string(f.svg())
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	for _, want := range []string{"a &lt; b &amp; c", ">first<", ">rule<", "prefers-color-scheme:dark", "stroke-dasharray", ">1000<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("a point is nowhere:\n%s", svg)
	}
	if bad := regexp.MustCompile(`[ML]-`).FindString(svg); bad != "" {
		t.Errorf("a line leaves its frame:\n%s", svg)
	}
	if got := len(f.svg()); got > 4000 {
		t.Errorf("%d bytes for two small panels", got)
	}
}
