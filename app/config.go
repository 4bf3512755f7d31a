package app

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"parley/a2aserver"
	"parley/app/guard"
	"parley/app/vault"
	"parley/frontend"
	"parley/orchestrator/local"
	"parley/orchestrator/sqlite"
)

// Shell is what a window of our own can do for the page, and Notice what it can tell.
type (
	Shell  = frontend.Shell
	Notice = frontend.Notice
)

// Config says how the program runs. Data is required.
type Config struct {
	Data    string // the data directory
	Version string
	Logger  *slog.Logger // nil discards

	UI         string // listen address of the page; "" = DefaultUI, or the next free port
	PageURL    string // under which browsers on other machines reach the page
	Login      string // the passphrase that lets them in; "" = the one that is kept, see guard.Login
	A2A        string // listen address for A2A clients; "" = DefaultA2A, or the next free port
	GRPC       string // listen address for A2A clients over gRPC; "" = DefaultGRPC, or the next free port; "off" = none
	OpenA2A    bool   // nobody on this machine needs a token for our own agent and the demo agents
	LocalPush  bool   // webhooks of callers may be on this machine
	PublicURL  string // under which A2A clients reach the A2A address from elsewhere
	Proxies    string // in front of us: addresses and networks whose X-Forwarded-For is believed, see guard.Proxies
	TLSCert    string // PEM files; both or none
	TLSKey     string
	Passphrase string        // locks stored credentials where the system has no keychain; "" = then they are not stored
	Keyring    vault.Keyring // where the key to the vault is; nil is the system's keychain
	EnvToken   string        // also lets a caller named "env" in, to every agent
	Demo       DemoAgents    // nil: no demo agents
	DemoStart  DemoStart     // when they are started
	Debug      string        // loopback address for profiles; "" = none

	File     string            // the configuration file, whether it is there or not
	From     map[string]string // what decided, by the names of package config: a flag, a line of the file
	Values   map[string]string // what counts from the start on, by the same names
	Settings map[string]string // that the file decides, by the names of the store

	// Store opens what everything is kept in; nil: SQLite in the data directory. One that other processes write, too, is an
	// orchestrator.Shared.
	Store func(ctx context.Context, dir string, log *slog.Logger) (Storage, error)

	// Host has runs carried on by whichever process it picks, see local.Host; nil: by this one. The Store is shared then.
	Host local.Host

	// Secrets is the directory of the vault where several processes share one, locked with Passphrase; "" = one of our own
	// in Data.
	Secrets string

	Shell Shell                   // of the window; nil in a browser
	Pages map[string]http.Handler // more pages, by pattern, for development
}

// openStore opens what everything is kept in.
func (c *Config) openStore(ctx context.Context, dir string, log *slog.Logger) (Storage, error) {
	if c.Store != nil {
		return c.Store(ctx, dir, log)
	}
	return sqlite.Open(ctx, dir, &sqlite.Options{Logger: log})
}

// openVault opens the vault. One of our own that cannot be opened is done without for now.
func (c *Config) openVault(ctx context.Context, dir string, log *slog.Logger) (*vault.Vault, error) {
	o := &vault.Options{Passphrase: vault.NewSecret(c.Passphrase), Keyring: c.Keyring, Logger: log}
	if c.Secrets != "" {
		o.Shared = true
		if err := os.MkdirAll(c.Secrets, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of the shared credentials: %w", err)
		}
		return vault.Open(ctx, c.Secrets, o)
	}
	v, err := vault.Open(ctx, dir, o)
	if err != nil {
		log.Warn("stored credentials cannot be used now; new ones are kept in memory only", "err", err)
		v = vault.InMemory()
	}
	return v, nil
}

// The default addresses. On a machine where one is taken the next free port is.
const (
	DefaultUI  = "127.0.0.1:7420"
	DefaultA2A = "127.0.0.1:7421"
)

// DemoAgents builds the demo agents. It is a function because they live in a package that app does not know.
type DemoAgents func(context.Context, *DemoOptions) (DemoServer, error)

// DemoOptions is what the demo agents are built with.
type DemoOptions struct {
	Log    func(agent string) a2aserver.Log
	Push   func(agent string) a2aserver.Pusher
	Base   string // their origin, with a trailing slash: each is at Base + name
	Token  string // wanted from every caller; "" = none
	Logger *slog.Logger
}

// DemoServer is the built demo agents.
type DemoServer interface {
	http.Handler
	Names() []string
	Tasks(agent string) a2aserver.Tasks // nil when there is no such agent
	Workflows() fs.FS                   // workflow files that work with the agents
	Resume(context.Context) error       // before the first request
	Close(context.Context) error
}

// check refuses what must not be.
func (c *Config) check() error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return fmt.Errorf("--tls-cert and --tls-key belong together")
	}
	for _, l := range []struct{ flag, addr string }{{"--ui", c.UI}, {"--a2a", c.A2A}, {"--grpc", c.GRPC}} {
		if l.addr == "" || l.flag == "--grpc" && l.addr == noGRPC {
			continue
		}
		host, _, err := net.SplitHostPort(l.addr)
		if err != nil {
			return fmt.Errorf("%s %s is no address: want host:port", l.flag, l.addr)
		}
		if loopback(host) {
			continue
		}
		switch {
		case l.flag == "--ui" && c.TLSCert == "":
			return fmt.Errorf("--ui %s would show the page to other machines and needs --tls-cert and --tls-key, and a login: "+
				"use a loopback address, or see parley help login", l.addr)
		case l.flag == "--ui" && c.PageURL == "" && (host == "" || net.ParseIP(host).IsUnspecified()):
			return fmt.Errorf("--ui %s has no name of its own: say with --ui-url under which one browsers come", l.addr)
		case l.flag == "--ui":
			continue
		case c.OpenA2A:
			return fmt.Errorf("--a2a-auth none is for loopback addresses only, not %s", l.addr)
		case c.TLSCert == "":
			return fmt.Errorf("%s %s can be reached from other machines and needs --tls-cert and --tls-key; "+
				"behind a proxy use a loopback address and --public-url", l.flag, l.addr)
		}
	}
	if c.PageURL != "" && !origin(c.PageURL) {
		return fmt.Errorf("--ui-url %s is no origin: want https://host", c.PageURL)
	}
	if u, err := url.Parse(c.PageURL); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		return fmt.Errorf("--ui-url %s would send sessions and the passphrase over the network in clear: want https://host", c.PageURL)
	}
	if _, err := guard.ParseProxies(c.Proxies); err != nil {
		return fmt.Errorf("--proxies: %w", err)
	}
	if c.PublicURL != "" {
		if !origin(c.PublicURL) {
			return fmt.Errorf("--public-url %s is no origin: want https://host", c.PublicURL)
		}
		if c.OpenA2A {
			return fmt.Errorf("--a2a-auth none and --public-url exclude each other")
		}
	}
	return nil
}

// checkPage refuses to show the page to other machines without a login.
func (a *App) checkPage() error {
	host, _, err := net.SplitHostPort(a.cfg.UI)
	if err != nil || loopback(host) || a.login.On() {
		return nil
	}
	return fmt.Errorf("--ui %s would show the page to other machines, and there is no login: set a passphrase first with parley login set", a.cfg.UI)
}

// origin reports whether s is the origin of a web address.
func origin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listen opens addr; for a default address that is taken, one of the next hundred ports.
func listen(ctx context.Context, addr, standard string) (net.Listener, error) {
	var lc net.ListenConfig
	if addr != "" {
		return lc.Listen(ctx, "tcp", addr)
	}
	host, port, err := net.SplitHostPort(standard)
	if err != nil {
		return nil, err
	}
	var first int
	if _, err := fmt.Sscan(port, &first); err != nil {
		return nil, err
	}
	for p := first; p < first+100; p++ {
		if ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(p))); err == nil {
			return ln, nil
		}
	}
	return lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}
