package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/doctor"
	"pichat/cmd/pichat/remember"
	"pichat/cmd/pichat/supervise"
	"pichat/llm"
	"pichat/llm/fakellm"
	"pichat/llm/llamacpp"
	"pichat/sysmon"
	"pichat/sysmon/host"
	"pichat/web"
)

// parting is how long a server whose model failed goes on, so that open pages
// and those that try again can show why.
const parting = 2 * time.Second

// At the end, engineStop bounds the wait for a call into the engine that cannot
// be interrupted, such as making a huge context, and webStop the one for
// clients. Together they stay below 10 s.
const (
	engineStop = 4 * time.Second
	webStop    = 5 * time.Second
)

// scriptedPace is the scripted backend's where none is asked for, tokens/s;
// scriptedPrefill is how fast it reads.
const (
	scriptedPace    = 20
	scriptedPrefill = 200
)

// Without its ticks a long prompt would look stuck to the watchdog.
var _ llm.Ticker = (*llamacpp.Model)(nil)

// server is everything that runs while the page is served.
type server struct {
	*app
	config   *config.Serve
	log      *slog.Logger
	listener net.Listener
	urls     []address
	service  *llm.Service
	sampler  *sysmon.Sampler
	web      *web.Server
}

// serve listens at once and then brings the model up; the page shows how far
// it is. It returns nil when ctx ended it, and an error when the server could
// not begin or lost its model: under systemd that means a restart and a line
// in the journal.
func (a *app) serve(ctx context.Context, c *config.Serve) error {
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	sink := newLogSink(a.stderr, a.journal())
	defer sink.Close()
	log := a.serveLogger(c.LogLevel, sink)
	log.Info("starting", "version", version, "program", half.Reason, "flavour", llamacpp.Engine().Flavour)
	s, err := a.newServer(c, listener, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.run(ctx)
}

// listen takes the socket that systemd hands over, else opens one at address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if l, err := supervise.Listener(); l != nil || err != nil {
		return l, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, doctor.ListenError(address, err)
	}
	return l, nil
}

// newServer wires the parts. Nothing runs yet.
func (a *app) newServer(c *config.Serve, listener net.Listener, log *slog.Logger) (*server, error) {
	s := &server{app: a, config: c, log: log, listener: listener, service: new(llm.Service)}
	cards, err := net.Interfaces()
	if err != nil {
		s.log.Warn("the network cards cannot be listed", "err", err)
	}
	s.urls = addresses(listener.Addr().(*net.TCPAddr).AddrPort(), cards, func(i net.Interface) ([]net.Addr, error) { return i.Addrs() })
	s.sampler, err = sysmon.New(host.Readers(host.Config{Logger: s.log}), sysmon.Config{Logger: s.log})
	if err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		s.log.Warn("the machine's name is not known", "err", err)
	}
	pace := 0.0
	if s.scripted() {
		pace = s.pace()
	}
	s.web, err = web.New(web.Config{
		Service:       s.service,
		Vitals:        s.sampler,
		Version:       version,
		Build:         build(),
		Hostname:      hostname,
		AllowHosts:    c.AllowHost,
		TrustProxies:  c.TrustProxy,
		Addresses:     bestFirst(s.urls),
		TargetTPS:     c.TargetPace,
		Grace:         c.Grace,
		MaxTokens:     c.MaxTokens,
		ScriptPaceTPS: pace,
		Suggest:       suggestion(context.Background(), c.Engine.Models),
		Shutdown:      webStop,
		Logger:        s.log,
	})
	return s, err
}

// build describes this program and its engine.
func build() web.Build {
	e := llamacpp.Engine()
	return web.Build{
		Program: half.Reason, LlamaCPP: e.Version + " " + e.Commit, Flavour: e.Flavour,
		FeaturesUsed: e.FeaturesUsed, FeaturesMissed: e.FeaturesMissed,
	}
}

func (s *server) scripted() bool { return s.config.Backend == "scripted" }

func (s *server) pace() float64 {
	if s.config.Pace == 0 {
		return scriptedPace
	}
	return s.config.Pace
}

// run serves until ctx ends or something fails, in this order at the end: no
// new requests, the engine stops and ends every reply, pages and API clients
// are told, the listener closes.
func (s *server) run(ctx context.Context) error {
	outer, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, outer := errgroup.WithContext(outer)
	parts.Go(func() error {
		if err := s.sampler.Run(outer); err != nil {
			s.log.Warn("the board's readings ended badly", "err", err) // no reason to fail
		}
		return nil
	})
	parts.Go(func() error { return s.web.Serve(outer, s.listener) })

	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(outer, cancel)() // a broken server needs no model
	defer context.AfterFunc(ctx, s.service.SetStopping)()
	parts.Go(func() error {
		supervise.Run(inner, s.service, s.log)
		return nil
	})

	err := s.awaitModel(inner)
	if err != nil && inner.Err() == nil {
		s.service.SetFailed(err)
		s.part(ctx, err)
	} else {
		err = nil // what fails while it is being stopped does not count
	}
	stop()
	return errors.Join(err, parts.Wait())
}

// awaitModel is serveModel, left behind when it does not end soon after ctx:
// the process is about to end, and takes the engine's call with it.
func (s *server) awaitModel(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.serveModel(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(engineStop):
		s.log.Warn("the engine is in a call that cannot be interrupted: ending without it")
		return nil
	}
}

// part lets pages show why the server ends, where nobody reads its terminal.
func (s *server) part(ctx context.Context, why error) {
	if isTerminal(s.stderr) {
		return
	}
	s.log.Error("no model: ending in a moment", "err", oneLine(why))
	select {
	case <-time.After(parting):
	case <-ctx.Done():
	}
}

// serveModel brings the model up and runs its engine until ctx ends.
func (s *server) serveModel(ctx context.Context) error {
	if s.scripted() {
		return s.serveScript(ctx)
	}
	begin := time.Now()
	s.service.SetLoading(0, "checking the model file")
	c := s.boot(ctx, s.config.Engine, s.config.Slots, s.config.Queue, s.log)
	c.Calibrate, c.MaxWait = true, s.config.MaxWait
	c.Pace, c.Floor = s.config.TargetPace, s.config.FloorPace
	candidate, err := boot.Inspect(c)
	if err != nil {
		return err
	}
	s.announce()
	s.logPlan(candidate)
	running, err := boot.Load(ctx, c, candidate, s.service.SetLoading)
	if err != nil {
		return err
	}
	s.service.SetReady(running.Engine)
	s.logReady(running.Engine.Info(), time.Since(begin))
	defer s.rememberSpeeds(ctx, running)()
	return errors.Join(running.Engine.Run(ctx), running.Close())
}

// rememberEvery is how often measured step times are written down: a power cut
// is the usual end of a Pi.
const rememberEvery = 10 * time.Minute

// rememberSpeeds keeps what the engine measures for the next start, now and then
// and at the end. The result waits for the last time.
func (s *server) rememberSpeeds(ctx context.Context, running *boot.Running) (wait func()) {
	write := func() {
		if err := running.Remember(); err != nil && !errors.Is(err, remember.ErrNowhere) {
			s.log.Warn("the measured step times are not kept for the next start", "err", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(rememberEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				write()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		write()
	}
}

// serveScript runs an engine over the scripted backend until ctx ends.
func (s *server) serveScript(ctx context.Context) error {
	slots, window := s.config.Slots, s.config.Context
	if slots == 0 {
		slots = 4
	}
	engine := llm.NewEngine(llm.EngineConfig{
		Backend: fakellm.New(fakellm.Config{
			Slots: slots, Window: window, Script: fakellm.DefaultScript,
			Pace: s.pace(), PrefillSpeed: scriptedPrefill,
		}),
		Template:   fakellm.Template{},
		QueueLimit: s.config.Queue,
		MaxWait:    s.config.MaxWait,
		Pace:       s.config.TargetPace,
		Floor:      s.config.FloorPace,
		MaxTokens:  s.config.MaxTokens,
		Logger:     s.log,
	})
	s.announce()
	s.service.SetReady(engine)
	s.log.Info("scripted: no model answers here", "pace", s.pace(), "slots", slots)
	return engine.Run(ctx)
}

// announce prints where the page is.
func (s *server) announce() {
	fmt.Fprintf(s.stdout, "pichat %s serves its page at\n", version)
	network := ""
	for _, u := range s.urls {
		where := "on the network"
		if u.here {
			where = "on this machine"
		} else if network == "" {
			network = u.url
		}
		fmt.Fprintf(s.stdout, "  %-16s %s\n", where, u.url)
	}
	if network == "" || s.config.NoQR || !isTerminal(s.stdout) {
		return
	}
	if code, err := qrCode(network); err == nil {
		fmt.Fprintf(s.stdout, "\n%s\n", code)
	}
}

// logPlan says what is about to be loaded, before it is.
func (s *server) logPlan(c *boot.Candidate) {
	for _, w := range c.Plan.Warnings {
		s.log.Warn(w)
	}
	s.log.Info("loading", "model", c.Path, "slots", c.Plan.Slots, "window", c.Plan.Window,
		"needs", boot.Bytes(c.Plan.Need.Total()), "context", boot.Bytes(c.Plan.Need.KV))
}

func (s *server) logReady(info llm.ModelInfo, took time.Duration) {
	e := llamacpp.Engine()
	s.log.Info("ready", "model", info.Name, "quantization", info.Quantization, "parameters", boot.Count(info.Parameters),
		"slots", info.Slots, "window", info.Window, "kv", boot.Bytes(info.KVBytes),
		"decode_threads", info.DecodeThreads, "prefill_threads", info.PrefillThreads,
		"llama_cpp", e.Version+" "+e.Commit, "flavour", e.Flavour, "took", took.Round(time.Millisecond))
}
