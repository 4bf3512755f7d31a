package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

// library keeps workflows in the store, and reads their files.
type library struct {
	store orchestrator.Store
	now   func() time.Time

	mu sync.Mutex // of Save: an id is given once
}

var _ orchestrator.Library = (*library)(nil)

func newLibrary(store orchestrator.Store) *library { return &library{store: store, now: time.Now} }

func (l *library) Workflows(ctx context.Context) ([]*orchestrator.Workflow, error) {
	return l.store.ListWorkflows(ctx)
}

func (l *library) Workflow(ctx context.Context, id string) (*orchestrator.Workflow, error) {
	return l.store.Workflow(ctx, id)
}

func (l *library) Runs(ctx context.Context, id, after string, n int) ([]*orchestrator.Run, error) {
	return l.store.WorkflowRuns(ctx, id, after, n)
}

// Remove forgets a workflow; one that is not there is a Fault.
func (l *library) Remove(ctx context.Context, id string) error {
	if _, err := l.find(ctx, id); err != nil {
		return err
	}
	return l.store.RemoveWorkflow(ctx, id)
}

// find returns a kept workflow by its id, or by its name where only one has it.
func (l *library) find(ctx context.Context, name string) (*orchestrator.Workflow, error) {
	w, err := l.store.Workflow(ctx, name)
	if !errors.Is(err, orchestrator.ErrNotFound) {
		return w, err
	}
	all, err := l.store.ListWorkflows(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, w := range all {
		known[w.ID] = w.Name
	}
	named := slices.DeleteFunc(all, func(w *orchestrator.Workflow) bool { return !strings.EqualFold(w.Name, name) })
	if len(named) != 1 {
		f := &orchestrator.Fault{
			Kind: "no-workflow", Where: orchestrator.WhereUs, What: "There is no workflow " + name + ".", Do: "See: parley workflow list",
		}
		if ids := near(name, known); ids != "" {
			f.Do = "Did you mean " + ids + "? See: parley workflow list"
		}
		return nil, f
	}
	return named[0], nil
}

func (l *library) Check(ctx context.Context, source []byte) *orchestrator.WorkflowCheck {
	w, problems := l.read(ctx, source)
	c := &orchestrator.WorkflowCheck{Name: w.Name, Description: w.Description, Inputs: w.InputSchema()}
	for i := range w.Steps {
		s := &w.Steps[i]
		n := orchestrator.PlanNode{
			ID: s.ID, Title: s.Name, Kind: string(s.Kind()), Needs: s.Needs, Join: string(s.Join), Approve: s.Approve != nil, Use: s.Use, State: "waiting",
		}
		if s.Agent != nil {
			n.AgentID = s.Agent.ID
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, p := range problems {
		c.Problems = append(c.Problems, orchestrator.WorkflowProblem{Line: p.Line, Column: p.Column, What: p.What, Do: p.Do})
	}
	return c
}

// read reads a file as it would be run here: what it uses must be kept.
func (l *library) read(ctx context.Context, source []byte) (*workflow.Workflow, workflow.Problems) {
	w, problems := workflow.Read("workflow.yaml", source)
	if problems != nil {
		return w, problems
	}
	for i := range w.Steps {
		s := &w.Steps[i]
		if s.Use == "" {
			continue
		}
		if _, err := l.store.Workflow(ctx, workflow.KeptID(s.Use)); errors.Is(err, orchestrator.ErrNotFound) {
			problems = append(problems, workflow.Problem{
				Pos: s.At, What: fmt.Sprintf("step `%s`: there is no workflow `%s`", s.ID, workflow.KeptID(s.Use)),
				Do: "keep it first: parley workflow save FILE",
			})
		}
	}
	return w, problems
}

// ready returns the workflow that a source makes, or a Fault with everything that is wrong with it.
func (l *library) ready(ctx context.Context, name string, source []byte) (*workflow.Workflow, error) {
	w, problems := l.read(ctx, source)
	if problems == nil {
		return w, nil
	}
	return nil, &orchestrator.Fault{
		Kind: "workflow", Where: orchestrator.WhereUs, What: cmp.Or(name, w.Name, "The file") + " cannot be run: " + problems[0].String() + ".",
		Do: "Correct it; parley workflow lint says everything that is wrong.", Raw: problems.Error(),
	}
}

func (l *library) Save(ctx context.Context, id string, source []byte, expose bool) (*orchestrator.Workflow, error) {
	if len(source) > workflow.MaxSize {
		return nil, &orchestrator.Fault{
			Kind: "workflow", Where: orchestrator.WhereUs, What: fmt.Sprintf("A workflow file has at most %d KiB.", workflow.MaxSize>>10), Do: "Divide it, and join the parts with `use`.",
		}
	}
	read, problems := workflow.Read("workflow.yaml", source)
	if read.Name == "" {
		return nil, &orchestrator.Fault{Kind: "workflow", Where: orchestrator.WhereUs, What: "The workflow has no name.", Do: "Begin the file with `name: …`.", Raw: problems.Error()}
	}
	if expose && !slices.Contains(read.On, workflow.OnA2A) {
		return nil, &orchestrator.Fault{
			Kind: "workflow", Where: orchestrator.WhereUs, What: "The file says that only people start it (`on: manual`), so it can be no skill.",
			Do: "Write `on: [manual, a2a]`, or do not offer it.",
		}
	}
	if id != "" && id != slug(id) {
		return nil, &orchestrator.Fault{Kind: "id", Where: orchestrator.WhereUs, What: "An id is made of small letters, digits and dashes.", Do: "Choose another id."}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &orchestrator.Workflow{
		ID: id, Name: read.Name, Description: read.Description, Source: source, Exposed: expose, Added: l.now(), Updated: l.now(),
	}
	var err error
	if id == "" {
		w.ID, err = l.freeID(ctx, read.Name)
	} else if old, e := l.store.Workflow(ctx, id); e == nil {
		w.Added, w.Demo = old.Added, old.Demo && bytes.Equal(old.Source, source)
	} else if !errors.Is(e, orchestrator.ErrNotFound) {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return w, l.store.Write(ctx, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{w}})
}

// freeID makes an id of a name, with a number after it when it is taken.
func (l *library) freeID(ctx context.Context, name string) (string, error) {
	base := cmp.Or(slug(name), "workflow")
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := l.store.Workflow(ctx, id)
		if errors.Is(err, orchestrator.ErrNotFound) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// exposed returns the workflows that are skills of our own agent, by name: those that are offered and can be run.
func (l *library) exposed(ctx context.Context) ([]offered, error) {
	all, err := l.store.ListWorkflows(ctx)
	var out []offered
	for _, w := range all {
		if !w.Exposed {
			continue
		}
		if read, problems := workflow.Parse(w.ID, w.Source); problems == nil && slices.Contains(read.On, workflow.OnA2A) {
			out = append(out, offered{w, read})
		}
	}
	return out, err
}

// offered is a kept workflow as its callers see it.
type offered struct {
	*orchestrator.Workflow
	read *workflow.Workflow
}

// demoWorkflows is the setting that says which of the program's own workflows were kept, so that one that was removed
// does not come back.
const demoWorkflows = "demo.workflows"

// withoutDemo removes the workflows that came with the demo agents, but for those that somebody changed, and forgets that
// they were here: with the agents they come back.
func (l *library) withoutDemo(ctx context.Context) error {
	all, err := l.store.ListWorkflows(ctx)
	if err != nil {
		return err
	}
	setting, err := l.store.Setting(ctx, demoWorkflows)
	if err != nil {
		return err
	}
	known := strings.Fields(setting)
	for _, w := range all {
		if !w.Demo {
			continue
		}
		if err := l.store.RemoveWorkflow(ctx, w.ID); err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(id string) bool { return id == w.ID })
	}
	return l.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{demoWorkflows: strings.Join(known, " ")}})
}

// demo keeps the workflows that come with the demo agents, under the names of their files, and puts newer ones in place of those
// that nobody changed.
func (l *library) demo(ctx context.Context, files fs.FS) error {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	setting, err := l.store.Setting(ctx, demoWorkflows)
	if err != nil {
		return err
	}
	known := strings.Fields(setting)
	b := &orchestrator.Batch{}
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		source, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return err
		}
		read, problems := workflow.Parse(e.Name(), source)
		if problems != nil {
			return problems
		}
		w := &orchestrator.Workflow{
			ID: id, Name: read.Name, Description: read.Description, Source: source, Demo: true,
			Exposed: slices.Contains(read.On, workflow.OnA2A), Added: l.now(), Updated: l.now(),
		}
		switch old, err := l.store.Workflow(ctx, id); {
		case errors.Is(err, orchestrator.ErrNotFound) && slices.Contains(known, id), err == nil && (!old.Demo || bytes.Equal(old.Source, source)):
			continue
		case err == nil:
			w.Added, w.Exposed = old.Added, old.Exposed && w.Exposed
		case !errors.Is(err, orchestrator.ErrNotFound):
			return err
		}
		if !slices.Contains(known, id) {
			known = append(known, id)
		}
		b.Workflows = append(b.Workflows, w)
	}
	if b.Workflows == nil {
		return nil
	}
	b.Settings = map[string]string{demoWorkflows: strings.Join(known, " ")}
	return l.store.Write(ctx, b)
}
