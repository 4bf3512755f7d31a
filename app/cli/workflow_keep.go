package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

func (e *env) workflowListCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the kept workflows", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := []app.WorkflowInfo{}
			if err := e.call(cmd.Context(), "workflow.list", struct{}{}, &all); err != nil {
				return err
			}
			return e.print(all, func() {
				t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tNAME\tSKILL\tSTATE")
				for _, w := range all {
					skill, state := "no", "ready"
					if w.Exposed {
						skill = "yes"
					}
					if len(w.Problems) > 0 {
						state = fmt.Sprintf("%d:%d: %s", w.Problems[0].Line, w.Problems[0].Column, w.Problems[0].What)
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", w.ID, w.Name, skill, state)
				}
				t.Flush()
			})
		},
	})
}

func (e *env) workflowShowCmd() *cobra.Command {
	var source bool
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a kept workflow: what it needs, its steps, its newest runs",
		Long: "--source prints the file as it is kept. `parley plan RUN` shows where a run stands.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var w app.WorkflowInfo
			if err := e.call(cmd.Context(), "workflow.show", app.Named{ID: args[0]}, &w); err != nil {
				return usageFault(err)
			}
			if source {
				_, err := io.WriteString(e.stdout, w.Source)
				return err
			}
			return e.print(w, func() { e.printWorkflow(&w) })
		},
	}
	c.Flags().BoolVar(&source, "source", false, "print the file")
	return e.readable(c)
}

func (e *env) printWorkflow(w *app.WorkflowInfo) {
	out := e.stdout
	fmt.Fprintf(out, "%s  %s\n", w.ID, w.Name)
	if w.Description != "" {
		fmt.Fprintln(out, w.Description)
	}
	if w.Exposed {
		fmt.Fprintln(out, "A2A clients see it as the skill workflow-"+w.ID+".")
	}
	for _, p := range w.Problems {
		fmt.Fprintf(out, "%d:%d: %s; %s\n", p.Line, p.Column, p.What, p.Do)
	}
	if read, problems := workflow.Parse(w.ID, []byte(w.Source)); problems == nil {
		if len(read.Inputs) > 0 {
			fmt.Fprintln(out, "\nInputs:")
			t := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
			missing, _ := read.Missing(nil)
			need := map[string]bool{}
			for _, name := range missing {
				need[name] = true
			}
			for i := range read.Inputs {
				in, mark := &read.Inputs[i], ""
				if need[in.Name] {
					mark = "needed"
				}
				fmt.Fprintf(t, "  %s\t%s\t%s\n", in.Name, mark, in.Schema)
			}
			t.Flush()
		}
		fmt.Fprintln(out)
		drawText(out, read)
	}
	if len(w.Runs) > 0 {
		fmt.Fprintln(out, "\nRuns:")
		for _, r := range w.Runs {
			fmt.Fprintf(out, "  %s  %s  %s\n", r.ID, plainState(r.State), r.Began.Local().Format(time.DateTime))
		}
	}
}

func (e *env) workflowSaveCmd() *cobra.Command {
	var s app.SaveWorkflow
	c := &cobra.Command{
		Use: "save FILE", Short: "Keep a workflow under a name, in place of the one that has it",
		Long: "The name is that of the file, publish for publish.yaml, unless --id says another. With --expose A2A clients see it as a\n" +
			"skill of Parley's own agent. A file with problems is kept, and they are told; it cannot be run.",
		Example: "  parley workflow save publish.yaml --expose",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, ps, err := e.workflow(args[0])
			if err != nil {
				return err
			}
			b, err := readWorkflow(args[0])
			if err != nil {
				return &codedError{exitUsage, err}
			}
			s.Source = string(b)
			if s.ID == "" {
				name := filepath.Base(args[0])
				s.ID = strings.Trim(strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(name, filepath.Ext(name)), "_", "-")), "-")
			}
			var kept app.WorkflowInfo
			if err := e.call(cmd.Context(), "workflow.save", s, &kept); err != nil {
				return usageFault(err)
			}
			printProblems(e.stderr, args[0], ps)
			if ps == nil {
				for _, p := range kept.Problems {
					fmt.Fprintf(e.stderr, "%s:%d:%d: %s; %s\n", args[0], p.Line, p.Column, p.What, p.Do)
				}
			}
			return e.print(kept, func() { fmt.Fprintf(e.stdout, "%s kept: parley workflow run %s\n", kept.Name, kept.ID) })
		},
	}
	c.Flags().StringVar(&s.ID, "id", "", "the `name` in commands: small letters, digits and dashes")
	c.Flags().BoolVar(&s.Expose, "expose", false, "offer it to A2A clients as a skill")
	return e.readable(c)
}

func (e *env) workflowRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a kept workflow; its runs stay, and go on", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usageFault(e.call(cmd.Context(), "workflow.remove", app.Named{ID: args[0]}, nil))
		},
	}
}

func (e *env) planCmd() *cobra.Command {
	var follow, wait bool
	c := &cobra.Command{
		Use: "plan RUN", Short: "Show where a run with several steps stands",
		Long: "One line a step: who does it, how it stands, how long it took, and which attempt it is. RUN is the id that `workflow run`,\n" +
			"`task list` and `workflow show` print. With --follow it is followed to its end, as `workflow run` does.",
		Example: "  parley plan 0199a1b2-…\n  parley plan retry 0199a1b2-… publish",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if follow {
				ctx, stop := notify(cmd.Context())
				defer stop()
				return e.followPlan(ctx, args[0], wait)
			}
			var plan orchestrator.Plan
			if err := e.call(cmd.Context(), "plan.show", app.Named{ID: args[0]}, &plan); err != nil {
				return err
			}
			return e.print(&plan, func() {
				fmt.Fprintf(e.stdout, "%s  %s\n", plan.Name, plainState(plan.State))
				for _, line := range planLines(&plan, time.Now()) {
					fmt.Fprintln(e.stdout, line)
				}
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow it to its end, and answer what it asks")
	c.Flags().BoolVar(&wait, "wait", false, "with --follow and without a terminal: wait until somebody answers elsewhere")
	c.AddCommand(e.planStepCmd("stop", "Stop what a step has going on; what follows is as the plan says of failures"),
		e.planStepCmd("retry", "Try a failed step again: in its run while that goes on, else in a new one with what the others gave"))
	return e.readable(c)
}

func (e *env) planStepCmd(what, short string) *cobra.Command {
	return &cobra.Command{
		Use: what + " RUN STEP", Short: short,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in app.Named
			if err := e.call(cmd.Context(), "plan."+what, app.StepRef{Run: args[0], Step: args[1]}, &in); err != nil {
				return err
			}
			if in.ID != "" && in.ID != args[0] {
				return e.print(&in, func() { fmt.Fprintf(e.stdout, "It goes on in the run %s\n", in.ID) })
			}
			return nil
		},
	}
}
