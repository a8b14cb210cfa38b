package sysmon

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// AnyReading is a Reading whose value may be of any type.
type AnyReading struct {
	// Value means something only where Known is true.
	Value          any
	Known          bool
	Source, Reason string
}

// EachReading visits every reading of the snapshot in the order of its fields,
// with its place in the type for a name, such as "CPU.TempCelsius". It walks
// the type, so that no reading is forgotten.
func (s Snapshot) EachReading(visit func(name string, r AnyReading)) {
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		if known := v.FieldByName("Known"); known.IsValid() {
			visit(name, AnyReading{
				Value: v.FieldByName("Value").Interface(), Known: known.Bool(),
				Source: v.FieldByName("Source").String(), Reason: v.FieldByName("Reason").String(),
			})
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Name != "At" {
				walk(strings.TrimPrefix(name+"."+field.Name, "."), v.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(s))
}

// units are the words for a number by the end of its reading's name.
var units = []struct {
	suffix string
	word   func(float64) string
}{
	{"Celsius", func(v float64) string { return fmt.Sprintf("%.1f °C", v) }},
	{"Hz", func(v float64) string { return fmt.Sprintf("%.2f GHz", v/1e9) }},
	{"RPM", func(v float64) string { return fmt.Sprintf("%.0f/min", v) }},
	{"Watts", func(v float64) string { return fmt.Sprintf("%.2f W", v) }},
	{"Volts", func(v float64) string { return fmt.Sprintf("%.2f V", v) }},
	{"Percent", func(v float64) string { return fmt.Sprintf("%.0f %%", v) }},
}

// InWords writes the value of a known reading with its unit, which its name
// gives: "46.3 °C", "yes", "0.93 of 8.44 GB used".
func (r AnyReading) InWords(name string) string {
	gb := func(n uint64) string { return strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64) }
	switch v := r.Value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case float64:
		for _, u := range units {
			if strings.HasSuffix(name, u.suffix) {
				return u.word(v)
			}
		}
	case RAM:
		return gb(v.UsedBytes) + " of " + gb(v.TotalBytes) + " GB used"
	case Swap:
		return gb(v.UsedBytes) + " of " + gb(v.TotalBytes) + " GB used"
	case ProcessMemory:
		return gb(v.ResidentBytes) + " GB, " + gb(v.FileBytes) + " of files"
	case LoadAverage:
		return fmt.Sprintf("%.2f, %.2f, %.2f", v.One, v.Five, v.Fifteen)
	}
	return fmt.Sprint(r.Value)
}
