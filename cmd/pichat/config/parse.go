package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Invocation is a command line that Parse understood.
type Invocation struct {
	// Command is a *Serve, *Ask, *Doctor, *Tune, *Version, *Probe or a
	// command about models, such as *ModelInfo; nil when help was asked for.
	Command any
	// Help is the help text that was asked for; "" otherwise.
	Help string
	// CPU is auto, baseline or native (package handover); "" with Help.
	CPU string
}

// Parse reads args (without the program's name), environ (KEY=VALUE, as
// os.Environ gives them) and, through readFile, the settings file. The error
// is a *Faults with everything that is wrong.
func Parse(args, environ []string, readFile func(string) ([]byte, error)) (*Invocation, error) {
	p := parser{env: environment(environ), readFile: readFile}
	return p.parse(args)
}

// parser is one call of Parse.
type parser struct {
	env      source
	readFile func(string) ([]byte, error)

	decoder decoder
	layered []Fault // of the environment and the settings file
}

// parse lets kong read the arguments. Kong stops at the first word it does not
// know: that word is noted and taken out, and kong begins again.
func (p *parser) parse(args []string) (*Invocation, error) {
	args = slices.Clone(args)
	var strange []Fault
	for {
		inv, kctx, err := p.attempt(args)
		if inv != nil && inv.Help != "" {
			return inv, nil
		}
		if word, what, ok := strangeWord(err); ok {
			if commandName(kctx) == "" { // whatever follows cannot be judged
				what = strings.Replace(what, "unexpected argument", "unknown command", 1)
				if strings.HasPrefix(word, "-") {
					what += " before the command (flags of a command stand after it)"
				}
				return nil, &Faults{List: []Fault{{"", what}}}
			}
			strange = append(strange, Fault{"", what})
			if args, ok = without(args, word); ok {
				continue
			}
		}
		faults := slices.Concat(strange, p.decoder.faults, p.layered)
		switch _, _, noted := strangeWord(err); {
		case err != nil && !noted:
			faults = append(faults, Fault{"", missing(err)})
		case len(faults) == 0:
			faults = cross(inv.Command)
		}
		if len(faults) > 0 {
			return nil, &Faults{Command: commandName(kctx), List: faults}
		}
		return inv, nil
	}
}

// attempt is one run of kong over args.
func (p *parser) attempt(args []string) (*Invocation, *kong.Context, error) {
	p.decoder.faults, p.layered = nil, nil
	var (
		g    grammar
		help strings.Builder
	)
	options := append(p.decoder.options(),
		kong.Name("pichat"),
		kong.Description(description),
		kong.Writers(&help, &help),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ValueFormatter(withVariable),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.WithBeforeResolve(func(ctx *kong.Context) error {
			p.addLayers(ctx)
			return nil
		}),
	)
	k, err := kong.New(&g, options...)
	if err != nil {
		panic(fmt.Sprintf("config: the grammar is wrong: %v", err)) // a fault of this file, found by any test
	}
	kctx, err := parseOrHelp(k, args)
	if err == nil && kctx == nil {
		return &Invocation{Help: help.String()}, nil, nil
	}
	if err != nil {
		if parseErr, ok := err.(*kong.ParseError); ok {
			kctx = parseErr.Context
		}
		return nil, kctx, err
	}
	return &Invocation{Command: kctx.Selected().Target.Addr().Interface(), CPU: g.CPU}, kctx, nil
}

// helpShown stops kong after it has printed help, where it would exit.
type helpShown struct{}

// parseOrHelp returns a nil context without an error when help was printed.
func parseOrHelp(k *kong.Kong, args []string) (kctx *kong.Context, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case helpShown:
			kctx, err = nil, nil
		default:
			panic(r)
		}
	}()
	return k.Parse(args)
}

// addLayers puts the environment and the settings file under the flags.
func (p *parser) addLayers(ctx *kong.Context) {
	known := variables(ctx.Model)
	named := p.env[variable("config")].text
	for _, flag := range ctx.Model.Flags {
		if text, ok := ctx.FlagValue(flag).(string); ok && flag.Name == "config" && text != "" {
			named = text
		}
	}
	file, faults := readSettings(named, p.readFile)
	p.layered = slices.Concat(p.env.unknown(known), faults, file.unknown(known))
	ctx.AddResolver(resolver(p.env, file))
}

// strangeWord finds the word in kong's complaint about a flag or an argument
// that it does not know, and makes a sentence of it.
func strangeWord(err error) (word, what string, ok bool) {
	if err == nil {
		return "", "", false
	}
	for _, kind := range []string{"unknown flag ", "unexpected argument "} {
		rest, found := strings.CutPrefix(err.Error(), kind)
		if !found {
			continue
		}
		word, hint, _ := strings.Cut(rest, ", did you mean ")
		what := kind + word
		if len(word) > len("-x") && hint != "" { // single letters are all alike
			what += ": did you mean " + strings.ReplaceAll(hint, `"`, "")
		}
		return word, what, true
	}
	return "", "", false
}

// missing words kong's complaint about what was left out.
func missing(err error) string {
	what := err.Error()
	if rest, ok := strings.CutPrefix(what, `expected "<`); ok {
		return `missing "<` + rest
	}
	return what
}

// without takes the first such word out of args; false when it is not there.
// A flag takes the next word with it where that looks like its value.
func without(args []string, word string) ([]string, bool) {
	for i, a := range args {
		name, _, hasValue := strings.Cut(a, "=")
		if a != word && name != word {
			continue
		}
		end := i + 1
		if strings.HasPrefix(word, "--") && !hasValue && end < len(args) && !strings.HasPrefix(args[end], "-") {
			end++
		}
		return slices.Delete(args, i, end), true
	}
	return args, false
}

func commandName(kctx *kong.Context) string {
	if kctx == nil {
		return ""
	}
	var words []string
	for _, step := range kctx.Path {
		if step.Command != nil {
			words = append(words, step.Command.Name)
		}
	}
	return strings.Join(words, " ")
}

// cross checks settings that contradict each other.
func cross(command any) []Fault {
	s, ok := command.(*Serve)
	if !ok {
		return nil
	}
	var faults []Fault
	if s.Backend != "scripted" && s.Pace != 0 {
		faults = append(faults, Fault{fmt.Sprintf("--pace %g", s.Pace), "only the scripted backend has a pace of its own: add --backend scripted, or leave it out (--target-pace is the reader's)"})
	}
	if s.Backend == "scripted" && s.Engine.Model != "" {
		faults = append(faults, Fault{"--model " + s.Engine.Model, "the scripted backend has no model: leave out one of --model and --backend scripted"})
	}
	return faults
}
