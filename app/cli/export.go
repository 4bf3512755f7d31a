package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) exportCmd() *cobra.Command {
	var x app.ExportQuery
	var path string
	c := &cobra.Command{
		Use: "export [CONVERSATION]", Short: "Write conversations as Markdown or JSON",
		Long: "Writes one conversation, or all of them. JSON is one object a line and holds every item; Markdown is for " +
			"reading. Secrets are never in it. A file that is there already is left alone.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				x.Conversation = args[0]
			}
			if e.json {
				x.Format = "json"
			}
			if x.Format != "json" && x.Format != "md" {
				return &codedError{exitUsage, fmt.Errorf("--format is md or json, not %q", x.Format)}
			}
			var w io.Writer = e.stdout
			if path != "" {
				f, failed := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if failed != nil {
					return failed
				}
				defer func() {
					if err = errors.Join(err, f.Close()); err != nil {
						_ = os.Remove(path) // half an export looks like one
					}
				}()
				w = f
			}
			out := bufio.NewWriter(w)
			ctl, done, err := e.control(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			err = ctl.Stream(cmd.Context(), "export", x, func(line []byte) error {
				if x.Format == "json" {
					out.Write(line)
					return out.WriteByte('\n')
				}
				var s string
				if err := json.Unmarshal(line, &s); err != nil {
					return err
				}
				_, err := out.WriteString(s)
				return err
			})
			if err != nil {
				return err
			}
			return out.Flush()
		},
	}
	c.Flags().StringVar(&x.Format, "format", "md", "md or json")
	c.Flags().StringVarP(&path, "output", "o", "", "write to a new `file` instead of stdout")
	return e.readable(c)
}
