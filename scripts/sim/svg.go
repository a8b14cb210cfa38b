package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// figure is panels side by side, with one legend below.
type figure struct {
	panels  []panel
	columns int
}

// panel is a chart of lines over a common x axis that starts at its least
// point.
type panel struct {
	title, x string
	log      bool // the y axis
	lines    []line
}

// line is drawn dashed when derived or fixed, and thin and grey as a rule.
type line struct {
	name         string
	points       []point
	dashed, rule bool
}

type point struct{ x, y float64 }

// Sizes in pixels.
const (
	panelWidth, panelHeight = 320, 220
	left, right             = 44, 12
	top, bottom             = 30, 38
	legendWidth, legendRow  = 235, 18
)

// colours are Okabe and Ito's, which people with colour blindness tell apart;
// all are legible on white and on black.
var colours = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c00", "#9467bd"}

func (f figure) svg() []byte {
	var b bytes.Buffer
	names := f.panels[0].lines
	columns := min(f.columns, len(f.panels))
	rows := (len(f.panels) + columns - 1) / columns
	width := columns * panelWidth
	across := max(1, width/legendWidth)
	legendRows := (len(names) + across - 1) / across
	height := rows*panelHeight + legendRows*legendRow + 10
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui,sans-serif" font-size="11">`+"\n", width, height, width, height)
	b.WriteString(`<style>text{fill:#333}.a{stroke:#999}.g{stroke:#999;stroke-opacity:.25}.r{stroke:#777;stroke-dasharray:2 3}path{fill:none}` +
		`@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>` + "\n")
	for i, p := range f.panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWidth, i/columns*panelHeight)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	for i, l := range names {
		x, y := 10+i%across*legendWidth, rows*panelHeight+i/across*legendRow+12
		fmt.Fprintf(&b, `<path d="M%d %dh24" %s/><text x="%d" y="%d">%s</text>`+"\n", x, y-4, l.style(i), x+30, y, html.EscapeString(l.name))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (l line) style(i int) string {
	switch {
	case l.rule:
		return `class="r"`
	case l.dashed:
		return fmt.Sprintf(`stroke="%s" stroke-width="1.6" stroke-dasharray="5 3"`, colours[i%len(colours)])
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="2.2"`, colours[i%len(colours)])
}

func (p panel) draw(b *bytes.Buffer) {
	s := p.scale()
	fmt.Fprintf(b, `<text x="%d" y="18" font-weight="600">%s</text>`+"\n", left-30, html.EscapeString(p.title))
	for _, y := range s.ticks {
		fmt.Fprintf(b, `<path class="g" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, s.y(y), panelWidth-right, left-5, s.y(y)+4, number(y))
	}
	for _, at := range p.lines[0].points {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", s.x(at.x), panelHeight-bottom+15, number(at.x))
	}
	fmt.Fprintf(b, `<path class="a" d="M%d %dH%d"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
		left, panelHeight-bottom, panelWidth-right, (left+panelWidth-right)/2, panelHeight-bottom+30, html.EscapeString(p.x))
	for i, l := range p.lines {
		b.WriteString(`<path d="`)
		for j, at := range l.points {
			command := 'L'
			if j == 0 {
				command = 'M'
			}
			fmt.Fprintf(b, "%c%.1f %.1f", command, s.x(at.x), s.y(at.y))
		}
		fmt.Fprintf(b, `" %s/>`+"\n", l.style(i))
	}
}

// scale maps values to pixels.
type scale struct {
	x, y  func(float64) float64
	ticks []float64 // of y
}

func (p panel) scale() scale {
	low, high := math.Inf(1), math.Inf(-1)
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range p.lines {
		for _, at := range l.points {
			low, high = min(low, at.y), max(high, at.y)
			least, most = min(least, at.x), max(most, at.x)
		}
	}
	var s scale
	s.x = func(v float64) float64 {
		return left + 6 + (v-least)/(most-least)*(panelWidth-left-right-12)
	}
	mapped := func(v float64) float64 { return v }
	if p.log {
		mapped = math.Log10
		for _, tick := range []float64{0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000} {
			if tick >= low/2 && tick <= high*2 {
				s.ticks = append(s.ticks, tick)
			}
		}
		low, high = min(low, s.ticks[0]), max(high, s.ticks[len(s.ticks)-1])
	} else {
		step := niceStep(high)
		for tick := 0.0; tick < high+step*0.99; tick += step {
			s.ticks = append(s.ticks, tick)
		}
		low, high = 0, s.ticks[len(s.ticks)-1]
	}
	s.y = func(v float64) float64 {
		part := (mapped(v) - mapped(low)) / (mapped(high) - mapped(low))
		return panelHeight - bottom - part*(panelHeight-top-bottom)
	}
	return s
}

// highest is the largest y.
func (p panel) highest() float64 {
	high := math.Inf(-1)
	for _, l := range p.lines {
		for _, at := range l.points {
			high = max(high, at.y)
		}
	}
	return high
}

// niceStep gives about four ticks.
func niceStep(high float64) float64 {
	for _, step := range []float64{0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500} {
		if high/step <= 5 {
			return step
		}
	}
	return high / 4
}

func number(v float64) string { return fmt.Sprintf("%.4g", v) }
