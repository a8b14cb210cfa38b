package chattmpl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// canary words stand in for contents when a template is explored. They are
// plain, so that no template treats them in a special way.
const (
	canarySystem    = "Quokka rules apply."
	canaryUser      = "Where does the wombat live?"
	canaryAssistant = "The numbat knows."
	canaryLast      = "And the bilby?"
)

// explored is the time in the exploring renders.
var explored = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// explore finds out, by rendering small chats, how the template wants its
// contents, whether it has a place for a system message, and what it knows of
// reasoning.
func (t *Template) explore(source string) error {
	user := []Message{{Role: RoleUser, Content: canaryUser}}
	text, err := t.try(user, Options{})
	if err != nil || !strings.Contains(text, canaryUser) {
		t.typed = true
		typed, typedErr := t.try(user, Options{})
		if typedErr != nil || !strings.Contains(typed, canaryUser) {
			if err == nil {
				err = fmt.Errorf("it drops the user's message")
			}
			return strip(err)
		}
	}
	with, err := t.try(append([]Message{{Role: RoleSystem, Content: canarySystem}}, user...), Options{})
	t.info.System = err == nil && strings.Contains(with, canarySystem) && strings.Contains(with, canaryUser)
	t.exploreThinking(source, user)
	return nil
}

// try renders a chat with the generation prompt, for exploring.
func (t *Template) try(messages []Message, o Options) (string, error) {
	o.AddGenerationPrompt, o.Now = true, explored
	l, err := t.render(messages, o)
	return l.text, err
}

// strip takes the sentinel off an error that gets another one.
func strip(err error) error {
	if words, ok := strings.CutPrefix(err.Error(), ErrTemplate.Error()+": "); ok {
		return errors.New(words)
	}
	return err
}

// tags that enclose reasoning in the templates in use. Where a template knows
// several, the first counts.
var thinkTags = [][2]string{
	{"<think>", "</think>"},
	{"<seed:think>", "</seed:think>"},
	{"<mm:think>", "</mm:think>"},
	{"[THINK]", "[/THINK]"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|inner_prefix|>", "<|inner_suffix|>"},
	{"<|channel>thought\n", "<channel|>"},
	{"<thinking>", "</thinking>"},
}

// toggle switches reasoning by a variable of the template.
type toggle struct {
	name    string
	on, off jinja.Value
}

func (s *toggle) set(vars map[string]jinja.Value, on bool) {
	vars[s.name] = s.off
	if on {
		vars[s.name] = s.on
	}
}

// toggles are the switches of the templates in use; the first that makes a
// difference is taken.
var toggles = []toggle{
	{"enable_thinking", jinja.NewBool(true), jinja.NewBool(false)},
	{"thinking", jinja.NewBool(true), jinja.NewBool(false)},
	{"reasoning", jinja.NewBool(true), jinja.NewBool(false)},
	{"thinking_mode", jinja.NewString("enabled"), jinja.NewString("disabled")},
	{"thinking_option", jinja.NewString("on"), jinja.NewString("off")},
	{"thinking_budget", jinja.NewInt(-1), jinja.NewInt(0)},
	{"skip_thinking", jinja.NewBool(false), jinja.NewBool(true)},
	{"reasoning_effort", jinja.NewString("high"), jinja.NewString("no_think")},
	{"reasoning_effort", jinja.NewString("high"), jinja.NewString("none")},
}

// thoughtNames are the names under which templates look for past reasoning.
var thoughtNames = []string{"reasoning_content", "thinking", "reasoning", "thought"}

// exploreThinking finds the tags, the switch and the names of reasoning.
func (t *Template) exploreThinking(source string, user []Message) {
	for _, tags := range thinkTags {
		if strings.Contains(source, strings.TrimSpace(tags[1])) {
			t.info.ThinkOpen, t.info.ThinkClose = tags[0], tags[1]
			break
		}
	}
	for _, s := range toggles {
		if !mentions(source, s.name) || s.off.IsString() && !quotes(source, s.off.AsString()) {
			continue
		}
		t.toggle = &s
		on, errOn := t.try(user, Options{Thinking: new(true)})
		off, errOff := t.try(user, Options{Thinking: new(false)})
		if errOn == nil && errOff == nil && on != off {
			t.info.CanSwitchThinking = true
			break
		}
		t.toggle = nil
	}
	t.exploreThoughts(source, user)
}

// exploreThoughts keeps the names for past reasoning that the template reads
// off a message and takes without complaint.
func (t *Template) exploreThoughts(source string, user []Message) {
	for _, name := range thoughtNames {
		if quotes(source, name) || strings.Contains(source, "."+name) {
			t.thoughts = append(t.thoughts, name)
		}
	}
	if len(t.thoughts) == 0 {
		return
	}
	chat := append(slices.Clone(user),
		Message{Role: RoleAssistant, Content: canaryAssistant, Thought: "Let me see."},
		Message{Role: RoleUser, Content: canaryLast})
	if _, err := t.try(chat, Options{}); err != nil {
		t.thoughts = nil
	}
}

// mentions reports whether a source uses an identifier.
func mentions(source, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(source)
}

// quotes reports whether a source holds a word as a string literal.
func quotes(source, word string) bool {
	return strings.Contains(source, `'`+word+`'`) || strings.Contains(source, `"`+word+`"`)
}

// endsInThought reports whether a prompt ends right behind the opening of a
// block of reasoning that the template wrote, not a person.
func (t *Template) endsInThought(l located) bool {
	open := strings.TrimSpace(t.info.ThinkOpen)
	text := strings.TrimRight(l.text, " \t\n")
	if open == "" || !strings.HasSuffix(text, open) {
		return false
	}
	start := len(text) - len(open)
	return len(l.edges) == 0 || l.edges[len(l.edges)-1] <= start
}
