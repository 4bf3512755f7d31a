package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/sqlite"
)

func (a *App) status(ctx context.Context) (Status, error) {
	s := Status{
		Version: a.cfg.Version, PID: os.Getpid(), Data: a.data, Started: a.started, Secrets: a.vault.Kind().String(),
		SQLite: sqlite.Version(),
	}
	if s.Serving = a.serving.Load(); s.Serving {
		s.UI, s.A2A, s.Demo = a.pageURL, a.ready.A2A, a.ready.Demo
	}
	if err := a.store.Healthy(); err != nil {
		s.Fault = err.Error()
	}
	agents, err := a.store.ListAgents(ctx)
	if err != nil {
		return s, err
	}
	s.Agents = len(agents)
	asks, err := a.store.OpenAsks(ctx, "")
	s.OpenAsks = len(asks)
	return s, err
}

// doctor looks at everything that may be wrong with an installation.
func (a *App) doctor(ctx context.Context) []Check {
	var out []Check
	add := func(name string, err error, format string, args ...any) {
		c := Check{Name: name, OK: err == nil, Detail: fmt.Sprintf(format, args...)}
		if err != nil {
			c.Detail = err.Error()
		}
		out = append(out, c)
	}
	add("version", nil, "parley %s, %s %s/%s, SQLite %s", a.cfg.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, sqlite.Version())
	add("data directory", private(a.data), "%s", a.data)
	add("storage", a.store.Healthy(), "takes writes")
	head, err := a.store.Head(ctx)
	add("log", err, "%d events", head)
	add("credentials", nil, "%s", a.vault.Kind())
	if !a.serving.Load() {
		add("page", nil, "not being served; start it: parley serve")
	} else {
		add("page", nil, "%s", a.pageURL)
		add("A2A", nil, "%s", a.ready.A2A)
		if a.ready.GRPC != "" {
			add("gRPC", nil, "%s", a.ready.GRPC)
		}
	}
	agents, err := a.store.ListAgents(ctx)
	add("agents", err, "%d known", len(agents))
	for _, g := range agents {
		if g.Trust != orchestrator.TrustApproved || g.Local && (a.samples == nil || !a.samples.On()) {
			continue
		}
		add("agent "+g.ID, a.reach(ctx, g), "answers at %s (%s)", g.Interface.URL, g.Dialect)
	}
	return out
}

// reach asks an agent for a task that it cannot have: any answer of its own will do.
func (a *App) reach(ctx context.Context, g *orchestrator.Agent) error {
	ctx, stop := context.WithTimeout(asLocal(ctx), 10*time.Second)
	defer stop()
	_, err := a.caller.Get(ctx, g, &a2a.GetRequest{ID: "parley-doctor"})
	var answered *a2a.Error
	if errors.As(err, &answered) {
		return nil
	}
	return err
}

// private says why a directory may be read by others.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}

// asLocal marks what is done in the name of the person at this machine.
func asLocal(ctx context.Context) context.Context {
	return orchestrator.WithOrigin(ctx, orchestrator.Origin{Principal: orchestrator.LocalPrincipal})
}
