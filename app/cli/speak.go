package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/a2a"
	"parley/app"
)

func (e *env) agentsSpeakCmd() *cobra.Command {
	var at a2a.AgentInterface
	var byCard bool
	c := &cobra.Command{
		Use:   "speak ID",
		Short: "Choose in which version and over which binding an agent is called",
		Long: "For an agent whose card is wrong. What is chosen is used as it is, and nothing else is tried; the address may be\n" +
			"reached with that. --by-card goes by the card again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := app.SpeakAgent{ID: args[0]}
			if !byCard {
				if at.Version == "" {
					return &codedError{exitUsage, errors.New("--version says which version to speak, or --by-card to go by the card")}
				}
				at.Version = strings.TrimPrefix(at.Version, "v")
				if at.URL == "" {
					var now app.AgentInfo
					if err := e.call(cmd.Context(), "agents.show", app.Named{ID: s.ID}, &now); err != nil {
						return err
					}
					at.URL = now.URL
				}
				s.At = &at
			}
			var a app.AgentInfo
			if err := e.call(cmd.Context(), "agents.speak", s, &a); err != nil {
				return err
			}
			return e.print(a, func() { fmt.Fprintf(e.stdout, "%s\t%s\t%s\n", a.ID, a.Speaks, a.URL) })
		},
	}
	f := c.Flags()
	f.StringVar(&at.Version, "version", "", "1.0, 0.3 or 0.1")
	f.StringVar(&at.Binding, "binding", a2a.BindingJSONRPC, "JSONRPC, HTTP+JSON or GRPC")
	f.StringVar(&at.URL, "url", "", "the address to call (default: as now)")
	f.StringVar(&at.Tenant, "tenant", "", "the tenant to name, if it has one")
	f.BoolVar(&byCard, "by-card", false, "go by the agent's card")
	c.MarkFlagsMutuallyExclusive("by-card", "version")
	return e.readable(c)
}
