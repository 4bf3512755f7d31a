package app

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// The objects of the verbs about workflows and plans.
type (
	// WorkflowInfo is a kept workflow as the command line shows it.
	WorkflowInfo struct {
		ID          string                         `json:"id"`
		Name        string                         `json:"name"`
		Description string                         `json:"description,omitempty"`
		Exposed     bool                           `json:"exposed"`
		Demo        bool                           `json:"demo,omitempty"`
		Added       time.Time                      `json:"added,omitzero"`
		Updated     time.Time                      `json:"updated,omitzero"`
		Inputs      json.RawMessage                `json:"inputs,omitempty"` // JSON Schema
		Steps       []orchestrator.PlanNode        `json:"steps,omitempty"`
		Problems    []orchestrator.WorkflowProblem `json:"problems,omitempty"` // why it cannot be run
		Runs        []WorkflowRun                  `json:"runs,omitempty"`     // the newest
		Source      string                         `json:"source,omitempty"`
	}

	// WorkflowRun is a run of a kept workflow.
	WorkflowRun struct {
		ID    string        `json:"id"`
		State a2a.TaskState `json:"state"`
		Began time.Time     `json:"began"`
	}

	// SaveWorkflow keeps a file.
	SaveWorkflow struct {
		ID     string `json:"id,omitempty"` // "" = made of its name
		Source string `json:"source"`
		Expose bool   `json:"expose,omitempty"`
	}

	// RunWorkflow carries out a kept workflow, or a file.
	RunWorkflow struct {
		Workflow  string                     `json:"workflow,omitempty"` // an id or a name
		Source    string                     `json:"source,omitempty"`
		Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
		Typed     map[string]string          `json:"typed,omitempty"` // inputs as somebody typed them, read by their schemas
		MessageID string                     `json:"messageId,omitempty"`
		Preview   bool                       `json:"preview,omitempty"`
	}

	// StepRef names a step of a run's plan.
	StepRef struct {
		Run  string `json:"run"`
		Step string `json:"step"`
	}
)

// workflowVerbs are the verbs about workflows and plans.
func (a *App) workflowVerbs() map[string]verb {
	return map[string]verb{
		"workflow.list":   once(a.listWorkflows),
		"workflow.show":   once(a.showWorkflow),
		"workflow.save":   once(a.saveWorkflow),
		"workflow.remove": once(func(ctx context.Context, n Named) (struct{}, error) { return struct{}{}, a.library.Remove(ctx, n.ID) }),
		"workflow.run":    streamed(a.runWorkflow),
		"plan.show":       once(a.showPlan),
		"plan.follow":     streamed(func(ctx context.Context, n Named, out func(any) error) error { return a.followPlan(ctx, n.ID, out) }),
		"plan.stop": once(func(ctx context.Context, s StepRef) (struct{}, error) {
			return struct{}{}, noPlan(s.Run, a.runner.StopStep(ctx, s.Run, s.Step))
		}),
		"plan.retry": once(func(ctx context.Context, s StepRef) (Named, error) {
			run, err := a.runner.RetryStep(ctx, s.Run, s.Step)
			if err != nil {
				return Named{}, noPlan(s.Run, err)
			}
			return Named{ID: run.ID}, nil
		}),
	}
}

func workflowInfo(w *orchestrator.Workflow) WorkflowInfo {
	return WorkflowInfo{
		ID: w.ID, Name: w.Name, Description: w.Description, Exposed: w.Exposed, Demo: w.Demo, Added: w.Added, Updated: w.Updated,
	}
}

func (a *App) listWorkflows(ctx context.Context, _ struct{}) ([]WorkflowInfo, error) {
	all, err := a.library.Workflows(ctx)
	out := make([]WorkflowInfo, len(all))
	for i, w := range all {
		out[i] = workflowInfo(w)
		out[i].Problems = a.library.Check(ctx, w.Source).Problems
	}
	return out, err
}

// runsShown is how many runs `workflow show` names.
const runsShown = 5

func (a *App) showWorkflow(ctx context.Context, n Named) (WorkflowInfo, error) {
	w, err := a.library.find(ctx, n.ID)
	if err != nil {
		return WorkflowInfo{}, err
	}
	info, check := workflowInfo(w), a.library.Check(ctx, w.Source)
	info.Source, info.Inputs, info.Steps, info.Problems = string(w.Source), check.Inputs, check.Nodes, check.Problems
	runs, err := a.library.Runs(ctx, w.ID, "", runsShown)
	for _, r := range runs {
		info.Runs = append(info.Runs, WorkflowRun{ID: r.ID, State: r.State, Began: r.Created})
	}
	return info, err
}

func (a *App) saveWorkflow(ctx context.Context, s SaveWorkflow) (WorkflowInfo, error) {
	w, err := a.library.Save(ctx, s.ID, []byte(s.Source), s.Expose)
	if err != nil {
		return WorkflowInfo{}, err
	}
	info := workflowInfo(w)
	info.Problems = a.library.Check(ctx, w.Source).Problems
	return info, nil
}

// runWorkflow begins a workflow and streams where its plan stands, through every ask, to its end.
func (a *App) runWorkflow(ctx context.Context, r RunWorkflow, out func(any) error) error {
	l := &orchestrator.Launch{Inputs: map[string]json.RawMessage{}, MessageID: r.MessageID, Preview: r.Preview}
	name, source := "", []byte(r.Source)
	if r.Workflow != "" {
		kept, err := a.library.find(ctx, r.Workflow)
		if err != nil {
			return err
		}
		name, source, l.Workflow = kept.Name, kept.Source, kept.ID
	} else {
		l.Source = source
	}
	w, err := a.library.ready(ctx, name, source)
	if err != nil {
		return err
	}
	for name, text := range r.Typed {
		if l.Inputs[name], err = w.Typed(name, text); err != nil {
			return err
		}
	}
	for name, v := range r.Inputs {
		l.Inputs[name] = v
	}
	run, err := a.runner.Launch(ctx, l)
	if err != nil {
		return err
	}
	if err := out(Line{Kind: "run", Run: run.ID, Conversation: run.ConversationID}); err != nil {
		return err
	}
	return a.followPlan(ctx, run.ID, out)
}

// followPlan streams the plan of a run whenever it changed, each ask once, and the end.
func (a *App) followPlan(ctx context.Context, run string, out func(any) error) error {
	t := &teller{app: a, run: run, out: out, asked: map[string]bool{}}
	var last *orchestrator.Plan
	for plan, err := range a.runner.FollowPlan(ctx, run) {
		if err != nil {
			return noPlan(run, err)
		}
		if err := t.plan(ctx, plan); err != nil {
			return err
		}
		last = plan
	}
	if last == nil || !last.State.Terminal() {
		return ctx.Err()
	}
	return out(Line{Kind: "end", Run: run, State: string(last.State), RunFault: last.Fault, Plan: last})
}

func (a *App) showPlan(ctx context.Context, n Named) (*orchestrator.Plan, error) {
	plan, err := a.runner.Plan(ctx, n.ID)
	return plan, noPlan(n.ID, err)
}

// noPlan says in words that a run has none.
func noPlan(run string, err error) error {
	if errors.Is(err, orchestrator.ErrNotFound) {
		return &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no run " + run + " that carries out a plan.", Do: "See: parley task list",
		}
	}
	return err
}
