package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/a2aserver"
	"parley/app/egress"
	"parley/app/guard"
	"parley/app/vault"
	"parley/frontend"
	"parley/orchestrator"
	"parley/orchestrator/sqlite"
)

// Demo is the demo agents being served, with a store of their own.
type Demo struct {
	data   string
	base   string
	claim  *instance
	store  Storage
	push   *a2aserver.PushSender
	egress *egress.Egress // the way out to webhooks
	agents DemoServer
	drain  *guard.Drain
	server *http.Server
	failed chan error
}

// DemoConfig says how ServeDemo serves. Data is required.
type DemoConfig struct {
	Data   string
	Addr   string // listen address; loopback only
	Token  string // wanted from every caller; "" = none
	Debug  string // loopback address for profiles; "" = none
	Logger *slog.Logger
}

// ServeDemo opens the store in cfg.Data, takes up the tasks it finds there, and serves the agents that build builds.
func ServeDemo(ctx context.Context, build DemoAgents, cfg *DemoConfig) (_ *Demo, err error) {
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s is no address: want host:port", cfg.Addr)
	}
	if !loopback(host) {
		return nil, fmt.Errorf("the demo agents are for this machine: --addr %s is no loopback address", cfg.Addr)
	}
	if cfg.Debug != "" {
		if err := serveDebug(ctx, cfg.Debug); err != nil {
			return nil, err
		}
	}
	d := &Demo{failed: make(chan error, 1)}
	if d.data, err = filepath.Abs(cfg.Data); err != nil {
		return nil, err
	}
	if d.claim, err = claim(d.data); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(ctx))
		}
	}()
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	db, err := sqlite.Open(ctx, d.data, &sqlite.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	d.store = db
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("the demo agents cannot listen: %w", err)
	}
	d.base = "http://" + ln.Addr().String() + "/"
	if err := d.startPush(logger); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	d.agents, err = build(ctx, &DemoOptions{
		Log:  func(agent string) a2aserver.Log { return NewAgentLog(d.store, demoScope+agent) },
		Push: func(agent string) a2aserver.Pusher { return d.push.For(demoScope + agent) },
		Base: d.base, Token: cfg.Token, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	if err := errors.Join(d.agents.Resume(ctx), d.push.Resume(ctx)); err != nil { // of no weight beside serving
		logger.Error("the demo agents could not take up what was left open", "err", err)
	}
	d.drain = guard.NewDrain()
	g := guard.New(ln.Addr(), &guard.Options{Drain: d.drain, NoPages: true, Refuse: refuseCall, Logger: logger})
	d.server = g.Server(d.agents)
	go func(server *http.Server) { // Close may come first
		if err := server.Serve(g.Listen(ln)); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- err
		}
	}(d.server)
	return d, nil
}

// demoScope begins the scope of a demo agent's tasks.
const demoScope = "demo/"

// startPush makes the sender of the demo agents.
func (d *Demo) startPush(logger *slog.Logger) (err error) {
	d.push, d.egress, err = newDemoPush(d.store, newKeys(d.data, vault.InMemory(), logger), func(scope string) a2aserver.Tasks {
		name, _ := strings.CutPrefix(scope, demoScope)
		return d.agents.Tasks(name)
	}, logger)
	return err
}

// Ready is the ready line.
func (d *Demo) Ready() string { return "ready a2a=" + d.base + " data=" + escaped(d.data) }

// Names lists the agents; each is at Base + name.
func (d *Demo) Names() []string { return d.agents.Names() }

// Base is the origin of the agents, with a trailing slash.
func (d *Demo) Base() string { return d.base }

// Wait returns when ctx is done, or with the error that ended the server.
func (d *Demo) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.failed:
		return err
	}
}

// Close drains and ends everything; it may be called twice.
func (d *Demo) Close(ctx context.Context) error {
	var errs []error
	if d.push != nil {
		errs = append(errs, d.push.Close(ctx))
		d.egress.Close()
	}
	if d.agents != nil {
		errs = append(errs, d.agents.Close(ctx))
	}
	if d.server != nil {
		errs = append(errs, d.drain.Shutdown(ctx, "the demo agents are closing", d.server))
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.claim != nil {
		errs = append(errs, d.claim.close())
	}
	d.push, d.agents, d.server, d.store, d.claim = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}

// DemoStart says when the demo agents of a serving program are started and registered.
type DemoStart int

const (
	DemoAlways        DemoStart = iota // with the program, whatever a person did about them before
	DemoUnlessRemoved                  // with the program, unless a person took them out
	DemoOnceAsked                      // once a person asked for them, and then with the program
)

// The settings of the demo agents: what a person wants of them, "on" or "off", and the address that they keep.
const (
	demoWantedSetting = "demo.wanted"
	demoAddrSetting   = "demo.addr"
	demoAddrAny       = "127.0.0.1:0"
)

// samples are the demo agents of a serving program, which a person may have and be rid of while it runs.
type samples struct {
	app  *App
	mu   sync.Mutex // held while they start and end
	demo *Demo      // nil: they are not served
	over bool       // they are not served again
}

var _ frontend.Demo = (*samples)(nil)

// open starts them where that is wanted, and returns their origin, or "".
func (s *samples) open(ctx context.Context) (string, error) {
	wanted, err := s.app.store.Setting(ctx, demoWantedSetting)
	if err != nil {
		return "", err
	}
	switch s.app.cfg.DemoStart {
	case DemoUnlessRemoved:
		if wanted == "off" {
			return "", nil
		}
	case DemoOnceAsked:
		if wanted != "on" {
			return "", nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return "", err
	}
	return s.demo.Base(), nil
}

func (s *samples) On() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demo != nil
}

// Fixed is --demo where that decides.
func (s *samples) Fixed() string {
	if s.app.cfg.DemoStart != DemoAlways {
		return ""
	}
	return cmp.Or(s.app.cfg.From["demo"], "--demo")
}

// Start serves them from now on, and after every restart.
func (s *samples) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errClosing
	}
	if s.demo == nil {
		if err := s.start(s.app.background); err != nil { // they outlive whoever asked
			return err
		}
	}
	return s.want(ctx, "on")
}

// End takes them out, with those of their workflows that nobody changed. What was said with them stays.
func (s *samples) End(ctx context.Context) error {
	if by := s.Fixed(); by != "" {
		return &orchestrator.Fault{
			Kind: "demo", Where: orchestrator.WhereUs, What: "The demo agents are started by " + by + ", so they would be back.", Do: "Start Parley without it.",
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.demo == nil {
		return s.want(ctx, "off")
	}
	if err := s.want(ctx, "off"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // not half of them
	var errs []error
	for _, name := range s.demo.Names() {
		g, err := s.app.store.Agent(ctx, name)
		if err == nil && (!g.Local || g.Trust == orchestrator.TrustRemoved) {
			continue
		}
		if err == nil {
			err = s.app.registry.Remove(ctx, name)
		}
		errs = append(errs, err)
	}
	errs = append(errs, s.app.library.withoutDemo(ctx))
	ctx, cancel := context.WithTimeout(ctx, demoDrain)
	defer cancel()
	errs = append(errs, s.demo.Close(ctx))
	s.demo = nil
	return errors.Join(errs...)
}

// demoDrain is how long the demo agents may take to end their work once nobody wants them.
const demoDrain = 5 * time.Second

var errClosing = &orchestrator.Fault{
	Kind: "closing", Where: orchestrator.WhereUs, What: "Parley is closing.", Do: "Start it again.",
}

func (s *samples) want(ctx context.Context, wanted string) error {
	return s.app.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{demoWantedSetting: wanted}})
}

// close ends them for good; what they are at is taken up when they are served again.
func (s *samples) close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.demo == nil {
		return nil
	}
	err := s.demo.Close(ctx)
	s.demo = nil
	return err
}

// start serves the demo agents on an address of their own, the same after every restart, with a token only we know, and
// registers, approves and grants each under an id equal to its name, unless somebody else's agent has that. They are
// reached like any other agent.
func (s *samples) start(ctx context.Context) (err error) {
	a := s.app
	addr, err := a.store.Setting(ctx, demoAddrSetting)
	if err != nil {
		return err
	}
	token := newSecret()
	cfg := &DemoConfig{Data: filepath.Join(a.data, "demo"), Addr: addr, Token: token, Logger: a.log}
	if addr == "" {
		cfg.Addr = demoAddrAny
	}
	d, err := ServeDemo(ctx, a.cfg.Demo, cfg)
	if err != nil && addr != "" { // somebody else has the port now
		a.log.Warn("the demo agents move to another address", "from", addr, "err", err)
		cfg.Addr = demoAddrAny
		d, err = ServeDemo(ctx, a.cfg.Demo, cfg)
	}
	if err != nil {
		return fmt.Errorf("the demo agents could not be started: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(ctx))
			return
		}
		s.demo = d
	}()
	u, err := url.Parse(d.Base())
	if err != nil {
		return err
	}
	if u.Host != addr {
		err := a.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{demoAddrSetting: u.Host}})
		if err := a.unlessSick("the address of the demo agents", err); err != nil {
			return err
		}
	}
	for _, name := range d.Names() {
		if g, err := a.store.Agent(ctx, name); err == nil && !g.Local && g.Trust != orchestrator.TrustRemoved {
			a.log.Warn("another agent has the id of a demo agent, which is left out", "id", name, "address", g.Interface.URL)
			continue
		}
		err := a.registry.local(ctx, name, d.Base()+name, orchestrator.Secret(token))
		if err := a.unlessSick("the demo agent "+name, err); err != nil {
			return fmt.Errorf("the demo agent %s could not be registered: %w", name, err)
		}
	}
	err = a.library.demo(ctx, d.agents.Workflows())
	if err := a.unlessSick("the demo workflows", err); err != nil {
		return fmt.Errorf("the demo workflows could not be kept: %w", err)
	}
	return nil
}

// unlessSick passes on why something could not be stored, unless the store takes no writes at all: what is stored can
// still be read and served then.
func (a *App) unlessSick(what string, err error) error {
	if err == nil || a.store.Healthy() == nil {
		return err
	}
	a.log.Error(what+" could not be stored", "err", err)
	return nil
}
