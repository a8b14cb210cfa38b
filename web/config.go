package web

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"pichat/llm"
	"pichat/llm/reader"
	"pichat/sysmon"
	"pichat/web/guard"
)

// Vitals is the state of the board: a sysmon.Sampler, or a FixedSampler. Both
// methods return at once and may be called from any goroutine.
type Vitals interface {
	// Latest is never nil and must not be changed.
	Latest() *sysmon.Snapshot
	History() sysmon.History
}

// Config configures a Server. Service and Vitals are needed; zero values of
// the rest mean the defaults named.
type Config struct {
	Service *llm.Service
	Vitals  Vitals
	// Version is the program's; pages of another one reload themselves.
	Version string
	// Program is what /status says of the program; empty texts are left out.
	Program Program
	// Hostname is the machine's name, which the page shows and the host check
	// lets in; "" shows none.
	Hostname string
	// AllowHosts are more names under which the server answers (--allow-host).
	AllowHosts []string
	// Addresses are the URLs of this server, best first; the first stands on
	// the empty page with a QR code.
	Addresses []string
	// TargetTPS and AverageTPS are the paces of the two readers, tokens/s; 11
	// and 5.2.
	TargetTPS, AverageTPS float64
	// Grace is how long a reply runs on after its last socket is lost; 60 s.
	Grace time.Duration
	// RepliesPerAddress bounds the page's replies that run at once for one
	// client address; 4. The API is bounded by the engine's queue.
	RepliesPerAddress int
	// MaxTokens is the engine's default cap of a reply, which the page shows;
	// 1024.
	MaxTokens int
	// ScriptPaceTPS is the pace of a scripted backend, which the page shows; 0
	// is unknown.
	ScriptPaceTPS float64
	// Suggest is a larger model for this machine, which the page names while a
	// model of less than a billion weights answers; nil is none.
	Suggest *Suggestion
	// MaxFrameBytes bounds a frame of the page, its whole chat included; 2 MiB.
	MaxFrameBytes int64
	// MaxBodyBytes bounds the body of an API request; 4 MiB.
	MaxBodyBytes int64
	// Shutdown is the time within which Serve ends once its context has; 8 s.
	Shutdown time.Duration
	// Tick is the time between two vitals frames; 1 s.
	Tick time.Duration
	// Ping is the time between two pings of a websocket, and between two
	// comments in an event stream that has nothing to say; 20 s and 15 s.
	Ping time.Duration
	// Logger gets a line for each request, never a prompt; nil discards it.
	Logger *slog.Logger
}

// Program says which program runs, and which engine is linked into it.
type Program struct {
	// Runs says which program of a file that holds two runs, and why.
	Runs string
	// LlamaCpp is the version and commit; Flavour the CPUs it was built for.
	LlamaCpp, Flavour string
}

// Suggestion is a model that suits the machine better than a very small one.
type Suggestion struct {
	Name string
	// PaceTPS is the pace to expect, tokens/s, 0 where unknown; PaceKind says
	// where it comes from ("published", "projected") and Board what board it is
	// of, such as "Pi 5".
	PaceTPS         float64
	PaceKind, Board string
	// Command fetches the model and says how to switch to it.
	Command string
}

func (c Config) withDefaults() Config {
	orDefault(&c.TargetTPS, reader.Target)
	orDefault(&c.AverageTPS, reader.Average)
	orDefault(&c.Grace, 60*time.Second)
	orDefault(&c.RepliesPerAddress, 4)
	orDefault(&c.MaxTokens, 1024)
	orDefault(&c.MaxFrameBytes, 2<<20)
	orDefault(&c.MaxBodyBytes, 4<<20)
	orDefault(&c.Shutdown, 8*time.Second)
	orDefault(&c.Tick, time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// orDefault sets *v where it is zero.
func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// validate reports every fault at once.
func (c Config) validate() (*guard.Hosts, error) {
	var faults []error
	if c.Service == nil || c.Vitals == nil {
		faults = append(faults, errors.New("web: Config needs a Service and Vitals"))
	}
	negative := func(name string, v float64) {
		if v < 0 {
			faults = append(faults, fmt.Errorf("web: %s %v is negative", name, v))
		}
	}
	negative("TargetTPS", c.TargetTPS)
	negative("AverageTPS", c.AverageTPS)
	negative("Grace", c.Grace.Seconds())
	negative("RepliesPerAddress", float64(c.RepliesPerAddress))
	negative("MaxTokens", float64(c.MaxTokens))
	negative("MaxFrameBytes", float64(c.MaxFrameBytes))
	negative("MaxBodyBytes", float64(c.MaxBodyBytes))
	negative("Shutdown", c.Shutdown.Seconds())
	negative("Tick", c.Tick.Seconds())
	negative("Ping", c.Ping.Seconds())
	hosts, err := guard.New(c.Hostname, c.AllowHosts)
	return hosts, errors.Join(append(faults, err)...)
}
