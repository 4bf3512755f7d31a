package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/app"
	"parley/app/config"
	"parley/app/desktop"
	"parley/orchestrator"
)

// drainTime is how long a server that was asked to stop lets its work end.
const drainTime = 12 * time.Second

// serverFlags adds the flags of a server to c and returns the configuration they fill.
func (e *env) serverFlags(c *cobra.Command, demo bool) *serverOptions {
	f := c.Flags()
	o := &serverOptions{flags: f}
	f.StringVar(&o.file, "config", "", "configuration `file` (default: parley.yaml in the data directory, if it is there)")
	f.StringVar(&o.UI, "ui", "", "`address` of the page (default 127.0.0.1:7420, or the next free port; port 0 = any)")
	f.StringVar(&o.PageURL, "ui-url", "", "`URL` under which browsers on other machines reach the page")
	f.StringVar(&o.A2A, "a2a", "", "`address` for A2A clients (default 127.0.0.1:7421, or the next free port)")
	f.StringVar(&o.GRPC, "grpc", "", "`address` for A2A clients over gRPC (default 127.0.0.1:7422, or the next free port), or off")
	f.BoolVar(&o.demo, "demo", demo, "start the demo agents and register them")
	f.StringVar(&o.auth, "a2a-auth", "token", "`token`, or none: everybody on this machine may call our agent and the demo agents")
	f.BoolVar(&o.LocalPush, "push-loopback", false, "webhooks that A2A clients register may be on this machine")
	f.StringVar(&o.PublicURL, "public-url", "", "`URL` under which A2A clients reach this machine")
	f.StringVar(&o.Proxies, "proxies", "", "`addresses` of proxies in front, whose X-Forwarded-For says where a request comes from")
	f.StringVar(&o.TLSCert, "tls-cert", "", "PEM `file` with the certificate of all addresses")
	f.StringVar(&o.TLSKey, "tls-key", "", "PEM `file` with its key")
	f.StringVar(&o.Debug, "debug", "", "loopback `address` for profiles (pprof)")
	return o
}

type serverOptions struct {
	app.Config
	demo  bool
	auth  string
	file  string
	flags *pflag.FlagSet
}

// fill sets what no flag set to what the environment or the configuration file says.
func (o *serverOptions) fill(dir string) error {
	path := o.file
	if path == "" {
		path = filepath.Join(dir, config.Name)
	}
	file, err := config.Read(path, o.file != "")
	if err != nil {
		return &codedError{exitUsage, err}
	}
	o.File, o.From, o.Values, o.Settings = path, map[string]string{}, map[string]string{}, map[string]string{}
	for _, k := range config.Keys {
		text, where, ok, err := file.Find(k, os.Getenv)
		if err != nil {
			return &codedError{exitUsage, err}
		}
		if k.Setting != "" {
			if ok {
				o.From[k.Name], o.Settings[k.Setting] = where, k.Stored(text)
			}
			continue
		}
		f := o.flags.Lookup(k.Flag)
		if f == nil { // a worker serves nobody
			continue
		}
		if f.Changed {
			o.From[k.Name] = "--" + k.Flag
		} else if ok {
			if err := f.Value.Set(text); err != nil {
				return &codedError{exitUsage, fmt.Errorf("%s: %w", where, err)}
			}
			o.From[k.Name] = where
		}
		o.Values[k.Name] = f.Value.String()
	}
	return nil
}

// config completes the configuration.
func (e *env) config(o *serverOptions) (*app.Config, error) {
	dir, err := e.dir()
	if err != nil {
		return nil, err
	}
	if err := o.fill(dir); err != nil {
		return nil, err
	}
	cfg := o.Config
	cfg.Data, cfg.Version, cfg.Logger = dir, version(), e.logger()
	cfg.EnvToken, cfg.Passphrase = os.Getenv("PARLEY_A2A_TOKEN"), os.Getenv("PARLEY_PASSPHRASE")
	cfg.Login = os.Getenv("PARLEY_LOGIN")
	switch o.auth {
	case "token":
	case "none":
		cfg.OpenA2A = true
	default:
		return nil, &codedError{exitUsage, fmt.Errorf("--a2a-auth is token or none, not %q", o.auth)}
	}
	switch _, decided := cfg.From["demo"]; {
	case decided && o.demo:
		cfg.Demo, cfg.DemoStart = demoAgents, app.DemoAlways
	case decided: // none, and none are offered
	case o.demo:
		cfg.Demo, cfg.DemoStart = demoAgents, app.DemoUnlessRemoved
	default:
		cfg.Demo, cfg.DemoStart = demoAgents, app.DemoOnceAsked
	}
	return &cfg, nil
}

func (e *env) serveCmd() *cobra.Command {
	var browse bool
	c := &cobra.Command{
		Use: "serve", Short: "Serve the page and the A2A agents",
		Long: "Serves until it is told to stop (SIGTERM or Ctrl-C drain, a second one ends it at once). When it is ready " +
			"it prints one line on stdout:\n  ready ui=<link, good once> a2a=<url> data=<dir>\nThe environment variable " +
			"PARLEY_A2A_TOKEN adds a token that reaches every agent, for a caller named env; PARLEY_PASSPHRASE locks the " +
			"credentials of agents on a machine without a keychain; PARLEY_LOGIN is the passphrase with which a browser " +
			"on another machine is let in (parley login keeps one instead). Whatever the configuration file takes is a " +
			"variable as well, which counts before it: PARLEY_A2A_PUBLIC_URL for a2a.publicUrl.",
		Args: cobra.NoArgs,
	}
	o := e.serverFlags(c, false)
	c.Flags().BoolVar(&browse, "open", false, "open the page in the browser, or print its address")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := e.config(o)
		if err != nil {
			return err
		}
		return e.serve(cmd.Context(), cfg, func(_ context.Context, ready *app.Ready) error {
			fmt.Fprintln(e.stdout, ready)
			if browse {
				e.browse(ready.UI)
			}
			return nil
		})
	}
	return c
}

// serve runs a server until ctx or a signal ends it. show is called once it is ready; when show returns an error, the
// server ends with it.
func (e *env) serve(ctx context.Context, cfg *app.Config, show func(context.Context, *app.Ready) error) error {
	ctx, stop := notify(ctx)
	defer stop()
	a, err := e.open(ctx, cfg)
	if errors.Is(err, app.ErrRunning) {
		return e.alreadyRunning(ctx, cfg.Data)
	}
	if err != nil {
		return err
	}
	ready, err := a.Serve(ctx)
	if err == nil {
		if err = show(ctx, ready); err == nil {
			err = a.Wait(ctx)
		}
	}
	stop() // from here a second signal ends the process at once
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(err, a.Close(drain))
}

// notify returns a context that ends with the first signal to stop.
func notify(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// alreadyRunning says where the running program is to be found.
func (e *env) alreadyRunning(ctx context.Context, dir string) error {
	opened, err := e.link(ctx, dir, &app.OpenPage{})
	if err != nil {
		return &codedError{exitInUse, fmt.Errorf("%w, and it does not answer: %w", app.ErrRunning, err)}
	}
	return &codedError{exitInUse, fmt.Errorf("%w; open it at %s", app.ErrRunning, opened.URL)}
}

// link asks the running program for a fresh one-time link to its page, or to show it.
func (e *env) link(ctx context.Context, dir string, o *app.OpenPage) (*orchestrator.Opened, error) {
	c, err := app.Dial(ctx, dir)
	if err != nil {
		return nil, errors.New("Parley is not running; start it with: parley serve") //nolint:staticcheck // a name
	}
	opened := &orchestrator.Opened{}
	return opened, c.Call(ctx, "open", o, opened)
}

func (e *env) openCmd() *cobra.Command {
	var printOnly bool
	c := &cobra.Command{
		Use: "open", Short: "Open the page of the running Parley", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.dir()
			if err != nil {
				return err
			}
			opened, err := e.link(cmd.Context(), dir, &app.OpenPage{})
			if err != nil {
				return err
			}
			if printOnly {
				fmt.Fprintln(e.stdout, opened.URL)
				return nil
			}
			e.browse(opened.URL)
			return nil
		},
	}
	c.Flags().BoolVar(&printOnly, "print", false, "print the link instead; it is good once, for a short time")
	return c
}

// launch makes `parley` alone open the program, and `parley LINK` what a link of ours names.
func (e *env) launch(root *cobra.Command) {
	o := e.serverFlags(root, true)
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("unknown command %.80q%s", args[0], meant(root, args[0]))
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		path := ""
		if len(args) == 1 {
			var err error
			if path, err = linked(args[0]); err != nil {
				if m := meant(root, args[0]); m != "" {
					return &codedError{exitUsage, fmt.Errorf("unknown command %.80q%s", args[0], m)}
				}
				return &codedError{exitUsage, fmt.Errorf("%w; parley help lists the commands", err)}
			}
		}
		cfg, err := e.config(o)
		if err != nil {
			return err
		}
		language := ""
		window := newWindow(cfg, func() string { return language })
		if desktop.Available {
			cfg.Shell = shell{window}
		}
		if opened, err := e.link(ctx, cfg.Data, &app.OpenPage{Path: path, Show: true}); err == nil { // it runs already: show it
			if opened.Shown {
				return nil
			}
			return e.show(ctx, window, opened.URL)
		}
		err = e.serve(ctx, cfg, func(ctx context.Context, ready *app.Ready) error {
			fmt.Fprintln(e.stdout, ready)
			language = ready.Language
			if err := e.show(ctx, window, ready.At(path)); err != nil {
				return err
			}
			if desktop.Available {
				return errClosed
			}
			return nil
		})
		if errors.Is(err, errClosed) {
			return nil
		}
		return err
	}
}

// errClosed says that the window was closed, which ends the program.
var errClosed = errors.New("the window was closed")

// show opens the page in the window, and returns when it is closed, or in the browser, and returns at once.
func (e *env) show(ctx context.Context, window *desktop.Window, link string) error {
	if desktop.Available {
		return window.Run(ctx, link)
	}
	e.browse(link)
	return nil
}

// browse opens a link of ours in the browser when there is a display, and says where it is.
func (e *env) browse(link string) {
	_ = openPath(link)
	fmt.Fprintf(e.stderr, "\n  Parley is at  %s\n  (the link is good once; another one: parley open)\n\n", link)
}

// openPath gives an address or a folder to whatever the system opens it with.
func openPath(what string) error {
	name, args := "xdg-open", []string{what}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", what}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display to open it on")
		}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("it could not be opened: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
