package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) doctorCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "doctor", Short: "Check this installation and say what is wrong", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var checks []app.Check
			if err := e.call(cmd.Context(), "doctor", struct{}{}, &checks); err != nil {
				checks = append(checks, app.Check{Name: "data directory", Detail: err.Error()})
			}
			bad := false
			for _, c := range checks {
				bad = bad || !c.OK
			}
			err := e.print(checks, func() {
				for _, c := range checks {
					mark := "ok  "
					if !c.OK {
						mark = "FAIL"
					}
					fmt.Fprintf(e.stdout, "%s  %-18s %s\n", mark, c.Name, c.Detail)
				}
			})
			if err == nil && bad {
				err = errQuiet
			}
			return err
		},
	})
}
