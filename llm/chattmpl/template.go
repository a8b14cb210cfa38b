package chattmpl

import "context"

// Template renders chats in one model's format. It does not change after New
// and may be used from any goroutine.
type Template struct {
	info Info
}

// New compiles a template and finds out what it can do. It returns
// ErrUnsupported when the template cannot be parsed or refuses a plain chat.
// It renders the template: a file not seen before goes through Trial in a
// child process first.
func New(src Source) (*Template, error) { return &Template{}, nil }

// Fallback returns the plain format for a model without a template.
func Fallback() *Template { return &Template{info: Info{Fallback: true, Stop: []string{"\nUser:"}}} }

// Info describes the format. The slice in it must not be changed.
func (t *Template) Info() Info { return t.info }

// IsFallback reports whether the model brought no template of its own.
func (t *Template) IsFallback() bool { return t.info.Fallback }

// Render turns a chat into text for the tokenizer.
func (t *Template) Render(messages []Message, o Options) (Rendered, error) {
	return Rendered{}, nil
}

// Trial renders a set of chats and checks what comes out. It is meant for a
// child process with limits of time and memory, since nothing else can stop a
// template that runs away. The context is looked at between two renders.
func (t *Template) Trial(ctx context.Context) error { return nil }
