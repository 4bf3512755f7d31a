package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) tokenCmd() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make, list and revoke the tokens by which other A2A clients call Parley"}
	c.AddCommand(e.tokenNewCmd(), e.tokenListCmd(), e.tokenRevokeCmd())
	return c
}

func (e *env) tokenNewCmd() *cobra.Command {
	var t app.TokenInfo
	c := &cobra.Command{
		Use: "new NAME", Short: "Make a token and print it, once",
		Long: "The token reaches Parley's own agent, and with --agents the named ones behind it too. It is printed now and " +
			"never again: only its hash is kept.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Name = args[0]
			var made app.TokenInfo
			if err := e.call(cmd.Context(), "token.new", t, &made); err != nil {
				return err
			}
			return e.print(made, func() { fmt.Fprintln(e.stdout, made.Secret) })
		},
	}
	f := c.Flags()
	f.StringSliceVar(&t.Agents, "agents", nil, "agents it may also call directly, comma-separated; * = all (Parley's own agent gives work to any approved one)")
	f.BoolVar(&t.ReadOnly, "read-only", false, "may get, list and subscribe only")
	f.BoolVar(&t.Credentials, "credentials", false, "its requests may use stored credentials")
	f.BoolVar(&t.Workflows, "workflows", false, "may have workflows carried out: kept ones, and files it sends")
	f.IntVar(&t.RatePerMin, "rate", 0, "requests a minute (0 = no limit)")
	return e.readable(c)
}

func (e *env) tokenListCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tokens", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens := []app.TokenInfo{}
			if err := e.call(cmd.Context(), "token.list", struct{}{}, &tokens); err != nil {
				return err
			}
			return e.print(tokens, func() {
				t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tNAME\tREACHES\tMAY\tUSED\tSTATE")
				for _, k := range tokens {
					reach, may, used, state := "own agent", "read and write", "never", "valid"
					if len(k.Agents) > 0 {
						reach += ", " + strings.Join(k.Agents, ", ")
					}
					if k.ReadOnly {
						may = "read"
					}
					if k.Workflows {
						may += ", run workflows"
					}
					if k.Used != nil {
						used = k.Used.Format(time.DateTime)
					}
					if k.Revoked != nil {
						state = "revoked"
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, reach, may, used, state)
				}
				t.Flush()
			})
		},
	})
}

func (e *env) tokenRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token, at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.call(cmd.Context(), "token.revoke", app.Named{ID: args[0]}, nil)
		},
	}
}
