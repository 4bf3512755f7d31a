// Package app joins the parts of Parley into the program: it opens the store, the listeners and the control socket,
// lends each part what it needs of the others, and closes all of it in order. It is the one package that knows the
// others; they meet here and nowhere else.
//
//	browser ── UI ──> guard ── frontend ─┐                      ┌─ caller ── a2aclient ── egress ──> agents
//	A2A client ── A2A ──> guard ── a2aserver ── local (driver) ─┤
//	command line ── socket ── verbs ─────┘                      └─ sqlite
//
// What it guarantees: one process a data directory; nothing listens before what was left open is taken up again; the
// ready line is printed after both; at the end nothing stored is lost and everything open can go on after a restart.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"parley/a2aserver"
	"parley/app/egress"
	"parley/app/guard"
	"parley/app/vault"
	"parley/frontend"
	"parley/orchestrator"
	"parley/orchestrator/local"
)

// App is the running program.
type App struct {
	cfg     *Config
	log     *slog.Logger
	data    string
	started time.Time

	claim    *instance
	store    *store
	vault    *vault.Vault
	keys     *keys
	grants   *grants
	egress   *egress.Egress
	caller   *caller
	registry *registry
	driver   *local.Driver
	model    *model
	library  *library
	runner   *runner
	tokens   *tokens
	push     *a2aserver.PushSender
	hooks    *hooks
	control  *http.Server

	// Only when serving.
	login    *guard.Login
	drain    *guard.Drain
	sessions *guard.Sessions
	site     *frontend.Site
	pageURL  string
	a2a      *a2aPlane
	grpc     *a2aserver.GRPC // nil where it is off
	samples  *samples        // nil: there are none to serve
	servers  []*http.Server
	ready    *Ready
	serving  atomic.Bool // all of the above is there
	failed   chan error
	stop     context.CancelFunc // of the background work

	background context.Context // ends with Close
	publisher  *publisher
}

// Ready says where a serving program is found.
type Ready struct {
	UI   string // a link into the page, good once
	A2A  string
	GRPC string // host:port, "" where it is off
	Demo string
	Data string

	Language string // the code of the one that was chosen, "" = none was: Say
}

// At is UI, at another page than the first.
func (r *Ready) At(path string) string {
	base, token, _ := strings.Cut(r.UI, "#")
	return base + strings.TrimPrefix(path, "/") + "#" + token
}

// String is the ready line.
func (r *Ready) String() string {
	s := "ready ui=" + r.UI + " a2a=" + r.A2A + " data=" + escaped(r.Data)
	if r.GRPC != "" {
		s += " grpc=" + r.GRPC
	}
	if r.Demo != "" {
		s += " demo=" + r.Demo
	}
	return s
}

// ReadyWorker is the ready line of a process that only carries runs on.
func ReadyWorker(data string) string { return "ready worker data=" + escaped(data) }

// linkLife is how long a one-time link can be used.
const linkLife = 10 * time.Minute

// Open takes hold of the data directory and opens everything but the listeners: enough for commands. ErrRunning says
// that another process has it.
func Open(ctx context.Context, cfg *Config) (_ *App, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: cfg.Logger, started: time.Now(), failed: make(chan error, 4)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.data, err = filepath.Abs(cfg.Data); err != nil {
		return nil, err
	}
	if a.claim, err = claim(a.data); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(ctx))
		}
	}()
	if a.login, err = guard.OpenLogin(a.data, cfg.Login); err != nil {
		return nil, fmt.Errorf("PARLEY_LOGIN: %w", err)
	}
	if err := a.checkPage(); err != nil {
		return nil, err
	}
	db, err := cfg.openStore(ctx, a.data, a.log)
	if err != nil {
		return nil, err
	}
	a.store = newStore(db)
	if err := a.store.load(ctx); err != nil {
		return nil, err
	}
	if err := a.configured(ctx); err != nil {
		return nil, err
	}
	if _, ok := db.(orchestrator.Shared); cfg.Host != nil && !ok {
		return nil, errors.New("runs can be carried on by other processes only where all of them have one store")
	}
	if a.vault, err = cfg.openVault(ctx, a.data, a.log); err != nil {
		return nil, err
	}
	a.keys = newKeys(a.data, a.vault, a.log)
	a.tokens = newTokens(a.store, cfg.EnvToken)
	creds, err := openCredentials(ctx, a.vault, a.tokens)
	if err != nil {
		return nil, err
	}
	if a.grants, err = loadGrants(ctx, a.store); err != nil {
		return nil, err
	}
	a.model = newModel(a.store, a.vault, a.log)
	a.egress = egress.New(&egress.Options{Grants: a.model.grants(pushGrants(a.grants.of)), Logger: a.log})
	if err := a.model.open(ctx, a.egress); err != nil {
		return nil, err
	}
	a.hooks = newHooks()
	a.caller = newCaller(a.egress, creds, a.record, a.log)
	a.caller.hooks, a.caller.reported = a.hooks, a.recordHook
	a.registry = &registry{
		store: a.store, creds: creds, egress: a.egress, grants: a.grants, caller: a.caller, hooks: a.hooks, log: a.log,
		kept: newKept(), suspects: make(chan string, 64),
	}
	a.caller.learned, a.caller.heard = a.registry.learned, a.registry.heard
	a.driver = local.New(a.store.ofDriver(), a.caller, &local.Options{
		Log: a.log, Host: cfg.Host, Decider: &a.model.planner,
		MayName: func(ctx context.Context, principal, agent string) bool {
			return a.forCaller(ctx, principal, agent) != nil
		},
	})
	a.store.forget, a.store.changed = a.driver.Forget, a.othersChanged
	if a.publisher, err = newPublisher(ctx, a); err != nil {
		return nil, err
	}
	a.library = newLibrary(a.store)
	a.runner = &runner{a.driver, a.library}
	if a.push, err = a.newPush(); err != nil {
		return nil, err
	}
	a.control = &http.Server{Handler: controlHandler(a.verbs(), a.keeperVerbs()), ReadHeaderTimeout: 5 * time.Second}
	go func(socket net.Listener) { _ = a.control.Serve(socket) }(a.claim.socket) // Close may come first

	a.background, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	go a.expire(a.background)
	go a.store.watch(a.background)
	if cfg.Secrets != "" {
		go creds.watch(a.background, a.log)
	}
	return a, nil
}

// Driver is what carries runs out. A process that only carries runs on, for a Host, opens an App and does not Serve.
func (a *App) Driver() *local.Driver { return a.driver }

// Serve opens the listeners, takes up what was left open, and returns when all of it is ready.
func (a *App) Serve(ctx context.Context) (*Ready, error) {
	if a.cfg.Debug != "" {
		if err := serveDebug(ctx, a.cfg.Debug); err != nil {
			return nil, err
		}
	}
	var tlsConfig *tls.Config
	scheme := "http"
	if a.cfg.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(a.cfg.TLSCert, a.cfg.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("the certificate cannot be used: %w", err)
		}
		tlsConfig, scheme = &tls.Config{Certificates: []tls.Certificate{cert}}, "https"
	}
	ui, err := listen(ctx, a.cfg.UI, DefaultUI)
	if err != nil {
		return nil, fmt.Errorf("the page cannot be served: %w", err)
	}
	defer closeUnserved(&ui)
	in, err := listen(ctx, a.cfg.A2A, DefaultA2A)
	if err != nil {
		return nil, fmt.Errorf("A2A clients cannot be served: %w", err)
	}
	defer closeUnserved(&in)
	rpc, err := a.listenGRPC(ctx)
	if err != nil {
		return nil, err
	}
	defer closeUnserved(&rpc)

	proxies, err := guard.ParseProxies(a.cfg.Proxies)
	if err != nil {
		return nil, err // checked before
	}
	a.drain = guard.NewDrain()
	a.ready = &Ready{A2A: scheme + "://" + in.Addr().String() + "/", Data: a.data, Language: a.language(ctx)}
	if a.a2a, err = newA2APlane(a, a.publicBase(a.ready.A2A), a.grpcAddress(rpc)); err != nil {
		return nil, err
	}
	public := ""
	if a.cfg.PublicURL != "" {
		public = a.a2a.base
	}
	a.hooks.listen(a.ready.A2A, public)
	if a.cfg.Demo != nil {
		a.samples = &samples{app: a}
	}
	if err := a.servePage(ui, scheme); err != nil {
		return nil, err
	}
	hosts := hostOf(a.cfg.PublicURL)
	if a.cfg.OpenA2A {
		a.log.Warn("--a2a-auth none: every program on this machine may call our own agent and the demo agents without a token")
	}
	if a.samples != nil {
		if a.ready.Demo, err = a.samples.open(ctx); err != nil {
			return nil, err
		}
	}
	if err := a.driver.Resume(ctx); err != nil {
		return nil, fmt.Errorf("open runs could not be taken up: %w", err)
	}
	if err := a.resumePush(ctx); err != nil {
		return nil, fmt.Errorf("the webhooks of callers could not be taken up: %w", err)
	}
	a.listen(a.sessions.Protect(a.site.Handler()), ui, &guard.Options{
		TLS: tlsConfig, Hosts: hostOf(a.cfg.PageURL), Proxies: proxies, Bodies: map[string]int64{frontend.ImportPath: frontend.MaxImport},
	})
	a.listen(a.a2a, in, &guard.Options{TLS: tlsConfig, Hosts: hosts, Proxies: proxies, NoPages: true, Refuse: refuseCall})
	if rpc != nil {
		a.ready.GRPC = rpc.Addr().String()
		a.serveGRPC(rpc, &guard.Options{TLS: tlsConfig, Hosts: hosts, Proxies: proxies})
	}
	ui, in, rpc = nil, nil, nil
	a.ready.UI = a.link("")
	a.serving.Store(true)
	go a.registry.watch(a.background)
	go debug.FreeOSMemory() // what the start took and nobody needs any more
	a.log.Info("ready", "a2a", a.ready.A2A, "grpc", a.ready.GRPC, "data", a.data, "version", a.cfg.Version)
	return a.ready, nil
}

// hostOf is the host of an origin, nothing for none.
func hostOf(origin string) []string {
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		return []string{u.Host}
	}
	return nil
}

// publicBase is the origin that our cards name.
func (a *App) publicBase(bound string) string {
	if a.cfg.PublicURL != "" {
		return strings.TrimSuffix(a.cfg.PublicURL, "/") + "/"
	}
	return bound
}

func closeUnserved(ln *net.Listener) {
	if *ln != nil {
		(*ln).Close()
	}
}

// Wait returns when ctx is done, or with the error that ended a listener.
func (a *App) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	}
}

// Close drains and closes everything, as far as ctx leaves time: new requests are refused, streams are told to come
// back, running work is left where it can be taken up. It may be called twice.
func (a *App) Close(ctx context.Context) error {
	var errs []error
	if a.stop != nil {
		a.stop()
	}
	pages := make(chan struct{}) // closed; a browser that does not answer must not hold up the rest
	go func() {
		defer close(pages)
		if a.site != nil {
			a.site.Close("Parley is closing")
		}
	}()
	if a.drain != nil {
		if a.a2a != nil {
			a.a2a.drain()
		}
		stopped := make(chan error, 1)
		go func() {
			if a.grpc != nil {
				stopped <- a.grpc.Stop(ctx)
			}
			close(stopped)
		}()
		errs = append(errs, a.drain.Shutdown(ctx, "Parley is closing", a.servers...), <-stopped)
	}
	if a.control != nil {
		errs = append(errs, a.control.Close())
	}
	if a.push != nil {
		errs = append(errs, a.push.Close(ctx))
	}
	if a.driver != nil {
		errs = append(errs, a.driver.Close(ctx))
	}
	if a.samples != nil {
		errs = append(errs, a.samples.close(ctx))
	}
	select {
	case <-pages:
	case <-ctx.Done():
	}
	if a.egress != nil {
		a.egress.Close()
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.claim != nil {
		errs = append(errs, a.claim.close())
		a.claim = nil
	}
	return errors.Join(errs...)
}

// expire forgets what the retention setting says may be forgotten: at the start and then every hour.
func (a *App) expire(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if n, err := a.store.Expire(ctx, time.Now()); err != nil && ctx.Err() == nil {
			a.log.Error("old history could not be removed", "err", err)
		} else if n > 0 {
			a.log.Info("old history removed", "rows", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// escaped is a path as a value of the ready line: percent-encoded, but for the slashes.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }
