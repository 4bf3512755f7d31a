package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
)

func (e *env) agentsCmd() *cobra.Command {
	c := &cobra.Command{Use: "agents", Short: "Add, list, show, verify and remove agents"}
	c.AddCommand(e.agentsAddCmd(), e.agentsListCmd(), e.agentsShowCmd(), e.agentsSpeakCmd(), e.agentsVerifyCmd(),
		e.agentsCredentialCmd(), e.agentsForgetCmd(), e.agentsRemoveCmd())
	c.AddCommand(e.keeperCmds()...)
	return c
}

func (e *env) agentsAddCmd() *cobra.Command {
	var yes bool
	var find app.FindAgent
	var cred credentialFlags
	c := &cobra.Command{
		Use:   "add ADDRESS",
		Short: "Find an agent, show what it is, and approve it",
		Long: "ADDRESS is whatever you have of it: a host, a base URL, the URL of its card, the card itself as JSON, a " +
			"file with one, or - for what stands on stdin.\nIt is approved after a question, or at once with --yes: that grants exactly the addresses shown.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var err error
			if find.Input, err = e.address(args[0]); err != nil {
				return err
			}
			if find.Credential, err = cred.credential(e.stdin); err != nil {
				return &codedError{exitUsage, err}
			}
			ctl, done, err := e.control(ctx)
			if err != nil {
				return err
			}
			defer done()
			var found []app.AgentInfo
			if err := ctl.Call(ctx, "agents.preview", find, &found); err != nil {
				return err
			}
			if len(found) > 1 && find.ID != "" {
				return &codedError{exitUsage, errors.New("--id fits one agent, and the address names several")}
			}
			answers := bufio.NewReader(e.stdin)
			var added []app.AgentInfo
			for i := range found {
				f := &found[i]
				if f.Fault != nil {
					e.fail(f.Fault)
					continue
				}
				if yes && f.Elsewhere {
					e.fail(&orchestrator.Fault{
						Kind: "elsewhere", Where: orchestrator.WhereAgent,
						What: "There is no agent under that path; the card of " + f.Name + " was found elsewhere on that host.",
						Do:   "Leave out --yes to look at it, or give the address of the agent that is meant.",
					})
					continue
				}
				if !yes {
					e.describe(f)
					fmt.Fprintf(e.stderr, "Approve it and let it be reached at %s? [y/N] ", strings.Join(f.Origins, ", "))
					line, _ := answers.ReadString('\n')
					if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
						fmt.Fprintln(e.stderr, "Not added.")
						continue
					}
				}
				one := find
				one.Origins = f.Origins
				if len(found) > 1 {
					one.Input = f.Input
				}
				var a app.AgentInfo
				if err := ctl.Call(ctx, "agents.add", one, &a); err != nil {
					return err
				}
				added = append(added, a)
			}
			if len(added) == 0 {
				return errQuiet
			}
			if find.Credential != nil {
				var s app.Status
				if err := ctl.Call(ctx, "status", struct{}{}, &s); err != nil {
					return err
				}
				fmt.Fprintln(e.stderr, s.Secrets)
			}
			return e.print(added, func() {
				for _, a := range added {
					fmt.Fprintf(e.stdout, "%s\t%s\t%s\n", a.ID, a.Name, a.Speaks)
				}
			})
		},
	}
	f := c.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "approve without the question")
	f.BoolVar(&find.AsTyped, "as-typed", false, "call it at the address given, when its card names another host")
	f.StringVar(&find.ID, "id", "", "the id to give it (default: made from its name)")
	cred.add(c)
	return e.readable(c)
}

// address is what stands in the file, or on the standard input, that an argument names; else the argument itself.
func (e *env) address(arg string) (string, error) {
	if arg == "-" {
		b, err := io.ReadAll(e.stdin)
		return string(b), err
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.Mode().IsRegular():
		b, err := os.ReadFile(arg)
		return string(b), err
	case err != nil && (filepath.IsAbs(arg) || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../")): // no address begins so
		return "", &codedError{exitUsage, err}
	}
	return arg, nil
}

func (e *env) describe(a *app.AgentInfo) {
	w := e.stderr
	fmt.Fprintf(w, "%s\n", a.Name)
	if a.Description != "" {
		fmt.Fprintf(w, "  %s\n", a.Description)
	}
	fmt.Fprintf(w, "  speaks   %s at %s%s\n", a.Speaks, a.URL, map[orchestrator.KnownBy]string{
		orchestrator.KnownByAnswer: " (it answers so, whatever its card says)",
		orchestrator.KnownByPerson: " (as you chose)",
	}[a.Known])
	if a.Fault != nil {
		fmt.Fprintf(w, "  failed   %s\n", a.Fault.What)
	}
	if len(a.Skills) > 0 {
		fmt.Fprintf(w, "  skills   %s\n", strings.Join(a.Skills, ", "))
	}
	if len(a.SignIn) > 0 {
		fmt.Fprintf(w, "  sign-in  %s\n", strings.Join(a.SignIn, ", "))
	}
	if a.Signature != nil {
		fmt.Fprintf(w, "  signed   %s\n", signatureLine(a.Signature))
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "  note     %s\n", n)
	}
}

func (e *env) agentsListCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the agents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agents := []app.AgentInfo{}
			if err := e.call(cmd.Context(), "agents.list", struct{}{}, &agents); err != nil {
				return err
			}
			return e.print(agents, func() {
				if len(agents) == 0 {
					fmt.Fprintln(e.stdout, "No agents yet. Add one: parley agents add ADDRESS")
					return
				}
				t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tNAME\tSPEAKS\tTRUST\tADDRESS")
				for _, a := range agents {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.ID, a.Name, a.Speaks, a.Trust, a.URL)
				}
				t.Flush()
			})
		},
	})
}

func (e *env) agentsShowCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "show ID", Short: "Show an agent", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var a app.AgentInfo
			if err := e.call(cmd.Context(), "agents.show", app.Named{ID: args[0]}, &a); err != nil {
				return err
			}
			return e.print(a, func() {
				out := &env{stdout: e.stdout, stderr: e.stdout}
				fmt.Fprintf(e.stdout, "%s (%s)\n", a.ID, a.Trust)
				out.describe(&a)
				fmt.Fprintf(e.stdout, "  granted  %s\n", strings.Join(a.Origins, ", "))
			})
		},
	})
}

func (e *env) agentsRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Short: "Forget an agent, its grants and its credential; conversations stay",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.call(cmd.Context(), "agents.remove", app.Named{ID: args[0]}, nil)
		},
	}
}
