package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/app/demo"
)

// demoAgents builds the demo agents for app, which does not know them.
func demoAgents(ctx context.Context, o *app.DemoOptions) (app.DemoServer, error) {
	return demo.Handler(ctx, &demo.Options{Log: o.Log, Push: o.Push, Base: o.Base, Token: o.Token, Logger: o.Logger})
}

func (e *env) demoCmd() *cobra.Command {
	var addr, debug string
	c := &cobra.Command{
		Use: "demo", Short: "Serve the demo agents alone",
		Long: "Serves each demo agent at /{name} of one address: real A2A agents to try clients on. When ready it prints " +
			"one line on stdout:\n  ready a2a=<url> data=<dir>\nThat address is a catalogue of them all: parley agents add <url>. They want a token only when PARLEY_A2A_TOKEN is set.",
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:7430", "`address` to listen at; port 0 = any")
	c.Flags().StringVar(&debug, "debug", "", "loopback `address` for profiles (pprof)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := e.dir()
		if err != nil {
			return err
		}
		if e.data == "" {
			dir = filepath.Join(dir, "demo")
		}
		ctx, stop := notify(cmd.Context())
		defer stop()
		d, err := app.ServeDemo(ctx, demoAgents, &app.DemoConfig{
			Data: dir, Addr: addr, Token: os.Getenv("PARLEY_A2A_TOKEN"), Debug: debug, Logger: e.logger(),
		})
		if errors.Is(err, app.ErrRunning) {
			return &codedError{exitInUse, err}
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(e.stdout, d.Ready())
		err = d.Wait(ctx)
		stop()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		return errors.Join(err, d.Close(drain))
	}
	return c
}
