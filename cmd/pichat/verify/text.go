package verify

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pichat/cmd/pichat/doctor"
	"pichat/sysmon"
)

// Text writes the report for people, as Markdown.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	r.machine(&b)
	r.pace(&b)
	r.sensors(&b)
	r.examined(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) head(b *strings.Builder) {
	if r.Pi {
		fmt.Fprintf(b, "# pichat on a %s\n\n%s\n", r.Machine.Board.Value, r.Notice)
	} else {
		fmt.Fprintf(b, "# NOT A RASPBERRY PI\n\n**%s**\n\n", r.Notice)
		for _, why := range r.NotAPi {
			fmt.Fprintf(b, "- %s\n", why)
		}
	}
	fmt.Fprintf(b, "\npichat %s, %s.\n\n", r.Version, r.TakenAt.Format(time.RFC3339))
	if !r.compared() {
		b.WriteString("Sensors were not compared: nothing is known of what this machine should have.\n\n")
	}
	if len(r.Differs) == 0 {
		b.WriteString("Everything that was compared is as expected.\n")
		return
	}
	b.WriteString("Not as expected:\n\n")
	for _, d := range r.Differs {
		fmt.Fprintf(b, "- %s\n", d)
	}
}

func (r *Report) machine(b *strings.Builder) {
	m, build := r.Machine, r.Service.Build
	rows := [][2]string{
		{"board", known(m.Board)},
		{"system", known(m.OS)},
		{"kernel", known(m.Kernel) + ", " + known(m.KernelArch)},
		{"page size", fmt.Sprintf("%d KiB", m.PageSizeBytes/1024)},
		{"CPU features", list(m.CPUFeatures)},
		{"flavour that runs", r.Flavour.Found + " (" + string(r.Flavour.State) + ": expected " + r.Flavour.Expected + ")"},
		{"why", orNA(build.Program)},
		{"llama.cpp", orNA(build.LlamaCPP)},
		{"kernels use", list(build.FeaturesUsed)},
		{"kernels leave out", list(build.FeaturesMissed)},
	}
	if d := r.Service.Model; d != nil {
		rows = append(rows, [2]string{"model", fmt.Sprintf("%s, %s, %d slots x %d tokens", d.ID, orNA(d.Meta.Quantization), d.Meta.Slots, d.ContextWindow)})
	}
	table(b, "Machine and program", []string{"what", "found"}, len(rows), func(i int) []string { return rows[i][:] })
}

func (r *Report) pace(b *strings.Builder) {
	l := r.Load
	first, last := l.Samples[0], l.Samples[len(l.Samples)-1]
	rows := [][]string{
		spreadRow("tokens/s", l.TPS, "%.2f"),
		spreadRow("time to first token, s", l.TTFTS, "%.2f"),
		spreadRow("reading, tokens/s", l.PrefillTPS, "%.1f"),
		l.sampleRow("temperature, °C", 1, func(s Sample) sysmon.Reading[float64] { return s.TempCelsius }),
		l.sampleRow("clock asked for, GHz", 1e9, func(s Sample) sysmon.Reading[float64] { return s.ClockHz }),
		l.sampleRow("true clock, GHz", 1e9, func(s Sample) sysmon.Reading[float64] { return s.TrueClockHz }),
		l.sampleRow("fan, turns/min", 1, func(s Sample) sysmon.Reading[float64] { return s.FanRPM }),
		l.sampleRow("power, W", 1, func(s Sample) sysmon.Reading[float64] { return s.Watts }),
	}
	table(b, fmt.Sprintf("Pace and temperature over %.0f s of writing, %d replies", l.DecodeS, len(l.Replies)),
		[]string{"measure", "least", "middle", "greatest", "values"}, len(rows), func(i int) []string { return rows[i] })
	fmt.Fprintf(b, "\nTemperature at the start %s, at the end %s.\n", degrees(first.TempCelsius), degrees(last.TempCelsius))
	fmt.Fprintf(b, "Held back at the end: %s. Since start-up: %s.\n", held(r.Throttle.Now), held(r.Throttle.SinceBoot))
	fmt.Fprintf(b, "Held back in %s looks at the board.\n", l.limited())
}

func (r *Report) sensors(b *strings.Builder) {
	table(b, "Readings", []string{"reading", "expected", "found", "from, or why not", ""}, len(r.Readings), func(i int) []string {
		c := r.Readings[i]
		return []string{c.Name, c.Expected, c.Found, c.Source + c.Reason, string(c.State)}
	})
}

func (r *Report) examined(b *strings.Builder) {
	var rows [][]string
	for _, s := range r.Doctor.Sections {
		for _, f := range s.Findings {
			if f.State == doctor.Warning || f.State == doctor.Fault {
				rows = append(rows, []string{string(f.State), f.Name, f.Value, f.Remedy})
			}
		}
	}
	if len(rows) > 0 {
		table(b, "What pichat doctor warns of", []string{"", "finding", "value", "remedy"}, len(rows), func(i int) []string { return rows[i] })
	}
}

// table writes a heading and a Markdown table.
func table(b *strings.Builder, title string, heads []string, rows int, row func(int) []string) {
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for i := range rows {
		cells := row(i)
		for j, c := range cells {
			cells[j] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func spreadRow(name string, s *Spread, format string) []string {
	if s == nil {
		return []string{name, "n/a", "n/a", "n/a", "0"}
	}
	word := func(v float64) string { return fmt.Sprintf(format, v) }
	return []string{name, word(s.Min), word(s.Median), word(s.Max), fmt.Sprint(s.N)}
}

// sampleRow is the spread of what was known of a reading, in parts of unit.
func (l *Load) sampleRow(name string, unit float64, of func(Sample) sysmon.Reading[float64]) []string {
	var values []float64
	for _, s := range l.Samples {
		if v, ok := of(s).Get(); ok {
			values = append(values, v/unit)
		}
	}
	return spreadRow(name, spreadOf(values), "%.2f")
}

// limited counts the looks that found the board held back.
func (l *Load) limited() string {
	n, known := 0, 0
	for _, s := range l.Samples {
		if held, ok := s.Limited.Get(); ok {
			known++
			if held {
				n++
			}
		}
	}
	if known == 0 {
		return "an unknown number of " + fmt.Sprint(len(l.Samples))
	}
	return fmt.Sprintf("%d of %d", n, known)
}

// held words limits; what is not known is said.
func held(l sysmon.Limits) string {
	if active := l.Active(); len(active) > 0 {
		return strings.Join(active, ", ")
	}
	if any := l.Any(); !any.Known {
		return "n/a (" + any.Reason + ")"
	}
	return "by nothing"
}

func known(r sysmon.Reading[string]) string {
	if !r.Known {
		return "n/a (" + r.Reason + ")"
	}
	return r.Value
}

func degrees(r sysmon.Reading[float64]) string {
	if !r.Known {
		return "n/a (" + r.Reason + ")"
	}
	return fmt.Sprintf("%.1f °C", r.Value)
}

func list(words []string) string { return orNA(strings.Join(words, " ")) }

func orNA(text string) string {
	if text == "" {
		return "n/a"
	}
	return text
}
