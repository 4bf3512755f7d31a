package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

func (a *App) status(ctx context.Context) (Status, error) {
	s := Status{
		Version: a.cfg.Version, PID: os.Getpid(), Data: a.data, Started: a.started, Secrets: a.vault.Kind().String(),
		Store: a.store.Version(),
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
	add("version", nil, "parley %s, %s %s/%s, %s", a.cfg.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, a.store.Version())
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
	agents = slices.DeleteFunc(agents, func(g *orchestrator.Agent) bool {
		return g.Trust != orchestrator.TrustApproved || g.Local && (a.samples == nil || !a.samples.On())
	})
	for i, err := range a.reachAll(ctx, agents) {
		add("agent "+agents[i].ID, err, "answers at %s (%s)", agents[i].Interface.URL, agents[i].Dialect)
	}
	return out
}

// reachAll reaches agents beside one another, so that those that do not answer cost the time of one.
func (a *App) reachAll(ctx context.Context, agents []*orchestrator.Agent) []error {
	errs := make([]error, len(agents))
	var all sync.WaitGroup
	turn := make(chan struct{}, 32)
	for i, g := range agents {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			errs[i] = a.reach(ctx, g)
		})
	}
	all.Wait()
	return errs
}

// reach asks an agent for a task that it cannot have: any answer of its own will do.
func (a *App) reach(ctx context.Context, g *orchestrator.Agent) error {
	ctx, stop := context.WithTimeout(asProbe(ctx), 10*time.Second)
	defer stop()
	_, err := a.caller.probe(ctx, g)
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

// asProbe marks what only asks whether an agent answers.
func asProbe(ctx context.Context) context.Context {
	return orchestrator.WithOrigin(ctx, orchestrator.Origin{Principal: orchestrator.LocalPrincipal, Probe: true})
}

// asLocal marks what is done in the name of the person at this machine.
func asLocal(ctx context.Context) context.Context {
	return orchestrator.WithOrigin(ctx, orchestrator.Origin{Principal: orchestrator.LocalPrincipal})
}
