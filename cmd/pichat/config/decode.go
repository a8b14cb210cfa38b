package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// decoder is kong's mapper for every kind of value here. A value it does not
// accept becomes a fault in place of an error, so that kong goes on and the
// faults behind it are found as well.
//
// It reads three tags of a field: range:"LO..HI" (both included), oneof:"A,B"
// and check:"listen", "host", "ip" or "sha256"; auto:"" accepts the word auto for 0.
type decoder struct{ faults []Fault }

// options registers the decoder for the kinds that the grammar uses.
func (d *decoder) options() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Int, d),
		kong.KindMapper(reflect.Float64, d),
		kong.KindMapper(reflect.String, d),
		kong.KindMapper(reflect.Slice, d),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), d),
		kong.TypeMapper(reflect.TypeFor[*uint32](), d),
		kong.KindMapper(reflect.Bool, switchDecoder{d}),
	}
}

// Decode implements kong.Mapper.
func (d *decoder) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if target.Kind() == reflect.Slice && ctx.Value.Flag == nil {
		for { // a positional argument takes all words that are left
			g, ok := take(ctx)
			if !ok {
				return nil
			}
			d.set(ctx.Value, target, g)
		}
	}
	g, ok := take(ctx)
	if !ok {
		d.faults = append(d.faults, Fault{"--" + ctx.Value.Name, "needs a value; " + allowed(ctx.Value, target)})
		return nil
	}
	d.set(ctx.Value, target, g)
	return nil
}

// set stores g in target, or notes a fault.
func (d *decoder) set(v *kong.Value, target reflect.Value, g given) {
	if what := store(v, target, g.text); what != "" {
		d.faults = append(d.faults, Fault{g.where, what})
	}
}

// switchDecoder is the decoder for flags that need no value.
type switchDecoder struct{ *decoder }

// IsBool tells kong's help to show no value.
func (switchDecoder) IsBool() bool { return true }

// Decode implements kong.Mapper: a value only counts after "=".
func (d switchDecoder) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	return d.decoder.Decode(ctx, target)
}

// take pops a value and tells where it stood. A word with a dash in front is
// a value only when it is a number; else it is the next flag.
func take(ctx *kong.DecodeContext) (given, bool) {
	token := ctx.Scan.Peek()
	if g, ok := token.Value.(given); ok {
		ctx.Scan.Pop()
		return g, true
	}
	if token.IsEOL() {
		return given{}, false
	}
	text := token.String()
	if s, ok := token.Value.(string); ok {
		text = s
	}
	if token.Type == kong.UntypedToken && strings.HasPrefix(text, "-") && text != "-" {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return given{}, false
		}
	}
	ctx.Scan.Pop()
	where := "--" + ctx.Value.Name + " " + text
	if ctx.Value.Flag == nil {
		where = text
	}
	return given{text, where}, true
}

// store parses text into target. It returns what is wrong, "" when nothing is.
func store(v *kong.Value, target reflect.Value, text string) string {
	tag := v.Tag
	switch {
	case target.Type() == reflect.TypeFor[time.Duration]():
		n, err := time.ParseDuration(text)
		lo, hi := limits(tag, func(s string) time.Duration { d, _ := time.ParseDuration(s); return d })
		if err != nil || n < lo || n > hi {
			return wrong(text, "a time such as 30s or 2m", err, v, target)
		}
		target.SetInt(int64(n))
	case target.Kind() == reflect.Int:
		if tag.Has("auto") && text == "auto" {
			return ""
		}
		n, err := strconv.Atoi(text)
		lo, hi := limits(tag, func(s string) int { n, _ := strconv.Atoi(s); return n })
		if err != nil || n < lo || n > hi {
			return wrong(text, "a whole number", err, v, target)
		}
		target.SetInt(int64(n))
	case target.Kind() == reflect.Pointer: // *uint32
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return wrong(text, "a whole number", err, v, target)
		}
		n32 := uint32(n)
		target.Set(reflect.ValueOf(&n32))
	case target.Kind() == reflect.Float64:
		if tag.Has("auto") && text == "auto" {
			return ""
		}
		n, err := strconv.ParseFloat(text, 64)
		lo, hi := limits(tag, func(s string) float64 { n, _ := strconv.ParseFloat(s, 64); return n })
		if err != nil || math.IsNaN(n) || n < lo || n > hi {
			return wrong(text, "a number", err, v, target)
		}
		target.SetFloat(n)
	case target.Kind() == reflect.Bool:
		on, known := switches[strings.ToLower(text)]
		if !known {
			return wrong(text, "", nil, v, target)
		}
		target.SetBool(on)
	default:
		return storeText(v, target, text)
	}
	return ""
}

// switches are the words for on and off.
var switches = map[string]bool{
	"true": true, "yes": true, "on": true, "1": true,
	"false": false, "no": false, "off": false, "0": false,
}

// storeText is store for texts and lists of texts. A list is a flag that may
// be repeated, with commas between elements where it is one variable.
func storeText(v *kong.Value, target reflect.Value, text string) string {
	if target.Kind() == reflect.Slice {
		elements := []string{text}
		if v.Flag != nil {
			elements = strings.Split(text, ",")
		}
		for _, e := range elements {
			if v.Flag != nil {
				e = strings.TrimSpace(e)
			}
			if what := checkText(v, target, e); what != "" {
				return what
			}
			target.Set(reflect.Append(target, reflect.ValueOf(e)))
		}
		return ""
	}
	if what := checkText(v, target, text); what != "" {
		return what
	}
	target.SetString(text)
	return ""
}

func checkText(v *kong.Value, target reflect.Value, text string) string {
	ok := true
	switch v.Tag.Get("check") {
	case "listen":
		ok = isListenAddress(text)
	case "host":
		ok = isHostName(text)
	case "ip":
		_, err := netip.ParseAddr(text)
		ok = err == nil
	case "sha256":
		sum, err := hex.DecodeString(text)
		ok = err == nil && len(sum) == sha256.Size
	}
	if words := v.Tag.Get("oneof"); words != "" {
		ok = false
		for _, w := range strings.Split(words, ",") {
			ok = ok || w == text
		}
		if !ok {
			return allowed(v, target) + didYouMean(text, strings.Split(words, ","))
		}
	}
	if !ok {
		return allowed(v, target)
	}
	return ""
}

// isListenAddress accepts HOST:PORT and :PORT with a port number.
func isListenAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isHostName accepts letters, digits, dots, dashes and underscores: a name as
// it stands in a browser's address line, without scheme, port or path.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", r) {
			return false
		}
	}
	return true
}

// limits reads the range of a field.
func limits[T any](tag *kong.Tag, parse func(string) T) (lo, hi T) {
	from, to, _ := strings.Cut(tag.Get("range"), "..")
	return parse(from), parse(to)
}

// wrong says that text is not of the kind, or out of range, and what is right.
func wrong(text, kind string, err error, v *kong.Value, target reflect.Value) string {
	if err != nil && kind != "" && !isOutOfRange(err) {
		return fmt.Sprintf("%q is not %s; %s", text, kind, allowed(v, target))
	}
	return allowed(v, target)
}

func isOutOfRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// allowed describes the values that a field takes.
func allowed(v *kong.Value, target reflect.Value) string {
	switch {
	case v.Tag.Get("check") == "listen":
		return "allowed is HOST:PORT or :PORT, such as :8080 or 127.0.0.1:8080"
	case v.Tag.Get("check") == "host":
		return "allowed is a host name alone, such as box.example.org, without http://, port or path"
	case v.Tag.Get("check") == "ip":
		return "allowed is an IP address alone, such as 192.168.1.2"
	case v.Tag.Get("check") == "sha256":
		return "allowed are 64 hexadecimal digits"
	case v.Tag.Has("oneof"):
		return "allowed are " + strings.ReplaceAll(v.Tag.Get("oneof"), ",", ", ")
	case target.Kind() == reflect.Bool:
		return "allowed are true and false"
	case v.Tag.Has("range"):
		from, to, _ := strings.Cut(v.Tag.Get("range"), "..")
		if v.Tag.Has("auto") {
			return fmt.Sprintf("allowed are %s to %s, or auto", from, to)
		}
		return fmt.Sprintf("allowed are %s to %s", from, to)
	}
	return "give " + strings.ToLower(v.Flag.PlaceHolder)
}
