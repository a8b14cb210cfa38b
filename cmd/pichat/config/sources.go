package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// given is the text of a setting and where it stood. The resolver hands it to
// the decoder, so that a fault can name its place.
type given struct {
	text  string
	where string // as Fault.Where
}

// source is one layer of settings under the flags: variable name to value.
type source map[string]given

// environment reads the PICHAT_ variables out of environ, KEY=VALUE strings.
// An empty value counts as not set, as in a unit file that clears a variable.
func environment(environ []string) source {
	s := make(source)
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(key, EnvPrefix) && value != "" {
			s[key] = given{value, fmt.Sprintf("%s=%s (environment)", key, value)}
		}
	}
	return s
}

// fileSource reads a settings file. A line is KEY=VALUE, a comment (# or ;)
// or blank; a value may stand in single or double quotes. That is what
// systemd's EnvironmentFile understands too, less its line continuations.
func fileSource(name string, data []byte) (source, []Fault) {
	s := make(source)
	var faults []Fault
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		where := fmt.Sprintf("%s:%d: %s", name, i+1, line)
		if !ok || key == "" {
			faults = append(faults, Fault{where, "not a KEY=VALUE line"})
			continue
		}
		value, ok = unquote(strings.TrimSpace(value))
		switch _, twice := s[key]; {
		case !ok:
			faults = append(faults, Fault{where, "the quote does not end"})
		case twice:
			faults = append(faults, Fault{where, "this key stands above already"})
		default:
			s[key] = given{value, where}
		}
	}
	return s, faults
}

// unquote takes a pair of quotes away; false where one of them is missing.
func unquote(s string) (string, bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s, true
	}
	if len(s) < 2 || s[len(s)-1] != s[0] {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// readSettings reads the settings file: the one that was named, which must be
// there, or else the default one, which need not. A default file that this
// user may not read belongs to someone else and is passed over too.
func readSettings(named string, readFile func(string) ([]byte, error)) (source, []Fault) {
	name := named
	if name == "" {
		name = DefaultFile
	}
	data, err := readFile(name)
	switch {
	case err == nil:
		return fileSource(name, data)
	case named == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		return nil, nil
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return nil, []Fault{{"--config " + name, fmt.Sprintf("cannot be read: %v", err)}}
}

// unknown reports the keys of s that are no setting of any command.
func (s source) unknown(known []string) []Fault {
	var faults []Fault
	for key, g := range s {
		if !slices.Contains(known, key) {
			faults = append(faults, Fault{g.where, "no such setting" + didYouMean(key, known)})
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Where, b.Where) })
	return faults
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variables lists the environment variables of all flags of all commands.
func variables(app *kong.Application) []string {
	var names []string
	_ = kong.Visit(app, func(v kong.Visitable, next kong.Next) error {
		if flag, ok := v.(*kong.Flag); ok && flag.Name != "help" {
			if name := variable(flag.Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return next(nil)
	})
	return names
}

// resolver gives kong the values of flags that the command line left out, from
// the first of the layers that has one.
func resolver(layers ...source) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, layer := range layers {
			if g, ok := layer[variable(flag.Name)]; ok {
				return g, nil
			}
		}
		return nil, nil
	})
}
