package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"parley/a2aserver"
	"parley/app/egress"
	"parley/app/guard"
	"parley/app/vault"
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

// The settings that keep the demo agents where they were.
const (
	demoAddrSetting = "demo.addr"
	demoAddrAny     = "127.0.0.1:0"
)

// startDemo serves the demo agents on an address of their own, the same after every restart, with a token only we know,
// and registers, approves and grants each under an id equal to its name. They are reached like any other agent.
func (a *App) startDemo(ctx context.Context) error {
	addr, err := a.store.Setting(ctx, demoAddrSetting)
	if err != nil {
		return err
	}
	token := newSecret()
	cfg := &DemoConfig{Data: filepath.Join(a.data, "demo"), Addr: addr, Token: token, Logger: a.log}
	if addr == "" {
		cfg.Addr = demoAddrAny
	}
	a.demo, err = ServeDemo(ctx, a.cfg.Demo, cfg)
	if err != nil && addr != "" { // somebody else has the port now
		a.log.Warn("the demo agents move to another address", "from", addr, "err", err)
		cfg.Addr = demoAddrAny
		a.demo, err = ServeDemo(ctx, a.cfg.Demo, cfg)
	}
	if err != nil {
		return fmt.Errorf("the demo agents could not be started: %w", err)
	}
	a.ready.Demo = a.demo.Base()
	u, err := url.Parse(a.demo.Base())
	if err != nil {
		return err
	}
	if u.Host != addr {
		err := a.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{demoAddrSetting: u.Host}})
		if err := a.unlessSick("the address of the demo agents", err); err != nil {
			return err
		}
	}
	for _, name := range a.demo.Names() {
		err := a.registry.local(ctx, name, a.demo.Base()+name, orchestrator.Secret(token))
		if err := a.unlessSick("the demo agent "+name, err); err != nil {
			return fmt.Errorf("the demo agent %s could not be registered: %w", name, err)
		}
	}
	err = a.library.demo(ctx, a.demo.agents.Workflows())
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
