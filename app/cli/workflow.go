package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/orchestrator/workflow"
)

func (e *env) workflowCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "workflow", Short: "Run, keep, check and draw workflows",
		Long: "A workflow file is a plan in YAML: which agents do what, after what, and when a person is asked.\n" +
			"What it may say is in docs/workflows.md. lint, graph and schema need no running program and no network.",
	}
	c.AddCommand(
		e.workflowRunCmd(), e.workflowListCmd(), e.workflowShowCmd(), e.workflowSaveCmd(), e.workflowRemoveCmd(),
		e.workflowLintCmd(), e.workflowGraphCmd(), e.workflowSchemaCmd(),
	)
	return c
}

// problem is one line of `workflow lint`.
type problem struct {
	File string `json:"file"`
	workflow.Problem
}

func (e *env) workflowLintCmd() *cobra.Command {
	return e.readable(&cobra.Command{
		Use: "lint FILE...", Short: "Say everything that is wrong with workflow files",
		Long: "Each problem is one line: FILE:LINE:COLUMN: what is wrong; what to do. Files that a step uses by path are read\n" +
			"as well. - is the standard input.\n\nExits with 0 when there is none, with 1 when there are, and with 2 when a file cannot be read.\n" +
			"With --json it prints a list of {file, line, column, what, do}.",
		Example: "  parley workflow lint .parley/*.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all := []problem{}
			for _, file := range args {
				w, ps, err := e.workflow(file)
				if err != nil {
					return err
				}
				if w != nil {
					ps = w.CheckUses(func(file string) ([]byte, error) { return readWorkflow(filepath.FromSlash(file)) })
				}
				for _, p := range ps {
					all = append(all, problem{file, p})
				}
				if !e.json && len(ps) == 0 {
					fmt.Fprintf(e.stdout, "%s: %s, %s, nothing wrong\n", file, w.Name, steps(len(w.Steps)))
				}
				if !e.json {
					printProblems(e.stdout, file, ps)
				}
			}
			err := e.print(all, func() {})
			if err == nil && len(all) > 0 {
				return errQuiet
			}
			return err
		},
	})
}

func printProblems(out io.Writer, file string, ps workflow.Problems) {
	for i := range ps {
		fmt.Fprintf(out, "%s:%s\n", file, ps[i].String())
	}
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

func (e *env) workflowGraphCmd() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "graph FILE", Short: "Draw the steps of a workflow file",
		Long:    "Each step stands below the last one it comes after. --format mermaid and dot (Graphviz) are for other programs.",
		Example: "  parley workflow graph report.yaml --format dot | dot -Tsvg > report.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			draw := map[string]func(io.Writer, *workflow.Workflow){"text": drawText, "mermaid": drawMermaid, "dot": drawDot}[format]
			if draw == nil {
				return &codedError{exitUsage, fmt.Errorf("the format %q is none of text, mermaid and dot", format)}
			}
			w, ps, err := e.workflow(args[0])
			if err != nil {
				return err
			}
			if w == nil {
				printProblems(e.stderr, args[0], ps)
				return errQuiet
			}
			var b bytes.Buffer
			draw(&b, w)
			_, err = e.stdout.Write(b.Bytes())
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "text", "`how` to draw: text, mermaid or dot")
	return c
}

func (e *env) workflowSchemaCmd() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of workflow files, for editors",
		Long: "Editors with a YAML language server complete and check workflow files by it. Keep it beside them, and begin them with\n" +
			"  # yaml-language-server: $schema=workflow.schema.json",
		Example: "  parley workflow schema > workflow.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.stdout, "%s\n", workflow.Schema())
			return err
		},
	}
}

// workflow reads a file: a workflow, or its problems. A file that cannot be read is wrong usage.
func (e *env) workflow(file string) (*workflow.Workflow, workflow.Problems, error) {
	var src []byte
	var err error
	if file == "-" {
		src, err = limited(e.stdin)
	} else {
		src, err = readWorkflow(file)
	}
	if err != nil {
		return nil, nil, &codedError{exitUsage, err}
	}
	w, ps := workflow.Parse(filepath.ToSlash(file), src)
	return w, ps, nil
}

func readWorkflow(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return limited(f)
}

// limited reads no more than what shows that it is too much.
func limited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, workflow.MaxSize+1)) }
