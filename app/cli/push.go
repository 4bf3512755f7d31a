package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) pushCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "push", Short: "See which webhooks are told of tasks, and try again those that failed",
		Long: "Other A2A clients may register webhooks for their tasks. A delivery that fails is tried ten times within three " +
			"days; after that, or when the webhook answers that it is gone, nothing more is sent to it until you replay it.",
	}
	c.AddCommand(e.pushListCmd("list", "push.list", "List the webhooks that are told of tasks"),
		e.pushListCmd("dead", "push.dead", "List the webhooks that get nothing more"), e.pushReplayCmd())
	return c
}

func (e *env) pushListCmd(use, verb, short string) *cobra.Command {
	return e.readable(&cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hooks := []app.PushInfo{}
			if err := e.call(cmd.Context(), verb, struct{}{}, &hooks); err != nil {
				return err
			}
			return e.print(hooks, func() {
				t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tTASK\tWEBHOOK\tSTATE\tFAILED\tNEXT\tWHY")
				for _, h := range hooks {
					next := ""
					if h.Next != nil {
						next = h.Next.Local().Format(time.DateTime)
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", h.ID, h.Task, h.URL, h.State, h.Attempts, next, h.Error)
				}
				t.Flush()
			})
		},
	})
}

func (e *env) pushReplayCmd() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "replay ID | --all", Short: "Go on telling a webhook, from where it stopped",
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var which app.Named
			if !all {
				which.ID = args[0]
			}
			var n int
			if err := e.call(cmd.Context(), "push.replay", which, &n); err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "%d to go on\n", n)
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all that get nothing more")
	return c
}
