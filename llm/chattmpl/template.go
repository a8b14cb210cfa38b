package chattmpl

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// Template renders chats in one model's format. It does not change after New
// and may be used from any goroutine.
type Template struct {
	name     string
	compiled *jinja.Template // nil for the fallback format
	step     string          // name of the function that counts loop steps
	fixed    map[string]jinja.Value
	specials *specials
	private  map[rune]bool // private-use runes of the template and its tokens
	info     Info
	typed    bool     // contents must be lists of typed parts
	thoughts []string // names under which past reasoning is passed
	toggle   *toggle  // how reasoning is switched; nil when it cannot be
}

// New compiles a template and finds out what it can do. It returns
// ErrUnsupported, with the reason, when the template cannot be parsed or
// cannot render a plain chat. It renders the template a few times: a file not
// seen before goes through New and Trial in a child process first.
func New(src Source) (*Template, error) {
	if strings.TrimSpace(src.Template) == "" {
		return nil, fmt.Errorf("%w: it is empty: use the fallback format", ErrUnsupported)
	}
	t := &Template{
		name:     src.Name,
		step:     "step",
		specials: newSpecials(src.Specials),
		private:  map[rune]bool{},
		fixed: map[string]jinja.Value{
			"bos_token":       jinja.NewString(src.BOS),
			"eos_token":       jinja.NewString(src.EOS),
			"tools":           jinja.None(),
			"documents":       jinja.None(),
			"range":           jinja.NewCallable("range", boundedRange),
			"raise_exception": jinja.NewCallable("raise_exception", raiseException),
		},
	}
	for strings.Contains(src.Template, t.step) {
		t.step += "_"
	}
	prepared, err := prepare(strings.ToValidUTF8(src.Template, "\uFFFD"), t.step)
	if err != nil {
		return nil, t.unsupported(err)
	}
	if t.compiled, err = compile(prepared); err != nil {
		return nil, t.unsupported(err)
	}
	for _, text := range append([]string{src.Template, src.BOS, src.EOS}, src.Specials...) {
		addPrivate(t.private, text)
	}
	if err := t.explore(src.Template); err != nil {
		return nil, t.unsupported(err)
	}
	return t, nil
}

func (t *Template) unsupported(err error) error {
	return fmt.Errorf("%w: %s%w; use a model file with another template", ErrUnsupported, t.prefix(), err)
}

func (t *Template) prefix() string {
	if t.name == "" {
		return ""
	}
	return t.name + ": "
}

// compile parses a prepared template.
func compile(prepared string) (compiled *jinja.Template, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser fails: %v", p)
		}
	}()
	return jinja.Compile(prepared)
}

// Info describes the format. The slice in it must not be changed.
func (t *Template) Info() Info { return t.info }

// IsFallback reports whether the model brought no template of its own.
func (t *Template) IsFallback() bool { return t.info.Fallback }

// Render turns a chat into text for the tokenizer. System messages are joined
// in front, neighbours of one role become one turn, and where the template has
// no place for a system message it goes before the first user message.
//
// It returns ErrNoMessages, ErrBlank or ErrRole for a chat that no template
// could render, and ErrTemplate, with the template's own words, for one that
// this template refuses.
func (t *Template) Render(messages []Message, o Options) (Rendered, error) {
	messages, err := normalize(messages)
	if err != nil {
		return Rendered{}, err
	}
	if !t.info.System {
		messages = foldSystem(messages)
	}
	l, err := t.render(messages, o)
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Parts: t.specials.parts(l), ThinkOpen: t.endsInThought(l)}, nil
}

// render marks the contents, runs the template and takes the marks out again.
func (t *Template) render(messages []Message, o Options) (located, error) {
	extra := make(map[string]jinja.Value, len(o.Extra))
	used := make(map[rune]bool, len(t.private))
	for r := range t.private {
		used[r] = true
	}
	for name, v := range o.Extra {
		extra[name] = jinja.FromGoValue(v)
		addPrivate(used, extra[name].String())
	}
	size := 0
	for _, m := range messages {
		addPrivate(used, m.Content)
		addPrivate(used, m.Thought)
		size += len(m.Content) + len(m.Thought)
	}
	m, ok := newMarks(used)
	if !ok {
		return located{}, fmt.Errorf("%w: the messages use nearly all private-use characters of Unicode: take some out", ErrTemplate)
	}
	marked := make([]Message, len(messages))
	for i, msg := range messages {
		marked[i] = Message{
			Role:    msg.Role,
			Content: t.specials.mark(msg.Content, 2*i+1, m),
			Thought: t.specials.mark(msg.Thought, 2*i, m),
		}
	}
	if t.compiled == nil {
		return locate(plain(marked, o.AddGenerationPrompt), m), nil
	}
	text, err := t.execute(t.variables(marked, o, extra, size))
	if err != nil {
		return located{}, err
	}
	if limit := maxLiteral + maxCopies*size; len(text) > limit {
		return located{}, fmt.Errorf("%w: %sit makes %d bytes of a chat of %d, at most %d are allowed", ErrTemplate, t.prefix(), len(text), size, limit)
	}
	return locate(text, m), nil
}

// Limits of what a template may make of a chat, so that one that runs away
// ends.
const (
	maxLiteral = 1 << 20   // bytes of its own text
	maxCopies  = 16        // times that it may repeat the chat
	maxSteps   = 1_000_000 // loop steps, beside those over the chat's characters
)

// variables collects what the template may read.
func (t *Template) variables(messages []Message, o Options, extra map[string]jinja.Value, size int) map[string]jinja.Value {
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	vars := make(map[string]jinja.Value, len(t.fixed)+len(extra)+5)
	for name, v := range t.fixed {
		vars[name] = v
	}
	for name, v := range extra {
		vars[name] = v
	}
	if t.toggle != nil && o.Thinking != nil {
		t.toggle.set(vars, *o.Thinking)
	}
	list := make([]jinja.Value, len(messages))
	for i, m := range messages {
		list[i] = t.message(m)
	}
	vars["messages"] = jinja.NewList(list)
	vars["add_generation_prompt"] = jinja.NewBool(o.AddGenerationPrompt)
	vars["strftime_now"] = strftimeNow(now)
	vars[t.step] = steps(maxSteps + maxCopies*size)
	return vars
}

// message makes a turn as the template reads it.
func (t *Template) message(m Message) jinja.Value {
	v := jinja.NewDict()
	d := v.AsDict()
	d.Set("role", jinja.NewString(m.Role))
	content := jinja.NewString(m.Content)
	if t.typed {
		part := jinja.NewDict()
		part.AsDict().Set("type", jinja.NewString("text"))
		part.AsDict().Set("text", content)
		content = jinja.NewList([]jinja.Value{part})
	}
	d.Set("content", content)
	if m.Thought != "" {
		for _, name := range t.thoughts {
			d.Set(name, jinja.NewString(m.Thought))
		}
	}
	return v
}

// execute runs the template. What it raises comes back as its own words.
func (t *Template) execute(vars map[string]jinja.Value) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %sit fails: %v", ErrTemplate, t.prefix(), p)
		}
	}()
	text, err = t.compiled.RenderValues(vars)
	var words *raised
	switch {
	case errors.As(err, &words):
		return "", fmt.Errorf("%w: %sit says: %s", ErrTemplate, t.prefix(), words.message)
	case err != nil:
		return "", fmt.Errorf("%w: %sit fails: %w", ErrTemplate, t.prefix(), err)
	}
	return text, nil
}
