// Package doctor looks at everything that serving a model needs and says what
// it finds, each fault with its remedy: the model file, the engine, the board's
// sensors, the port, the folders.
//
// It loads no model itself: a child process does (package probe).
package doctor

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"pichat/cmd/pichat/boot"
	"pichat/llm/llamacpp"
	"pichat/sysmon"
)

// Config says what to look at.
type Config struct {
	Version string
	// Program says which program of the file runs, and why.
	Program string
	Boot    boot.Config
	Engine  llamacpp.EngineInfo
	// Cores is the number of physical cores.
	Cores   int
	Readers sysmon.Readers
	// Root is the directory that holds the machine's proc and sys; "" is "/".
	Root string
	// PageSize is the kernel's, in bytes.
	PageSize int
	// Listen is the address that the service is to listen on.
	Listen string
	// Cache is the folder that remembers tried models; "" when there is none.
	Cache string
}

// Examine looks at everything. It takes as long as loading an unknown model
// does, and about two seconds otherwise.
func Examine(ctx context.Context, c Config) *Report {
	r := &Report{Version: c.Version}
	r.add("Model", c.model(ctx))
	r.add("Engine", c.engine())
	r.add("Board", c.board(ctx))
	r.add("Service", c.service(ctx))
	return r
}

// model looks at the file, what it needs, and whether it works.
func (c Config) model(ctx context.Context) []Finding {
	c.Boot.Threads, c.Boot.PrefillThreads = 0, 0 // a finding of the engine's
	candidate, err := boot.Inspect(c.Boot)
	if err != nil {
		return []Finding{{"file", err.Error(), Fault, "name a good model with --model FILE, or run `make model`, which fetches the default one"}}
	}
	info, plan := candidate.Info, candidate.Plan
	findings := []Finding{
		{"file", fmt.Sprintf("%s, %s", candidate.Path, boot.Bytes(info.SizeBytes)), OK, ""},
		{"name", info.Name, OK, ""},
		{"kind", fmt.Sprintf("%s, %s, %s parameters", info.Architecture, info.Quantization, boot.Count(info.Parameters)), OK, ""},
	}
	if err := c.Boot.Prober.Check(ctx, candidate.Path); err != nil {
		findings = append(findings, Finding{"checks", err.Error(), Fault, "this engine cannot use the file: fetch it again, or take another model"})
	} else {
		findings = append(findings, Finding{"checks", "header good; loaded and wrote in a process of its own", OK, ""})
	}
	template := Finding{"chat template", "its own", OK, ""}
	if !info.HasTemplate() {
		template = Finding{"chat template", "none: a base model, served in a plain format", Warning, "it continues text rather than answers; for a chat take a model tuned for it (often named Instruct)"}
	}
	findings = append(findings, template,
		Finding{"context", fmt.Sprintf("%d slots x %d tokens = %s", plan.Slots, plan.Window, boot.Bytes(plan.Need.KV)), OK, ""})
	memory := Finding{"memory", fmt.Sprintf("needs about %s (weights %s, context %s, work memory %s)", boot.Bytes(plan.Need.Total()),
		boot.Bytes(plan.Need.Weights), boot.Bytes(plan.Need.KV), boot.Bytes(plan.Need.Compute)), OK, ""}
	if free := c.Boot.Memory.Available; free > 0 {
		memory.Value += fmt.Sprintf(", %s are free", boot.Bytes(free))
	}
	findings = append(findings, memory, disk(candidate.Path, int64(info.SizeBytes)))
	for _, w := range plan.Warnings {
		findings = append(findings, Finding{"", w, Warning, "lower --context or --slots, or take a smaller model"})
	}
	return findings
}

// engine looks at llama.cpp and how it uses this CPU.
func (c Config) engine() []Finding {
	e := c.Engine
	findings := []Finding{
		{"pichat", fmt.Sprintf("%s, %s %s/%s", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH), OK, ""},
		{"program", c.Program, OK, ""},
		{"llama.cpp", fmt.Sprintf("%s (%s), flavour %s, build %s", e.Version, e.Commit, e.Flavour, e.Key), OK, ""},
		{"CPU uses", list(e.FeaturesUsed, "only what every CPU of its kind has"), OK, ""},
	}
	missed := Finding{"CPU misses", list(e.FeaturesMissed, "nothing that it has"), OK, ""}
	if len(e.FeaturesMissed) > 0 {
		missed.State, missed.Remedy = Warning, "an engine built on this machine (make engine) uses them and is faster"
	}
	return append(findings, missed, c.threads())
}

func (c Config) threads() Finding {
	decode, prefill := c.Boot.Threads, c.Boot.PrefillThreads
	if decode == 0 {
		decode = c.Cores
	}
	if prefill == 0 {
		prefill = decode
	}
	f := Finding{"threads", fmt.Sprintf("%d to write, %d to read prompts; %d physical cores", decode, prefill, c.Cores), OK, ""}
	switch _, err := boot.CheckThreads(decode, prefill, c.Boot.Processors); {
	case err != nil:
		f.State, f.Remedy = Fault, err.Error()
	case max(decode, prefill) > c.Cores:
		f.State, f.Remedy = Warning, "threads beyond the physical cores hold each other up: lower --threads and --prefill-threads"
	}
	return f
}

func list(words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, " ")
}
