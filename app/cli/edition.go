package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/app"
)

// Edition is what a program brings that is this one with more in it: another store, other processes that carry runs on,
// further pages.
type Edition struct {
	Name  string               // of the program
	Flags func(*pflag.FlagSet) // of every command

	// Configure completes a configuration before it is opened. What it returns is called once that is closed.
	Configure func(ctx context.Context, cfg *app.Config) (done func(), err error)

	// Work carries runs on until ctx ends, and tells ready once it has begun. It makes the command `worker`; nil makes none.
	Work func(ctx context.Context, a *app.App, cfg *app.Config, ready func()) error
}

// clusterProgram is the edition that runs on several machines.
const clusterProgram = "parley-cluster"

// extend makes the program that of its edition.
func (e *env) extend(root *cobra.Command) {
	if e.edition == nil {
		// Who looks for it here is told where it is.
		for _, c := range root.Commands() {
			if c.Name() == "serve" {
				e.engineFlag(c)
			}
		}
		return
	}
	root.Use = e.edition.Name
	e.edition.Flags(root.PersistentFlags())
	if e.edition.Work != nil {
		root.AddCommand(e.workerCmd())
	}
}

// engineFlag lets serve say which program carries runs on elsewhere.
func (e *env) engineFlag(serve *cobra.Command) {
	engine := serve.Flags().String("engine", "local", "`local`: runs are carried on by this process")
	run := serve.RunE
	serve.RunE = func(cmd *cobra.Command, args []string) error {
		switch *engine {
		case "local":
			return run(cmd, args)
		case "temporal":
			return &codedError{exitUsage, fmt.Errorf("runs are carried on by a Temporal cluster with another program: "+
				"%s serve --temporal host:7233 --store postgres://…", clusterProgram)}
		}
		return &codedError{exitUsage, fmt.Errorf("--engine is local, not %q", *engine)}
	}
}

// open is app.Open with what the edition adds.
func (e *env) open(ctx context.Context, cfg *app.Config) (*opened, error) {
	done := func() {}
	if e.edition != nil {
		var err error
		if done, err = e.edition.Configure(ctx, cfg); err != nil {
			return nil, err
		}
	}
	a, err := app.Open(ctx, cfg)
	if err != nil {
		done()
		return nil, err
	}
	return &opened{a, done}, nil
}

// opened is an App with what was opened for it.
type opened struct {
	*app.App
	done func()
}

// Close closes all of it.
func (o *opened) Close(ctx context.Context) error {
	defer o.done()
	return o.App.Close(ctx)
}

func (e *env) workerCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "worker", Short: "Carry runs on, and serve nobody",
		Long: "Carries the runs of all nodes on until it is told to stop; then it lets go of them, and other workers go on. It " +
			"prints one line on stdout when it has begun:\n  ready worker data=<dir>\nA worker needs a data directory of its own.",
		Args: cobra.NoArgs,
	}
	o := &serverOptions{auth: "token", flags: c.Flags()}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := e.config(o)
		if err != nil {
			return err
		}
		ctx, stop := notify(cmd.Context())
		defer stop()
		a, err := e.open(ctx, cfg)
		if err != nil {
			return err
		}
		err = e.edition.Work(ctx, a.App, cfg, func() { fmt.Fprintln(e.stdout, app.ReadyWorker(cfg.Data)) })
		stop() // from here a second signal ends the process at once
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		return errors.Join(err, a.Close(drain))
	}
	return c
}
