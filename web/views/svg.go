package views

import (
	"math"
	"strconv"
	"strings"

	"rsc.io/qr"
)

// coord writes an SVG coordinate with at most one decimal: a line history of
// 60 points stays below 500 bytes.
func coord(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// scale is the value range of a drawing.
type scale struct{ low, high float64 }

// around fits a scale to points, at least span wide, so that noise does not
// look like news.
func around(points []Point, span float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.Known {
			low, high = min(low, p.Value), max(high, p.Value)
		}
	}
	if low > high {
		return scale{0, span}
	}
	if spare := span - (high - low); spare > 0 {
		low, high = low-spare/2, high+spare/2
	}
	return scale{low, high}
}

// y places a value in a drawing of height h, inset by one unit for the stroke.
func (s scale) y(v, h float64) float64 {
	share := (v - s.low) / (s.high - s.low)
	return 1 + (h-2)*(1-min(max(share, 0), 1))
}

// runs calls draw for every stretch of known points, with the index of its
// first.
func runs(points []Point, draw func(first int, run []Point)) {
	for i := 0; i < len(points); {
		j := i
		for j < len(points) && points[j].Known {
			j++
		}
		if j > i {
			draw(i, points[i:j])
		}
		i = j + 1
	}
}

// linePath draws points over a width w and height h, with gaps where a value
// is unknown. A single point becomes a dot under a round line cap.
func linePath(points []Point, s scale, w, h float64) string {
	var b strings.Builder
	step := stride(points, w)
	runs(points, func(first int, run []Point) {
		for k, p := range run {
			if k == 0 {
				b.WriteString("M")
			} else {
				b.WriteString("L")
			}
			b.WriteString(coord(float64(first+k)*step) + " " + coord(s.y(p.Value, h)))
		}
		if len(run) == 1 {
			b.WriteString("h.1")
		}
	})
	return b.String()
}

// areaPath is linePath closed down to the base line. A single point becomes a
// bar of one stride.
func areaPath(points []Point, s scale, w, h float64) string {
	var b strings.Builder
	step := stride(points, w)
	runs(points, func(first int, run []Point) {
		x := float64(first) * step
		if len(run) == 1 {
			x = min(x, w-step)
			b.WriteString("M" + coord(x) + " " + coord(h) + "V" + coord(s.y(run[0].Value, h)) + "h" + coord(step) + "V" + coord(h) + "Z")
			return
		}
		b.WriteString("M" + coord(x) + " " + coord(h))
		for k, p := range run {
			b.WriteString("L" + coord(x+float64(k)*step) + " " + coord(s.y(p.Value, h)))
		}
		last := x + float64(len(run)-1)*step
		b.WriteString("L" + coord(last) + " " + coord(h) + "Z")
	})
	return b.String()
}

// stride is the distance between two points.
func stride(points []Point, w float64) float64 {
	return w / float64(max(len(points)-1, 1))
}

// known reports whether there is anything to draw.
func known(points []Point) bool {
	for _, p := range points {
		if p.Known {
			return true
		}
	}
	return false
}

// qrQuiet is the margin that a QR code needs, in modules.
const qrQuiet = 4

// qrCode is an address as one SVG path and the length of its side in modules,
// margin included; ok is false when there is nothing to draw.
func qrCode(address string) (path string, side int, ok bool) {
	if address == "" {
		return "", 0, false
	}
	code, err := qr.Encode(address, qr.M)
	if err != nil { // longer than a code can hold: the address stays as text
		return "", 0, false
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				n := strconv.Itoa(run)
				b.WriteString("M" + strconv.Itoa(x+qrQuiet) + " " + strconv.Itoa(y+qrQuiet) + "h" + n + "v1h-" + n + "z")
			}
			x += max(run, 1)
		}
	}
	return b.String(), code.Size + 2*qrQuiet, true
}

// gauge places tokens/s on the pace gauge, which is gaugeWidth units wide and
// ends at gaugeMax.
const (
	gaugeMax   = 20.0
	gaugeWidth = 300.0
)

func gaugeX(tps float64) string {
	return coord(min(max(tps, 0), gaugeMax) / gaugeMax * gaugeWidth)
}

// segment is one part of the memory bar, in units of a bar 300 wide.
type segment struct {
	Key, Label string
	Bytes      uint64
	X, Width   string
}

// segments cuts the memory bar. A part without bytes is left out; parts that
// together exceed the total are cut off at it.
func (m MemoryModel) segments() []segment {
	named := m.Model + m.Cache + m.Process + m.Free
	parts := []segment{
		{Key: "model", Label: "model", Bytes: m.Model},
		{Key: "cache", Label: "cache", Bytes: m.Cache},
		{Key: "own", Label: "program", Bytes: m.Process},
		{Key: "other", Label: "other", Bytes: m.Total - min(named, m.Total)},
		{Key: "free", Label: "free", Bytes: m.Free},
	}
	var out []segment
	at := 0.0
	for _, p := range parts {
		if p.Bytes == 0 || m.Total == 0 {
			continue
		}
		width := min(300*float64(p.Bytes)/float64(m.Total), 300-at)
		p.X, p.Width = coord(at), coord(max(width-1, 0.5)) // a gap of one unit
		at += width
		out = append(out, p)
	}
	return out
}
