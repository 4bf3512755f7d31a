package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
	"parley/orchestrator/workflow"
)

var _ orchestrator.Planner = (*Driver)(nil)

// Launch is orchestrator.Planner's.
func (d *Driver) Launch(ctx context.Context, l *orchestrator.Launch) (*orchestrator.Run, error) {
	plan, kept, err := d.planFor(ctx, l)
	if err != nil {
		return nil, err
	}
	text := l.Text
	if strings.TrimSpace(text) == "" {
		text = launched(plan.Graph.Name, l.Inputs)
	}
	b := &beginning{
		scope: orchestrator.OwnAgent, principal: orchestrator.LocalPrincipal, to: orchestrator.OwnAgent, plan: plan, workflow: kept,
		message: &a2a.Message{ID: cmp.Or(l.MessageID, newID()), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}},
	}
	if l.ConversationID == "" {
		title := orchestrator.TitleOf(called(plan.Graph.Name, l.Inputs)) // what was said may be a command
		b.chat, b.fresh = &orchestrator.Conversation{ID: newID(), To: orchestrator.Auto, Title: title, Created: d.now()}, true
	} else if b.chat, err = d.store.Conversation(ctx, l.ConversationID); err != nil {
		return nil, err
	}
	b.contextID = b.chat.ID
	return d.beginLocal(ctx, b)
}

// planFor reads what is to be carried out, and the id of the kept workflow that it is.
func (d *Driver) planFor(ctx context.Context, l *orchestrator.Launch) (*engine.Planned, string, error) {
	file, source, kept := workflow.Unnamed, l.Source, l.As
	switch {
	case l.Workflow != "" && l.Source != nil:
		return nil, "", errors.New("a launch has a workflow or a source, not both")
	case l.Workflow != "":
		w, err := d.store.Workflow(ctx, l.Workflow)
		if errors.Is(err, orchestrator.ErrNotFound) {
			return nil, "", noWorkflow(l.Workflow)
		}
		if err != nil {
			return nil, "", err
		}
		file, source, kept = w.ID+".yaml", w.Source, w.ID
	case kept != "":
		file = kept + ".yaml"
	}
	plan, err := d.planOf(file, source, l.Inputs, 0)
	if err != nil {
		return nil, "", err
	}
	plan.Preview = l.Preview
	return plan, kept, nil
}

// called names a run of a workflow by its first text that is short, as people would.
func called(name string, inputs map[string]json.RawMessage) string {
	for _, n := range slices.Sorted(maps.Keys(inputs)) {
		var text string
		if json.Unmarshal(inputs[n], &text) == nil && text != "" && utf8.RuneCountInString(text) <= 60 {
			return name + ": " + text
		}
	}
	return name
}

// launched is what a person seems to have said who launched a workflow with these inputs: texts first, which tell most.
func launched(name string, inputs map[string]json.RawMessage) string {
	var texts, others []string
	for _, n := range slices.Sorted(maps.Keys(inputs)) {
		var one string
		var many []string
		switch {
		case json.Unmarshal(inputs[n], &one) == nil:
			texts = append(texts, n+": "+one)
		case json.Unmarshal(inputs[n], &many) == nil:
			texts = append(texts, n+": "+strings.Join(many, ", "))
		default:
			others = append(others, n+": "+string(inputs[n]))
		}
	}
	return strings.Join(slices.Concat([]string{name}, texts, others), "\n")
}

// Launch is Start for a message whose task is to carry out a workflow: the message gives the task its id, its context and
// its history; what it asks for stands in l, of which Workflow, Source, As, Inputs and Preview count. In a task that there is
// already it is the next message, and nothing else.
func (t *Tasks) Launch(ctx context.Context, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (Started, error) {
	m := r.Message
	if m.ID == "" {
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.messageId", Message: "message.messageId is required"}
	}
	if t.agent != "" {
		return Started{}, a2a.Errorf(a2a.KindUnsupportedOperation, "only our own agent carries out workflows")
	}
	hops := max(steps.Hops(m.Metadata), steps.Hops(r.Metadata))
	if err := steps.Circle(hops); err != nil {
		return Started{}, err
	}
	m.Role = a2a.RoleUser
	fresh, done, err := t.fresh(ctx, r)
	if err != nil {
		return Started{}, err
	}
	defer done()
	if !fresh {
		return t.next(ctx, principal, &m)
	}
	plan, kept, err := t.d.planFor(ctx, l)
	if err != nil {
		return Started{}, wireError(err)
	}
	b := &beginning{
		id: m.TaskID, scope: t.scope, principal: principal, contextID: m.ContextID, to: orchestrator.OwnAgent, message: &m, hops: hops,
		plan: plan, workflow: kept,
	}
	if b.contextID == "" {
		b.contextID, b.fresh = newID(), true
	}
	_, receipt, repeated, err := t.d.begin(ctx, b)
	if err != nil {
		return Started{}, wireError(err)
	}
	return Started{TaskID: receipt.RunID, After: receipt.After, Repeated: repeated}, nil
}

// retryCall tries the step again that a call carries out: in its plan while that goes on, else in a new run, which begins
// with what the other steps gave. It returns nil for a run that is no call.
func (d *Driver) retryCall(ctx context.Context, row *orchestrator.Run) (*orchestrator.Run, error) {
	id, ok := strings.CutPrefix(row.Scope, stepScope)
	if !ok {
		return nil, nil
	}
	p, err := d.Plan(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range p.Nodes {
		for j := range p.Nodes[i].Calls {
			if p.Nodes[i].Calls[j].RunID != row.ID {
				continue
			}
			if !p.Ended.IsZero() {
				return d.retryStep(ctx, id, p.Nodes[i].ID)
			}
			return d.RetryStep(ctx, id, p.Nodes[i].ID)
		}
	}
	return nil, orchestrator.ErrNotFound
}

// retryStep begins an ended plan anew where a step of it has to be tried again.
func (d *Driver) retryStep(ctx context.Context, id, node string) (*orchestrator.Run, error) {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(row.Scope, stepScope) { // a plan within a plan is a step of that
		return d.retryCall(ctx, row)
	}
	return d.retryRun(ctx, row, node)
}

// doneWithout returns the events of an ended plan that tell how its nodes were done, but for one and those that need it.
func (d *Driver) doneWithout(ctx context.Context, r *run, node string) ([]engine.Body, error) {
	r.mu.Lock()
	f := r.flow
	done := map[string]bool{}
	if f.source != "" && f.Closing != a2a.TaskStateCanceled {
		for i := range f.Nodes {
			done[f.Graph.Nodes[i].ID] = f.Nodes[i].State == engine.NodeDone
		}
	}
	open := []string{node}
	for k := 0; k < len(open); k++ {
		done[open[k]] = false
		for i := range f.Graph.Nodes {
			if n := &f.Graph.Nodes[i]; slices.Contains(n.Needs, open[k]) && !slices.Contains(open, n.ID) {
				open = append(open, n.ID)
			}
		}
	}
	r.mu.Unlock()
	var kept []engine.Body
	of := map[string]string{} // nodes, by call and by ask
	for events, err := range d.store.ReadRun(ctx, r.row.ID, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			b, err := engine.Decode(e)
			if err != nil {
				return nil, err
			}
			at := ""
			switch b := b.(type) {
			case *engine.Resolved:
				at = b.Node
			case *engine.Begun:
				at, of[b.Run] = b.Node, b.Node
			case *engine.Over:
				at = of[b.Run]
			case *engine.Asked:
				at, of[b.Ask] = b.Step, b.Step
			case *engine.Answered:
				at = of[b.Ask]
			case *engine.Steered:
				at = b.Node
			}
			if done[at] {
				kept = append(kept, b)
			}
		}
	}
	return kept, nil
}

// relaunch begins an ended run with a plan anew; done is what is known of it from before.
func (d *Driver) relaunch(ctx context.Context, r *run, chat *orchestrator.Conversation, m *a2a.Message, done []engine.Body) (*orchestrator.Run, error) {
	r.mu.Lock()
	source, raw, f := r.flow.source, r.flow.inputs, r.flow
	to, kept, key := r.row.To, r.row.Workflow, r.key
	r.mu.Unlock()
	b := &beginning{
		scope: orchestrator.OwnAgent, principal: orchestrator.LocalPrincipal, chat: chat, contextID: chat.ID, to: to, message: m,
		workflow: kept, key: key, done: done,
	}
	if source == "" {
		b.plan = decides()
		return d.beginLocal(ctx, b)
	}
	var inputs map[string]json.RawMessage
	if raw != nil && json.Unmarshal(raw, &inputs) != nil {
		return nil, errors.New("the inputs of the run cannot be read")
	}
	var err error
	if b.plan, err = d.planOf(f.plan.File, []byte(source), inputs, 0); err != nil {
		return nil, err
	}
	return d.beginLocal(ctx, b)
}

// firstDecision is the node that a plan begins with which is made as it goes.
const firstDecision = "p1"

// decides returns a plan that is made as it goes.
func decides() *engine.Planned {
	return &engine.Planned{Graph: &engine.Graph{Nodes: []engine.Node{{ID: firstDecision, Kind: engine.NodePlan}}}}
}
