package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

// exitWaits is how `workflow run` and `plan` end while somebody's answer is needed. It is that of a directory in use, which these
// never are: they go through whoever uses it.
const exitWaits = 3

// runOptions are the flags of `workflow run`.
type runOptions struct {
	inputs    []string
	inputFile string
	server    string
	token     string
	wait      bool
	preview   bool
}

func (e *env) workflowRunCmd() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use: "run FILE|NAME", Short: "Carry a workflow out, and show what each step does",
		Long: "Carries out a workflow file (- is the standard input) or a kept workflow, and prints its outputs at the end. What it asks\n" +
			"is put at the prompt; without a terminal the run goes on as far as it can, and waits: see `parley asks`.\n\n" +
			"With --server it is carried out by the Parley at that address, with the agents there: a file travels along, a name is a\n" +
			"workflow kept there. The token needs the scope `workflows`, or the workflow must be offered as a skill.\n\n" +
			"Exits with 0 when it is done, 1 when it failed, 2 when the file or the inputs are wrong (nothing was begun), and 3 while\n" +
			"an answer is needed. --json prints {run, state, outputs, steps, asks, fault} at the end.",
		Example: "  parley workflow run publish --input topic=\"tide tables\"\n" +
			"  parley workflow run report.yaml --input-file inputs.json --json\n" +
			"  PARLEY_A2A_TOKEN=… parley workflow run report.yaml --server https://parley.example --input topic=bees",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := e.readRun(args[0], &o)
			if err != nil {
				return err
			}
			ctx, stop := notify(cmd.Context())
			defer stop()
			if o.server != "" {
				return e.runThere(ctx, r, &o)
			}
			return e.runHere(ctx, r, &o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.inputs, "input", nil, "an input, as `name=value` (may be repeated)")
	f.StringVar(&o.inputFile, "input-file", "", "a `file` with inputs: a JSON object; --input goes first")
	f.StringVar(&o.server, "server", "", "carry it out at the Parley with this A2A `address`")
	f.StringVar(&o.token, "token", "", "the token for --server (default: $PARLEY_A2A_TOKEN)")
	f.BoolVar(&o.wait, "wait", false, "without a terminal, wait until somebody answers elsewhere")
	f.BoolVar(&o.preview, "preview", false, "show the plan, and begin when you agree")
	return e.readable(c)
}

// readRun reads the arguments of `workflow run`. What is wrong with the file or the inputs is wrong usage.
func (e *env) readRun(what string, o *runOptions) (*app.RunWorkflow, error) {
	r := &app.RunWorkflow{Typed: map[string]string{}, Preview: o.preview}
	for _, in := range o.inputs {
		name, value, ok := strings.Cut(in, "=")
		if !ok || name == "" {
			return nil, &codedError{exitUsage, fmt.Errorf("--input %s is no name=value", in)}
		}
		r.Typed[name] = value
	}
	if o.inputFile != "" {
		b, err := os.ReadFile(o.inputFile)
		if err != nil {
			return nil, &codedError{exitUsage, err}
		}
		if err := json.Unmarshal(b, &r.Inputs); err != nil {
			return nil, &codedError{exitUsage, fmt.Errorf("%s is no JSON object: %w", o.inputFile, err)}
		}
		for name := range r.Typed {
			delete(r.Inputs, name)
		}
	}
	if !isFile(what) {
		r.Workflow = what
		return r, nil
	}
	var src []byte
	var err error
	if what == "-" {
		src, err = limited(e.stdin)
	} else {
		src, err = readWorkflow(what)
	}
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	w, ps := workflow.Parse(filepath.ToSlash(what), src)
	if ps != nil {
		printProblems(e.stderr, what, ps)
		return nil, &codedError{exitUsage, errQuiet}
	}
	given := map[string]json.RawMessage{}
	for name, v := range r.Inputs {
		given[name] = v
	}
	for name, text := range r.Typed {
		if given[name], err = w.Typed(name, text); err != nil {
			return nil, &codedError{exitUsage, err}
		}
	}
	if _, err := w.Given(given); err != nil {
		return nil, usageFault(err)
	}
	r.Source, r.Inputs, r.Typed = string(src), given, nil
	return r, nil
}

// isFile tells a file from the name of a kept workflow.
func isFile(what string) bool {
	if what == "-" || strings.ContainsAny(what, `/\`) {
		return true
	}
	switch strings.ToLower(filepath.Ext(what)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	info, err := os.Stat(what)
	return err == nil && info.Mode().IsRegular()
}

func (e *env) runHere(ctx context.Context, r *app.RunWorkflow, o *runOptions) error {
	ctl, done, err := e.control(ctx)
	if err != nil {
		return err
	}
	defer done()
	return e.watch(ctx, &session{
		follow: func(ctx context.Context, each func(*app.Line) error) error {
			return streamLines(ctx, ctl, "workflow.run", r, each)
		},
		answer: func(ctx context.Context, a app.AnswerTo) error { return ctl.Call(ctx, "answer", a, nil) },
	}, o.wait)
}

// followPlan watches a run that goes on.
func (e *env) followPlan(ctx context.Context, run string, wait bool) error {
	ctl, done, err := e.control(ctx)
	if err != nil {
		return err
	}
	defer done()
	return e.watch(ctx, &session{
		follow: func(ctx context.Context, each func(*app.Line) error) error {
			if err := each(&app.Line{Kind: "run", Run: run}); err != nil {
				return err
			}
			return streamLines(ctx, ctl, "plan.follow", app.Named{ID: run}, each)
		},
		answer: func(ctx context.Context, a app.AnswerTo) error { return ctl.Call(ctx, "answer", a, nil) },
	}, wait)
}

// streamLines runs a verb that streams lines.
func streamLines(ctx context.Context, ctl *app.Control, verb string, in any, each func(*app.Line) error) error {
	return ctl.Stream(ctx, verb, in, func(raw []byte) error {
		var l app.Line
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		return each(&l)
	})
}

func (e *env) runThere(ctx context.Context, r *app.RunWorkflow, o *runOptions) error {
	there, err := app.DialRemote(ctx, o.server, cmp.Or(o.token, os.Getenv("PARLEY_A2A_TOKEN")))
	if err != nil {
		return err
	}
	defer there.Close()
	return e.watch(ctx, &session{
		follow: func(ctx context.Context, each func(*app.Line) error) error { return there.Run(ctx, r, each) },
		answer: there.Answer, server: o.server,
	}, o.wait)
}

// ranWorkflow is what `workflow run --json` prints.
type ranWorkflow struct {
	Run     string                     `json:"run"`
	State   a2a.TaskState              `json:"state"`
	Outputs map[string]json.RawMessage `json:"outputs"`
	Steps   []orchestrator.PlanNode    `json:"steps"`
	Asks    []*app.AskInfo             `json:"asks,omitempty"` // that it waits for
	Fault   *orchestrator.Fault        `json:"fault,omitempty"`
}

// ended prints how a run stands that is followed no further, and says how the program exits.
func (w *watcher) ended(plan *orchestrator.Plan, state a2a.TaskState, fault *orchestrator.Fault, asks []*app.AskInfo) error {
	out := ranWorkflow{Run: w.run, State: state, Asks: asks, Fault: fault, Outputs: map[string]json.RawMessage{}, Steps: []orchestrator.PlanNode{}}
	if plan != nil {
		out.Steps = append(out.Steps, whole(plan.Nodes)...)
		if plan.Outputs != nil {
			out.Outputs = plan.Outputs
		}
		if fault == nil {
			out.Fault = plan.Fault
		}
	}
	if err := w.print(out, func() { w.printOutputs(&out) }); err != nil {
		return err
	}
	switch {
	case state == a2a.TaskStateCompleted:
		return nil
	case !state.Terminal():
		where := "see `parley asks`"
		if w.session.server != "" {
			where = "ask it there: " + w.session.server
		}
		fmt.Fprintf(w.stderr, "parley: it waits for an answer (exit status %d); %s. The run is %s.\n", exitWaits, where, w.run)
		return &codedError{exitWaits, errQuiet}
	case out.Fault != nil:
		return out.Fault
	}
	return fmt.Errorf("the workflow ended: %s", plainState(state))
}

// whole returns steps whose artifacts have the parts that their agents meant: a text that came in chunks is stored as it
// came, and is one part.
func whole(steps []orchestrator.PlanNode) []orchestrator.PlanNode {
	steps = slices.Clone(steps)
	for i := range steps {
		calls := slices.Clone(steps[i].Calls)
		for j := range calls {
			arts := slices.Clone(calls[j].Artifacts)
			for k := range arts {
				var parts []orchestrator.PartInfo
				for _, p := range arts[k].Parts {
					last := len(parts) - 1
					if p.Kind == "text" && p.Filename == "" && last >= 0 && parts[last].Kind == "text" && parts[last].Filename == "" && parts[last].MediaType == p.MediaType {
						parts[last].Size += p.Size
						continue
					}
					parts = append(parts, p)
				}
				arts[k].Parts = parts
			}
			calls[j].Artifacts = arts
		}
		steps[i].Calls = calls
	}
	return steps
}

// printOutputs prints what a run gave: one output of text as it is, several with their names, and where the file names none
// what its last steps said.
func (e *env) printOutputs(r *ranWorkflow) {
	if r.State != a2a.TaskStateCompleted {
		return
	}
	type output struct{ name, text string }
	var all []output
	for _, name := range sortedKeys(r.Outputs) {
		text := string(r.Outputs[name])
		var s string
		if json.Unmarshal(r.Outputs[name], &s) == nil {
			text = s
		}
		all = append(all, output{name, text})
	}
	if len(r.Outputs) == 0 {
		needed := map[string]bool{}
		for i := range r.Steps {
			for _, id := range r.Steps[i].Needs {
				needed[id] = true
			}
		}
		for i := range r.Steps {
			if n := &r.Steps[i]; !needed[n.ID] && n.Text != "" {
				all = append(all, output{n.ID, n.Text})
			}
		}
	}
	for _, o := range all {
		switch text := strings.TrimRight(o.text, "\n"); {
		case len(all) == 1:
			fmt.Fprintln(e.stdout, text)
		case strings.Contains(text, "\n"):
			fmt.Fprintf(e.stdout, "%s:\n%s\n", o.name, text)
		default:
			fmt.Fprintf(e.stdout, "%s: %s\n", o.name, text)
		}
	}
}

// usageFault makes wrong usage of faults about a file or its inputs: nothing was begun then.
func usageFault(err error) error {
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		switch f.Kind {
		case "inputs":
			said := *f
			said.Do = "Give them with --input name=value or --input-file; `parley workflow show` and the file say what each may be."
			return &codedError{exitUsage, &said}
		case "workflow", "no-workflow":
			return &codedError{exitUsage, err}
		}
	}
	return err
}
