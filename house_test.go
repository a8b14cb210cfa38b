// Package pichat_test states the rules of the house: what may import what, and
// why. docs/design.md explains the layout.
package pichat_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rule says what the packages below a folder may import of this module and of
// others; the standard library is always allowed, but for what forbidden says.
type rule struct {
	folder  string
	allowed []string
	reason  string
}

// The rule with the longest folder that fits a package counts.
var rules = []rule{
	{"cmd/pichat", []string{"pichat/", "github.com/alecthomas/kong", "rsc.io/qr"},
		"the command wires everything and parses flags; nothing else does"},
	{"cmd/pichat/supervise", []string{"pichat/llm", "github.com/coreos/go-systemd/v22"}, "the one place that speaks to systemd"},
	{"cmd/pichat/licences", nil, "a text and nothing else"},
	{"llm", []string{"pichat/llm", "pichat/llm/policy", "pichat/llm/threads"},
		"the domain knows no adapter: no C, no HTTP, no template language, no sensors"},
	{"llm/reader", nil, "the reader's measures are formulas on durations"},
	{"llm/modelname", nil, "what a model is called is a rule on words"},
	{"llm/threads", nil, "choosing a number of threads is arithmetic on durations"},
	{"llm/policy", nil, "decisions are functions of plain values: no clock, no goroutine, no engine"},
	{"llm/policy/sim", []string{"pichat/llm/policy", "pichat/llm/reader"}, "the simulator runs the policies on made-up traffic, without an engine"},
	{"llm/llamacpp", []string{"pichat/llm", "pichat/llm/modelname", "C"}, "the one place that knows C"},
	{"llm/fakellm", []string{"pichat/llm"}, "a stand-in must not drag in what it stands in for"},
	{"llm/backendtest", []string{"pichat/llm"}, "one suite for every backend, so it knows none"},
	{"llm/enginebench", nil, "a comparison of the engine with the binding, in its tests"},
	{"llm/paired", nil, "the statistics of a comparison are formulas on numbers"},
	{"llm/chattmpl", []string{"pichat/llm", "github.com/ardanlabs/jinja"}, "the one place that knows Jinja"},
	{"llm/gguf", []string{"pichat/llm/modelname", "github.com/gpustack/gguf-parser-go"}, "the one place that parses model files"},
	{"sysmon", []string{"pichat/sysmon"}, "the board's readings know nothing of models or pages"},
	{"sysmon/host", []string{"pichat/sysmon", "github.com/shirou/gopsutil/v3"}, "the one place that knows gopsutil"},
	{"web", []string{"pichat/llm", "pichat/llm/modelname", "pichat/llm/reader", "pichat/sysmon", "pichat/web", "github.com/gorilla/websocket", "github.com/a-h/templ"},
		"the server speaks to a Generator, never to an adapter of it"},
	{"deploy", nil, "examples of set-ups, and their tests"},
	{"web/wire", []string{"pichat/llm", "pichat/llm/reader", "pichat/web/fault"}, "frames are plain data, made from the domain's values"},
	{"web/views", []string{"pichat/web/views", "github.com/a-h/templ", "rsc.io/qr"}, "views take flat models and call no service"},
	{"web/static", nil, "files and nothing else"},
	{"web/markdown", []string{"github.com/yuin/goldmark", "github.com/microcosm-cc/bluemonday"},
		"the one place that turns a model's text into markup"},
}

// testOnly are imports that tests may use everywhere.
var testOnly = []string{"pichat/", "go.uber.org/goleak", "github.com/chromedp/", "github.com/gorilla/websocket", "github.com/shirou/gopsutil/v3/common"}

// forbidden are calls that belong to one folder alone.
var forbidden = []struct {
	pkg, name, only, reason string
}{
	{"os", "Exit", "cmd/pichat/main.go", "only main ends the process, so that everything else can be tested"},
	{"os", "Getenv", "cmd/pichat", "only the command reads the environment; libraries take a config"},
	{"os", "LookupEnv", "cmd/pichat", "only the command reads the environment; libraries take a config"},
	{"os", "Environ", "cmd/pichat", "only the command reads the environment; libraries take a config"},
	{"time", "Sleep", "llm/fakellm", "a sleep is no synchronisation; a scripted pace is its purpose"},
}

func TestImports(t *testing.T) {
	for _, file := range sourceFiles(t) {
		r, known := ruleFor(path.Dir(file.name))
		if !known {
			t.Errorf("%s: no rule for its folder: add one to house_test.go, with its reason", file.name)
			continue
		}
		for _, spec := range file.ast.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if !allowed(r, imported, strings.HasSuffix(file.name, "_test.go")) {
				t.Errorf("%s imports %s, but %s may not: %s", file.name, imported, r.folder, r.reason)
			}
		}
	}
}

func TestForbiddenCalls(t *testing.T) {
	for _, file := range sourceFiles(t) {
		ast.Inspect(file.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, f := range forbidden {
				// Under synctest time is virtual, and a sleep is a step of the script.
				test := strings.HasSuffix(file.name, "_test.go") && (f.name != "Sleep" || imports(file, "testing/synctest"))
				if pkg.Name == f.pkg && sel.Sel.Name == f.name && !strings.HasPrefix(file.name, f.only) && !test {
					t.Errorf("%s calls %s.%s: %s", file.name, f.pkg, f.name, f.reason)
				}
			}
			return true
		})
	}
}

func TestEveryPackageHasOneDocComment(t *testing.T) {
	docs := map[string][]string{}
	for _, file := range sourceFiles(t) {
		if strings.HasSuffix(file.name, "_test.go") {
			continue
		}
		dir := path.Dir(file.name)
		if _, seen := docs[dir]; !seen {
			docs[dir] = nil
		}
		if file.ast.Doc != nil {
			docs[dir] = append(docs[dir], file.name)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s has %d package comments %v, want one", dir, len(files), files)
		}
	}
}

type source struct {
	name string // path from the module's root, with slashes
	ast  *ast.File
}

// sourceFiles parses the Go files of the module that are written by hand.
func sourceFiles(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch base := d.Name(); {
			case name == ".":
			case strings.HasPrefix(base, "."), base == "build", base == "tools", base == "testdata", base == "node_modules", base == "models", base == "scripts":
				return fs.SkipDir
			}
			return nil
		}
		name = filepath.ToSlash(name)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_templ.go") || path.Dir(name) == "." {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		files = append(files, source{name, tree})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 {
		t.Fatalf("found only %d source files", len(files))
	}
	return files
}

func imports(file source, name string) bool {
	for _, spec := range file.ast.Imports {
		if spec.Path.Value == strconv.Quote(name) {
			return true
		}
	}
	return false
}

func ruleFor(dir string) (rule, bool) {
	var best rule
	found := false
	for _, r := range rules {
		if (dir == r.folder || strings.HasPrefix(dir, r.folder+"/")) && len(r.folder) >= len(best.folder) {
			best, found = r, true
		}
	}
	return best, found
}

// allowed reports whether a package under a rule may import another. An entry
// that ends in a slash allows everything below it; others allow exactly
// themselves and, outside this module, what is below.
func allowed(r rule, imported string, test bool) bool {
	if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") && !strings.HasPrefix(imported, "pichat") && imported != "C" {
		return true // the standard library
	}
	if strings.HasPrefix(imported, "golang.org/x/") {
		return true // its annexes
	}
	entries := r.allowed
	if test {
		entries = append(append([]string(nil), entries...), testOnly...)
	}
	for _, e := range entries {
		if imported == e || strings.HasSuffix(e, "/") && strings.HasPrefix(imported, e) ||
			!strings.HasPrefix(e, "pichat") && strings.HasPrefix(imported, e+"/") ||
			e == "pichat/web" && strings.HasPrefix(imported, "pichat/web/") {
			return true
		}
	}
	// a package may always import what lies below it
	return strings.HasPrefix(imported, "pichat/"+r.folder+"/") && !siblings(r.folder)
}

// siblings reports whether a folder's children are adapters that must not be
// imported by their parent.
func siblings(folder string) bool { return folder == "llm" || folder == "sysmon" }
