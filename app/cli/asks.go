package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) asksCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "asks", Short: "List and answer what agents and workflows ask, of every run",
		Long: "Without a command it lists every open question, the oldest first.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.listAsks(cmd.Context()) },
	}
	c.AddCommand(e.readable(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the open questions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.listAsks(cmd.Context()) },
	}), e.askShowCmd(), e.askAnswerCmd(), e.askDeclineCmd())
	return e.readable(c)
}

func (e *env) listAsks(ctx context.Context) error {
	asks := []app.AskInfo{}
	if err := e.call(ctx, "asks.list", struct{}{}, &asks); err != nil {
		return err
	}
	return e.print(asks, func() {
		if len(asks) == 0 {
			fmt.Fprintln(e.stderr, "Nothing is asked.")
			return
		}
		t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tKIND\tWHO ASKS\tRUN\tOPEN FOR\tWHAT")
		for _, k := range asks {
			who := k.Agent
			if who == "" {
				who = "Parley"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, who, k.Run, elapsed(time.Since(k.Opened)), clip(k.Prompt))
		}
		t.Flush()
	})
}

func (e *env) askShowCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "show ID", Short: "Show a question whole", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var k app.AskInfo
			if err := e.call(cmd.Context(), "asks.show", app.Named{ID: args[0]}, &k); err != nil {
				return err
			}
			return e.print(k, func() {
				shown := *e
				shown.stderr = e.stdout
				shown.printAsk(&k)
				fmt.Fprintf(e.stdout, "%s, %s, of run %s\n", k.Kind, k.State, k.Run)
			})
		},
	})
}

func (e *env) askAnswerCmd() *cobra.Command {
	var data, choice string
	c := &cobra.Command{
		Use: "answer ID [ANSWER...]", Short: "Answer a question",
		Long: "ANSWER is what its kind wants: words; the id, number or label of a choice; yes or no for an approval; JSON for a form, which is\n" +
			"checked against its schema. A sign-in takes none: sign in where it says, and then answer with nothing.\n" +
			"- is what stands on stdin.",
		Example: "  parley asks answer 0199a1b2-… yes\n  parley asks answer 0199a1b2-… --form '{\"to\": \"Bergen\"}'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := app.AnswerTo{Ask: args[0], Typed: strings.Join(args[1:], " "), Read: true}
			switch {
			case (data != "" || choice != "") && len(args) > 1, data != "" && choice != "":
				return &codedError{exitUsage, errors.New("give one answer: in words, --form, or --choice")}
			case choice != "":
				a.Typed = choice
			case strings.HasPrefix(data, "@"):
				b, err := os.ReadFile(data[1:])
				if err != nil {
					return &codedError{exitUsage, err}
				}
				data = string(b)
			case a.Typed == "-":
				b, err := io.ReadAll(e.stdin)
				if err != nil {
					return err
				}
				a.Typed = strings.TrimRight(string(b), "\n")
			}
			if data != "" {
				if data = string(bytes.TrimSpace([]byte(data))); !json.Valid([]byte(data)) {
					return &codedError{exitUsage, errors.New("--form is no JSON")}
				}
				a = app.AnswerTo{Ask: args[0], Data: json.RawMessage(data)}
			}
			return e.call(cmd.Context(), "answer", a, nil)
		},
	}
	c.Flags().StringVar(&data, "form", "", "the answer as `JSON`, or @FILE")
	c.Flags().StringVar(&choice, "choice", "", "the id, number or label of a choice")
	return c
}

func (e *env) askDeclineCmd() *cobra.Command {
	return &cobra.Command{
		Use: "decline ID", Short: "Decline to answer; the step ends, as its workflow says", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.call(cmd.Context(), "answer", app.AnswerTo{Ask: args[0], Decline: true}, nil)
		},
	}
}
