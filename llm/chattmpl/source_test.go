package chattmpl

import (
	"errors"
	"strings"
	"testing"
)

// sources are small templates whose text must be that of Jinja2: white space,
// literals, and what the library would read in another way.
var sources = []string{
	"A {{ x }}{%- if true %}B{% endif %}|",
	"A {% if true %}{%- if true %}B{% endif %}{% endif %}|",
	"A {{- x }} {{ x -}}{{ x }} B|",
	"A {{ x }}{# c -#}{{x}} B|",
	"{{ x -}}{% if true %} B{% endif %}|",
	"{% if true %}  {% if true %}\n  B\n  {% endif %}\n{% endif %}|",
	"  {% if true %}\n\n  a  \n{%- endif %}\n\nend\n",
	"a\n    {%+ if true %}\n b{% endif +%}\n c",
	"a\n  {# note #}\n  b {#- note -#}\n  c",
	"\r\n{% if x %}\r\nline\r\n{% endif %}\r\n",
	"{{ {'a': {'b': 1}}.a.b }}{{ {'a':{}}|length }}",
	"{% set d = {'k': 'v'}%}{{ d.k }}",
	"{{ 'a' 'b' }}{{ \"it's\" ' \"so\" ' }}{{ '' '' }}|",
	`{{ 'tab\tnew\nback\\slash \'q\' \"d\" \x41\u00e9\U0001F600 \q \101' }}`,
	"{{ '}}' }}{{ '%}' }}{{ '{%' }} text }} %} #}",
	"{% raw %}{{ x }} {% if %} {# no #}\n{% endraw %}\n|",
	"a {%- raw -%}  {{ b }}  {%- endraw -%}  c",
	"{% raw %}'it''s'\\n{% endraw %}",
	"it's a \\n \"text\" \\' {{ x }}'",
	"{% for i in range(3) -%}\n {{ i }},\n{%- endfor %}|",
	"{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}{{ i }}{% if loop.last %}.{% endif %}{% endfor %}",
	"{% macro m(a, b=2) -%}\n  {{ a }}{{ b }}\n{%- endmacro %}{{ m(1) }}{{ m(b=3, a=5) }}",
	"{% set ns = namespace(n=0) %}{% for c in 'abc' %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
	"{%- set s -%}\n hi \n{%- endset -%}\n[{{ s }}]",
	"{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
	"{{ strftime_now('%d %b %Y, %A %H:%M:%S %j %y %% %p %I %B %a 2006 Jan') }}",
	"{{ strftime_now('%Y-%m-%d') }}|{{ strftime_now('%-d.%-m. %H h') }}",
	"{{ {'z': 1, 'a': [true, none, 'é<&>\"']} | tojson }}",
	"{% generation %}x{% endgeneration %}",
}

func TestPreparedSourcesRenderAsInPython(t *testing.T) {
	var jobs []job
	for _, s := range sources {
		jobs = append(jobs, job{s, map[string]any{"x": "x"}})
	}
	for i, want := range reference(t, jobs) {
		tmpl := bare(t, sources[i], nil)
		tmpl.fixed = nil
		l, err := tmpl.render(nil, Options{Now: moment, Extra: map[string]any{"x": "x"}})
		if err != nil || want.Error != "" || l.text != want.Text {
			t.Errorf("%q\n got %q, %v\nwant %q %s", sources[i], l.text, err, want.Text, want.Error)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"a character of no meaning": {"a\nb {{ x @ y }}", "line 2: unexpected character '@'"},
		"a letter beyond ASCII":     {"{{ é }}", "line 1: unexpected character 'é'"},
		"an open expression":        {"a\n\n{{ x", "line 3: a tag that opens with {{ is never closed"},
		"an open statement":         {"{% if x ", "a tag that opens with {% is never closed"},
		"an open comment":           {"{# x", "a comment is never closed"},
		"an open string":            {"{{ 'x }}", "a string that opens with ' is never closed"},
		"an open raw block":         {"{% raw %}{% endra %}", "unclosed raw block"},
		"formatting by %":           {"{{ '%s' % x }}", "the % operator on a string is not supported"},
		"closed too often":          {"{{ x) }}", "unexpected ')'"},
		"brackets without end":      {"{{ " + strings.Repeat("(", 200) + " }}", "more than 100 brackets inside each other"},
		"blocks without end":        {strings.Repeat("{% if x %}", 300), "more than 200 blocks inside each other"},
		"far too long":              {strings.Repeat("x", maxSourceBytes+1), "it has 262145 bytes, at most 262144 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Source{Template: c.source, Name: "odd.gguf"})
			if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "odd.gguf") {
				t.Errorf("got %v, want ErrUnsupported naming the model and %q", err, c.want)
			}
		})
	}
}

// FuzzPrepare: whatever a model file holds as its template, New returns. What
// it accepts renders or refuses a chat without a panic.
func FuzzPrepare(f *testing.F) {
	for _, s := range sources {
		f.Add(s)
	}
	f.Add(chatML)
	f.Add("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")
	f.Add("{{ 'x' * -1 }}")
	f.Fuzz(func(t *testing.T, source string) {
		// Doubling strings fills the memory, which is what the child process is for.
		if strings.ContainsAny(source, "*") || strings.Contains(source, "for") || strings.Contains(source, "replace") {
			t.Skip()
		}
		tmpl, err := New(Source{Template: source, Specials: chatMLSpecials})
		if err != nil {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%v is not ErrUnsupported", err)
			}
			return
		}
		_, err = tmpl.Render([]Message{{Role: RoleUser, Content: "<|im_start|>"}}, Options{})
		if err != nil && !errors.Is(err, ErrTemplate) {
			t.Errorf("%v is not ErrTemplate", err)
		}
	})
}
