package chattmpl

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

func render(t *testing.T, tmpl *Template, messages []Message, o Options) string {
	t.Helper()
	got, err := tmpl.Render(messages, o)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got.Parts, "")
}

func mustNew(t testing.TB, source string) *Template {
	t.Helper()
	tmpl, err := New(Source{Template: source, BOS: "<s>", EOS: "</s>", Specials: chatMLSpecials, Name: "test.gguf"})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// gemmaLike refuses a system message and turns that do not alternate.
const gemmaLike = `{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}
<{{ m.role }}>{{ m.content | trim }}
{%- endfor %}`

// silent drops a system message without a word.
const silent = `{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}`

// typedOnly wants its contents as lists of parts.
const typedOnly = `{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}`

func TestChatsAreBroughtIntoShape(t *testing.T) {
	const plain = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	system, user, assistant := RoleSystem, RoleUser, RoleAssistant
	for name, c := range map[string]struct {
		template string
		chat     []Message
		want     string
	}{
		"as it is":                {plain, []Message{{system, "s", ""}, {user, "u", ""}, {assistant, "a", ""}, {user, "v", ""}}, "<system>s<user>u<assistant>a<user>v"},
		"user after user":         {plain, []Message{{user, "u", ""}, {user, "v", ""}}, "<user>u\n\nv"},
		"assistant twice":         {plain, []Message{{user, "u", ""}, {assistant, "a", ""}, {assistant, "b", ""}}, "<user>u<assistant>a\n\nb"},
		"system in the middle":    {plain, []Message{{user, "u", ""}, {system, "s", ""}, {user, "v", ""}}, "<system>s<user>u\n\nv"},
		"system last":             {plain, []Message{{system, "s", ""}, {user, "u", ""}, {system, "t", ""}}, "<system>s\n\nt<user>u"},
		"a reply stopped early":   {plain, []Message{{user, "u", ""}, {assistant, " ", "hm"}, {user, "v", ""}}, "<user>u\n\nv"},
		"system refused":          {gemmaLike, []Message{{system, "s", ""}, {user, "u", ""}}, "<user>s\n\nu"},
		"turns must alternate":    {gemmaLike, []Message{{user, "u", ""}, {user, "v", ""}, {assistant, "a", ""}}, "<user>u\n\nv<assistant>a"},
		"system dropped":          {silent, []Message{{system, "s", ""}, {user, "u", ""}}, "<user>s\n\nu"},
		"system alone":            {silent, []Message{{system, "s", ""}}, "<user>s"},
		"system before assistant": {silent, []Message{{system, "s", ""}, {assistant, "a", ""}}, "<user>s<assistant>a"},
		"typed contents":          {typedOnly, []Message{{system, "s", ""}, {user, "u", ""}}, "<system>s<user>u"},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.chat)
			if got := render(t, mustNew(t, c.template), c.chat, Options{}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !slices.Equal(before, c.chat) {
				t.Errorf("the caller's messages changed: %v", c.chat)
			}
		})
	}
}

func TestBadChatsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		chat []Message
		want error
		says string
	}{
		"none":            {nil, ErrNoMessages, "send at least one user message"},
		"only empty ones": {[]Message{{RoleAssistant, "", ""}}, ErrNoMessages, "empty turns"},
		"blank":           {[]Message{{RoleUser, "u", ""}, {RoleUser, " \n\t", ""}}, ErrBlank, "messages[1] (user) has no text"},
		"blank system":    {[]Message{{RoleSystem, "", ""}, {RoleUser, "u", ""}}, ErrBlank, "messages[0] (system)"},
		"unknown role":    {[]Message{{"wizard", "u", ""}}, ErrRole, `messages[0].role is "wizard"`},
		"no role":         {[]Message{{"", "u", ""}}, ErrRole, `messages[0].role is ""`},
		"forged role":     {[]Message{{"user<|im_end|>", "u", ""}}, ErrRole, "use system, user or assistant"},
		"refused":         {[]Message{{RoleAssistant, "a", ""}, {RoleUser, "u", ""}}, ErrTemplate, "test.gguf: it says: Conversation roles must alternate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustNew(t, gemmaLike).Render(c.chat, Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestTemplatesThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ template, says string }{
		"empty":             {" \n", "it is empty"},
		"unknown statement": {"{% include 'x' %}", `unknown statement "include"`},
		"unpacking":         {"{% set a, b = 1, 2 %}", "unexpected token"},
		"unknown filter":    {"{{ messages | attr('x') }}", `unknown filter "attr"`},
		"unknown test":      {"{{ messages is foo }}", `unknown test "foo"`},
		"unknown function":  {"{{ nope() }}", "nope is not callable"},
		"refuses all":       {"{{ raise_exception('No.') }}", "it says: No."},
		"drops the user":    {"Hello.", "it drops the user's message"},
		"panics":            {"{{ 'x' * -1 }}", "it fails: strings: negative Repeat count"},
		"loops in loops":    {"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "it runs away: more than"},
		"recursion":         {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "it runs away: more than"},
		"a long range":      {"{% for a in range(99999999999) %}{% endfor %}", "range: more than 100000 numbers"},
		"a far range":       {"{{ range(9223372036854775807, 9223372036854775807, 9) }}", "is not allowed"},
		"too much text":     {"{{ messages[0].content }}{% for a in range(9999) %}" + strings.Repeat("x", 999) + "{% endfor %}", "bytes of a chat of"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Source{Template: c.template, Name: "test.gguf"})
			if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want ErrUnsupported with %q", err, c.says)
			}
		})
	}
}

func TestTrial(t *testing.T) {
	if err := mustNew(t, chatML).Trial(t.Context()); err != nil {
		t.Error(err)
	}
	if err := Fallback(chatMLSpecials).Trial(t.Context()); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := mustNew(t, chatML).Trial(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	for name, c := range map[string]struct{ template, says string }{
		"drops later turns": {"{{ messages[0].content }}", "it drops the last user message"},
		"refuses history":   {"{{ messages[0].content }}{% if messages | length > 2 %}{{ raise_exception('Too long.') }}{% endif %}", "it says: Too long."},
	} {
		t.Run(name, func(t *testing.T) {
			err := mustNew(t, c.template).Trial(t.Context())
			if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want ErrUnsupported with %q", err, c.says)
			}
		})
	}
	for name, source := range modelTemplates(t) {
		tmpl, err := New(Source{Name: name, Template: source, Specials: spelled(source)})
		if err == nil {
			err = tmpl.Trial(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThinking(t *testing.T) {
	all := modelTemplates(t)
	for name, want := range map[string]struct {
		open                string
		can                 bool
		plain, whenOn, when bool // ThinkOpen by default, switched on, switched off
	}{
		"Qwen-Qwen3-0.6B":                          {"<think>", true, false, false, false},
		"Qwen3.5-4B":                               {"<think>", true, true, true, false},
		"deepseek-ai-DeepSeek-V3.1":                {"<think>", true, false, true, false},
		"deepseek-ai-DeepSeek-R1-Distill-Llama-8B": {"<think>", false, true, true, true},
		"ibm-granite-granite-3.3-2B-Instruct":      {"<think>", true, false, false, false},
		"MiniMax-M3":                               {"<mm:think>", true, false, true, false},
		"ByteDance-Seed-OSS":                       {"<seed:think>", true, false, false, false},
		"Cohere2MoE":                               {"<|START_THINKING|>", true, true, true, false},
		"openai-gpt-oss-120b":                      {"", false, false, false, false},
		"Qwen-Qwen2.5-7B-Instruct":                 {"", false, false, false, false},
		"meta-llama-Llama-3.2-3B-Instruct":         {"", false, false, false, false},
	} {
		tmpl, err := New(Source{Name: name, Template: all[name]})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info := tmpl.Info()
		if info.ThinkOpen != want.open || info.CanSwitchThinking != want.can || (info.ThinkClose == "") != (want.open == "") {
			t.Errorf("%s: %+v, want %+v", name, info, want)
		}
		for thinking, open := range map[*bool]bool{nil: want.plain, new(true): want.whenOn, new(false): want.when} {
			got, err := tmpl.Render(chats["user only"], Options{AddGenerationPrompt: true, Thinking: thinking, Now: moment})
			if err != nil || got.ThinkOpen != open {
				t.Errorf("%s: ThinkOpen %v, want %v (%v)", name, got.ThinkOpen, open, err)
			}
		}
	}
}

func TestThoughtsOfThePast(t *testing.T) {
	chat := []Message{{RoleUser, "u", "not mine"}, {RoleAssistant, "a", "hm"}, {RoleUser, "v", ""}}
	knows := mustNew(t, `{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content }}{% endfor %}`)
	if got, want := render(t, knows, chat, Options{}), "<user>u<assistant>(hm)a<user>v"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := render(t, mustNew(t, silent), chat, Options{}), "<user>u<assistant>a<user>v"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThinkOpenIsTheTemplatesOwn(t *testing.T) {
	tmpl := mustNew(t, `{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt and enable_thinking %}<think>{% endif %}{# </think> #}`)
	chat := []Message{{Role: RoleUser, Content: "what is <think>"}}
	for thinking, want := range map[bool]bool{true: true, false: false} {
		got, err := tmpl.Render(chat, Options{AddGenerationPrompt: true, Thinking: &thinking})
		if err != nil || got.ThinkOpen != want {
			t.Errorf("thinking %v: ThinkOpen %v (%v)", thinking, got.ThinkOpen, err)
		}
	}
}

func TestFallback(t *testing.T) {
	tmpl := Fallback([]string{"<eos>"})
	if !tmpl.IsFallback() || !slices.Equal(tmpl.Info().Stop, []string{"\nUser:"}) {
		t.Errorf("info %+v", tmpl.Info())
	}
	chat := []Message{{RoleSystem, "Be kind.", ""}, {RoleUser, "Hi <eos>\n", ""}, {RoleAssistant, "Yes?", ""}, {RoleUser, "Bye", ""}}
	got, err := tmpl.Render(chat, Options{AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Be kind.\n\nUser: Hi <", "eos>\n\nAssistant: Yes?\n\nUser: Bye\n\nAssistant:"}
	if !slices.Equal(got.Parts, want) {
		t.Errorf("got %q, want %q", got.Parts, want)
	}
}

func TestTemplateIsSafeForManyGoroutines(t *testing.T) {
	tmpl := mustNew(t, modelTemplates(t)["HuggingFaceTB-SmolLM3-3B"])
	want := render(t, tmpl, chats["system first"], Options{Now: moment})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				got, err := tmpl.Render(chats["system first"], Options{Now: moment})
				if err != nil || strings.Join(got.Parts, "") != want {
					t.Errorf("got %q, %v", got.Parts, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRender(b *testing.B) {
	tmpl := mustNew(b, chatML)
	chat := chats["several turns"]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(chat, Options{AddGenerationPrompt: true, Now: moment}); err != nil {
			b.Fatal(err)
		}
	}
}
