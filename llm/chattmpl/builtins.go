package chattmpl

import (
	"fmt"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// raised is what a template says by raise_exception.
type raised struct{ message string }

func (e *raised) Error() string { return e.message }

func raiseException(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	message := "the template gives no reason"
	if len(args) > 0 && args[0].IsString() && strings.TrimSpace(args[0].AsString()) != "" {
		message = args[0].AsString()
	}
	return jinja.Undefined(), &raised{message}
}

// strftimeNow returns Python's strftime of a moment, as templates call it.
func strftimeNow(now time.Time) jinja.Value {
	return jinja.NewCallable("strftime_now", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		if len(args) != 1 || !args[0].IsString() {
			return jinja.Undefined(), fmt.Errorf("strftime_now: takes one format string")
		}
		return jinja.NewString(strftime(now, args[0].AsString())), nil
	})
}

// layouts are the directives of strftime as Go writes them; the C locale.
var layouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'B': "January", 'b': "Jan", 'h': "Jan",
	'd': "02", 'e': "_2", 'A': "Monday", 'a': "Mon", 'j': "002",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'f': "000000", 'p': "PM",
	'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04",
	'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
}

// strftime formats directive by directive, so that text between directives is
// never taken for a layout.
func strftime(now time.Time, format string) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format) // "%-d": without the leading zero
		if bare {
			i++
		}
		layout, known := layouts[format[i]]
		switch {
		case format[i] == '%':
			out.WriteByte('%')
		case format[i] == 'f':
			out.WriteString(now.Format(".000000")[1:])
		case known && bare:
			s := strings.TrimLeft(now.Format(layout), "0 ")
			if s == "" {
				s = "0"
			}
			out.WriteString(s)
		case known:
			out.WriteString(now.Format(layout))
		default:
			out.WriteByte('%')
			out.WriteByte(format[i])
		}
	}
	return out.String()
}

// maxRange bounds what range may make.
const maxRange = 100_000

// boundedRange is Python's range for templates, with a bound: the library's
// own fills the memory when asked for a billion.
func boundedRange(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	ints := make([]int64, len(args))
	for i, a := range args {
		if !a.IsInt() {
			return jinja.Undefined(), fmt.Errorf("range: argument %d is no whole number", i+1)
		}
		ints[i] = a.AsInt()
	}
	start, stop, step := int64(0), int64(0), int64(1)
	switch len(ints) {
	case 1:
		stop = ints[0]
	case 2:
		start, stop = ints[0], ints[1]
	case 3:
		start, stop, step = ints[0], ints[1], ints[2]
	default:
		return jinja.Undefined(), fmt.Errorf("range: takes 1 to 3 arguments, got %d", len(ints))
	}
	const far = int64(1) << 40 // beyond it only a template that means harm counts
	if step == 0 || max(start, stop, step) > far || min(start, stop, step) < -far {
		return jinja.Undefined(), fmt.Errorf("range(%d, %d, %d) is not allowed", start, stop, step)
	}
	var items []jinja.Value
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(items) == maxRange {
			return jinja.Undefined(), fmt.Errorf("range: more than %d numbers", maxRange)
		}
		items = append(items, jinja.NewInt(i))
	}
	return jinja.NewList(items), nil
}

// maxDepth bounds macros inside each other: the evaluator recurses, and a full
// stack ends the process.
const maxDepth = 200

// steps returns the function that prepare puts into templates: at the head of
// a loop's body, and with 1 and -1 at the head and the end of a macro's. It
// fails once a render has taken more than limit steps, or recurses too far.
func steps(limit int) jinja.Value {
	taken, depth := 0, int64(0)
	return jinja.NewCallable("step", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		if len(args) == 1 && args[0].IsInt() {
			depth += args[0].AsInt()
		}
		if taken++; taken > limit {
			return jinja.Undefined(), fmt.Errorf("it runs away: more than %d loop steps", limit)
		}
		if depth > maxDepth {
			return jinja.Undefined(), fmt.Errorf("it runs away: more than %d macros inside each other", maxDepth)
		}
		return jinja.NewString(""), nil
	})
}
