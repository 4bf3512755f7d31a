package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
)

// keeperCmds look after agents that were approved.
func (e *env) keeperCmds() []*cobra.Command {
	return []*cobra.Command{e.agentsTestCmd(), e.agentsReportCmd(), e.agentsReviewCmd(), e.agentsBlockCmd(true), e.agentsBlockCmd(false), e.agentsRevokeCmd()}
}

func (e *env) agentsTestCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "test ID", Short: "Call an agent without asking it for work, and say what that proves", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t orchestrator.AgentTest
			if err := e.call(cmd.Context(), "agents.test", app.Named{ID: args[0]}, &t); err != nil {
				return err
			}
			err := e.print(t, func() {
				w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				for _, s := range t.Steps {
					mark, detail := "ok", s.Detail
					switch {
					case s.Left:
						mark = "--"
					case s.Fault != nil:
						mark, detail = "FAILED", strings.TrimSpace(s.Fault.What+" "+s.Fault.Do)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, mark, detail)
				}
				w.Flush()
			})
			if err == nil && !t.OK() {
				return errQuiet
			}
			return err
		},
	})
}

func (e *env) agentsReportCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "report ID", Short: "Check an agent's card against the rules of its version", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []orchestrator.Finding
			if err := e.call(cmd.Context(), "agents.report", app.Named{ID: args[0]}, &found); err != nil {
				return err
			}
			return e.print(found, func() {
				if len(found) == 0 {
					fmt.Fprintln(e.stdout, "The card keeps all the rules.")
				}
				for _, f := range found {
					fmt.Fprintf(e.stdout, "%s: %s: %s (%s)\n", f.Level, f.Path, f.What, f.Rule)
				}
			})
		},
	})
}

func (e *env) agentsReviewCmd() *cobra.Command {
	var approve, raw bool
	c := &cobra.Command{
		Use: "review ID", Short: "Read an agent's card again and show what changed since it was approved",
		Long: "With --approve, exactly the card that is shown is approved, and the agent may be reached at the addresses which it names.\n" +
			"parley agents block refuses it instead.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			ctl, done, err := e.control(ctx)
			if err != nil {
				return err
			}
			defer done()
			var r *app.AgentReview
			if err := ctl.Call(ctx, "agents.review", app.Named{ID: args[0]}, &r); err != nil {
				return err
			}
			err = e.print(r, func() {
				switch {
				case r == nil:
					fmt.Fprintln(e.stdout, "The card is the one you approved.")
				case raw:
					var all any
					_ = json.Unmarshal(r.Card, &all)
					b, _ := json.MarshalIndent(all, "", "  ")
					fmt.Fprintln(e.stdout, string(b))
				default:
					for _, h := range r.Hunks {
						fmt.Fprintln(e.stdout, h.Title)
						for _, l := range h.Lines {
							op := string(l.Op)
							if op == "" {
								op = " "
							}
							fmt.Fprintf(e.stdout, "  %s %s\n", op, l.Text)
						}
					}
					if r.Grave {
						fmt.Fprintln(e.stdout, "Nothing is sent to it until you approve this card: parley agents review --approve "+args[0])
					}
				}
			})
			if err != nil || r == nil || !approve {
				return err
			}
			return ctl.Call(ctx, "agents.take", app.TakeCard{ID: args[0], Hash: r.Hash}, nil)
		},
	}
	c.Flags().BoolVar(&approve, "approve", false, "approve the card that is shown")
	c.Flags().BoolVar(&raw, "raw", false, "show the new card itself")
	return e.readable(c)
}

func (e *env) agentsBlockCmd(on bool) *cobra.Command {
	use, short := "block ID", "Send nothing to an agent any more; it stays in the list"
	if !on {
		use, short = "unblock ID", "Let a blocked agent be called again"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.call(cmd.Context(), "agents.block", app.BlockAgent{ID: args[0], On: on}, nil)
		},
	}
}

func (e *env) agentsRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID ORIGIN", Short: "Take back the leave to reach an agent at an origin", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.call(cmd.Context(), "agents.revoke", app.AgentOrigin{ID: args[0], Origin: args[1]}, nil)
		},
	}
}

// agentsForgetCmd removes credentials that are kept for an agent.
func (e *env) agentsForgetCmd() *cobra.Command {
	var of orchestrator.CredentialInfo
	c := &cobra.Command{
		Use: "forget-credential ID", Short: "Forget a credential that is kept for an agent", Args: cobra.ExactArgs(1),
		Long: "Without --origin and --kind it is the only one there is; when there are more, they are listed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			ctl, done, err := e.control(ctx)
			if err != nil {
				return err
			}
			defer done()
			var all []orchestrator.CredentialInfo
			if err := ctl.Call(ctx, "agents.credentials", app.Named{ID: args[0]}, &all); err != nil {
				return err
			}
			var fit []orchestrator.CredentialInfo
			for _, k := range all {
				if (of.Origin == "" || k.Origin == of.Origin) && (of.Kind == "" || k.Kind == of.Kind) {
					fit = append(fit, k)
				}
			}
			switch len(fit) {
			case 0:
				return errors.New("no such credential is kept")
			case 1:
				return ctl.Call(ctx, "agents.forget-credential", app.AgentCredential{ID: args[0], CredentialInfo: fit[0]}, nil)
			}
			for _, k := range fit {
				fmt.Fprintf(e.stderr, "--kind %s --origin %s  %s\n", k.Kind, k.Origin, k.Name)
			}
			return &codedError{exitUsage, errors.New("several credentials are kept: say which")}
		},
	}
	c.Flags().StringVar(&of.Origin, "origin", "", "the `origin` that it goes to")
	c.Flags().StringVar(&of.Kind, "kind", "", "bearer, basic, key or certificate")
	return c
}
