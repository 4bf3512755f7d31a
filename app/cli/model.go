package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
)

func (e *env) modelCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "model", Short: "Set up the language model that plans",
		Long: "Without a model Parley finds the agent for a message by matching words. A model, of any server with an " +
			"OpenAI-compatible API, plans: it gives parts of a request to several agents, asks you, and puts the answer together.\n" +
			"It reads what you and the agents say to each other; it is given no credential.",
	}
	c.AddCommand(e.modelShowCmd(), e.modelSetCmd(), e.modelTestCmd(), e.modelTurnCmd("on", "Let the model plan", true),
		e.modelTurnCmd("off", "Let the model plan no more; what is set up is kept", false))
	return c
}

func (e *env) modelShowCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "show", Short: "Show what is set up", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var m orchestrator.Model
			if err := e.call(cmd.Context(), "model.show", struct{}{}, &m); err != nil {
				return err
			}
			return e.showModel(&m)
		},
	})
}

func (e *env) showModel(m *orchestrator.Model) error {
	return e.print(m, func() {
		if m.URL == "" && m.Name == "" {
			fmt.Fprintln(e.stdout, "No model is set up.")
			return
		}
		on, key := "off", "none"
		if m.On {
			on = "on"
		}
		if m.Key {
			key = "kept"
		}
		t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "URL\t%s\nmodel\t%s\nplanning\t%s\nkey\t%s\n", cmp.Or(m.URL, "-"), cmp.Or(m.Name, "-"), on, key)
		if m.Fault != nil {
			fmt.Fprintf(t, "last time\t%s %s\n", m.Fault.What, m.Fault.Do)
		}
		t.Flush()
	})
}

// modelFlags are what can be changed.
type modelFlags struct{ url, name, key string }

func (f *modelFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "url", "", "`address` of the API, such as http://127.0.0.1:11434/v1")
	c.Flags().StringVar(&f.name, "name", "", "the `model`, as the API calls it")
	c.Flags().StringVar(&f.key, "key", "", "the key is in environment `VARIABLE`, in a file: @path, or on standard input: -; "+
		"--key= forgets the one that is kept")
}

// change is what the flags that were given say.
func (f *modelFlags) change(e *env, c *cobra.Command) (app.ModelChange, error) {
	var m app.ModelChange
	if c.Flags().Changed("url") {
		m.URL = &f.url
	}
	if c.Flags().Changed("name") {
		m.Name = &f.name
	}
	if c.Flags().Changed("key") {
		key := ""
		if f.key != "" {
			var err error
			if key, err = secretFrom(f.key, e.stdin); err != nil {
				return m, &codedError{exitUsage, err}
			}
		}
		m.Key = &key
	}
	return m, nil
}

func (e *env) modelSetCmd() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use: "set", Short: "Say where the model is and which it is, and let it plan",
		Long: "What is not given stays as it is. The key is kept as the credentials of agents are, and goes to the address of " +
			"--url only: with another one it is forgotten.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.change(e, cmd)
			if err != nil {
				return err
			}
			if in.URL == nil && in.Name == nil && in.Key == nil {
				return &codedError{exitUsage, errors.New("say what to set: --url, --name or --key")}
			}
			on := true
			in.On = &on
			var m orchestrator.Model
			if err := e.call(cmd.Context(), "model.set", in, &m); err != nil {
				return err
			}
			if in.Key != nil && m.Key {
				fmt.Fprintln(e.stderr, m.Kept)
			}
			return e.showModel(&m)
		},
	}
	f.add(c)
	return e.readable(c)
}

func (e *env) modelTurnCmd(name, short string, on bool) *cobra.Command {
	return e.readable(&cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var m orchestrator.Model
			if err := e.call(cmd.Context(), "model.set", app.ModelChange{On: &on}, &m); err != nil {
				return err
			}
			return e.showModel(&m)
		},
	})
}

func (e *env) modelTestCmd() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use: "test", Short: "Ask the model for a small plan, and say what came of it",
		Long: "With --url, --name or --key it tries those, and keeps none of them.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.change(e, cmd)
			if err != nil {
				return err
			}
			var t orchestrator.ModelTest
			if err := e.call(cmd.Context(), "model.test", in, &t); err != nil {
				return err
			}
			if err := e.print(&t, func() {
				fmt.Fprintln(e.stdout, t.What)
				if t.OK {
					fmt.Fprintf(e.stdout, "It took %s.\n", t.Took.Round(time.Millisecond))
				}
				if t.Do != "" {
					fmt.Fprintln(e.stdout, t.Do)
				}
				if t.Raw != "" {
					fmt.Fprintln(e.stdout, "It said: "+t.Raw)
				}
				if !t.OK && len(t.Models) > 0 {
					fmt.Fprintln(e.stdout, "It has: "+strings.Join(t.Models, ", "))
				}
			}); err != nil {
				return err
			}
			if !t.OK {
				return &codedError{exitFailed, errQuiet}
			}
			return nil
		},
	}
	f.add(c)
	return e.readable(c)
}
