package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/steps"
	"parley/orchestrator/workflow"
)

// spec is what the content of a node is made of: a step of a workflow file, or what a planner decided.
type spec struct {
	Delegate *planner.Delegation `json:"delegate,omitempty"`
	Question *planner.Question   `json:"question,omitempty"`
}

// decidedBy reads the spec of a node that a planner added; nil for a step of a file.
func decidedBy(n *engine.Node) *spec {
	s := &spec{}
	if !bytes.HasPrefix(n.Spec, []byte(`{"delegate"`)) && !bytes.HasPrefix(n.Spec, []byte(`{"question"`)) || json.Unmarshal(n.Spec, s) != nil {
		return nil
	}
	return s
}

// content makes what a node does, now that its turn has come. Errors that are a *orchestrator.Fault are the plan's own.
func (r *run) content(ctx context.Context, n *engine.Node, st *engine.FlowNode) (*workflow.Content, error) {
	switch s := decidedBy(n); {
	case s == nil:
	case s.Delegate != nil:
		it := workflow.Item{
			Agent: &workflow.Agent{ID: s.Delegate.Agent},
			Parts: []workflow.ItemPart{{Part: &a2a.Part{Text: s.Delegate.Message}}},
		}
		for _, a := range s.Delegate.Artifacts {
			ref, err := r.artifactOf(ctx, a)
			if err != nil {
				return nil, err
			}
			it.Parts = append(it.Parts, workflow.ItemPart{Artifact: ref})
		}
		return &workflow.Content{Items: []workflow.Item{it}}, nil
	default:
		q := s.Question
		return &workflow.Content{Ask: &workflow.Question{Prompt: q.Prompt, Choices: q.Choices, Schema: q.Schema}}, nil
	}
	env, err := r.env(ctx, n, st.Round, nil)
	if err != nil {
		return nil, err
	}
	return workflow.Resolve(n.Spec, env)
}

// artifactOf finds an artifact of an earlier delegation.
func (r *run) artifactOf(ctx context.Context, a planner.ArtifactRef) (*workflow.ArtifactRef, error) {
	res, err := r.result(ctx, a.Delegation)
	if err != nil {
		return nil, err
	}
	for i := range res.Artifacts {
		if res.Artifacts[i].ID == a.Artifact {
			return &workflow.ArtifactRef{Step: a.Delegation, Index: i}, nil
		}
	}
	return nil, &orchestrator.Fault{
		Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("There is no artifact %s of %s.", a.Artifact, a.Delegation),
	}
}

// env is what the expressions of a node see: of the nodes that come before it those that its spec can mean, so that
// nothing is read in vain. n is nil for the plan's own. own is what became of the node itself, nil to have it read.
func (r *run) env(ctx context.Context, n *engine.Node, round int, own *workflow.Result) (*workflow.Env, error) {
	f := r.flow
	env := &workflow.Env{
		Inputs: f.plan.Inputs, Steps: map[string]*workflow.Result{}, Round: round, Specs: &r.d.specs,
		Run: workflow.Run{ID: r.row.ID, Name: f.Graph.Name, Began: r.row.Created},
	}
	about := f.Graph.Spec
	if n != nil {
		about = n.Spec
	}
	if !bytes.Contains(about, []byte("steps")) {
		return env, nil
	}
	var before map[string]bool
	if n != nil {
		before = map[string]bool{}
		f.before(n, before)
	}
	for i := range f.Nodes {
		id, st := f.Graph.Nodes[i].ID, &f.Nodes[i]
		switch {
		case !mentions(about, id):
			continue
		case n != nil && n.ID == id && own != nil:
			env.Steps[id] = own
			continue
		case n != nil && n.ID == id:
			if st.Items == nil && f.answers[id] == nil {
				continue // nothing came of it yet
			}
		case before != nil && !before[id], !st.State.Settled():
			continue
		}
		res, err := r.result(ctx, id)
		if err != nil {
			return nil, err
		}
		env.Steps[id] = res
	}
	return env, nil
}

// before gathers the nodes that come before n, directly or not.
func (f *flow) before(n *engine.Node, all map[string]bool) {
	for _, id := range n.Needs {
		if all[id] {
			continue
		}
		all[id] = true
		if need, _ := f.Node(id); need != nil {
			f.before(need, all)
		}
	}
}

// mentions reports whether a spec may mean the step of that id.
func mentions(spec []byte, id string) bool {
	const steps = "steps"
	for {
		i := bytes.Index(spec, []byte(steps))
		if i < 0 {
			return false
		}
		spec = spec[i+len(steps):]
		switch {
		case len(spec) == 0 || spec[0] == '"':
		case spec[0] != '.' || bytes.HasPrefix(spec[1:], []byte(id)):
			return true
		}
	}
}

// keptResults is how many bytes of results a run holds, about.
const keptResults = 1 << 20

// result reads what became of a node.
func (r *run) result(ctx context.Context, id string) (*workflow.Result, error) {
	f := r.flow
	if res := f.results[id]; res != nil {
		return res, nil
	}
	n, st := f.Node(id)
	if st == nil {
		return &workflow.Result{}, nil
	}
	state := st.State
	if !state.Settled() {
		state = engine.NodeDone // what a round of it made
	}
	res, err := r.made(ctx, n, st, state)
	if err != nil {
		return nil, err
	}
	res.State = state
	if state == engine.NodeDone && decidedBy(n) == nil && bytes.Contains(n.Spec, []byte(`"outputs"`)) {
		env, err := r.env(ctx, n, st.Round, res)
		if err != nil {
			return nil, err
		}
		given, err := workflow.Outputs(n.Spec, env)
		if err != nil {
			return nil, err
		}
		if given != nil {
			again := *res
			if again.Data, err = workflow.Data(given); err != nil {
				return nil, err
			}
			res = &again
		}
	}
	if st.State.Settled() {
		size := sizeOf(res)
		if f.kept+size > keptResults {
			clear(f.results)
			f.kept = 0
		}
		if size <= keptResults {
			f.results[id] = res
			f.kept += size
		}
	}
	return res, nil
}

// forget drops what was read of a node.
func (f *flow) forget(node string) {
	if res := f.results[node]; res != nil {
		f.kept -= sizeOf(res)
		delete(f.results, node)
	}
}

func sizeOf(res *workflow.Result) int {
	n := 512 + len(res.Text)
	for i := range res.Artifacts {
		for j := range res.Artifacts[i].Parts {
			p := &res.Artifacts[i].Parts[j]
			n += 128 + len(p.Text) + len(p.Raw) + len(p.Data)
		}
	}
	return n
}

// made reads what the calls of a node made, or what it was answered.
func (r *run) made(ctx context.Context, n *engine.Node, st *engine.FlowNode, state engine.NodeState) (*workflow.Result, error) {
	if n.Kind == engine.NodeAsk {
		m := r.flow.answers[n.ID]
		if m == nil {
			return &workflow.Result{}, nil
		}
		t := &a2a.Task{Status: a2a.TaskStatus{Message: m}}
		for i := range m.Parts {
			if k := m.Parts[i].Kind; k == a2a.PartRaw || k == a2a.PartURL {
				t.Artifacts = append(t.Artifacts, a2a.Artifact{ID: fmt.Sprint("file", len(t.Artifacts)+1), Name: m.Parts[i].Filename, Parts: m.Parts[i : i+1]})
			}
		}
		return workflow.ResultOf(t, state), nil
	}
	var all []*workflow.Result
	for i := range st.Items {
		it := &st.Items[i]
		if it.Run == "" || it.State == engine.ItemBegun {
			all = append(all, &workflow.Result{})
			continue
		}
		t, err := r.flow.ending, error(nil)
		if t == nil || t.ID != it.Run {
			t, err = r.d.taskOf(ctx, it.Run)
		}
		switch {
		case errors.Is(err, orchestrator.ErrNotFound): // it was never begun, or is erased
			t = &a2a.Task{}
		case err != nil:
			return nil, err
		}
		all = append(all, workflow.ResultOf(t, state))
	}
	if bytes.Contains(n.Spec, []byte(`"forEach":`)) {
		return workflow.Joined(all, state), nil
	}
	if len(all) == 0 {
		return &workflow.Result{}, nil
	}
	return all[0], nil
}

// taskOf reads what a run made; of one that was answered by a message, that message as its status.
func (d *Driver) taskOf(ctx context.Context, id string) (*a2a.Task, error) {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	t := &a2a.Task{ID: row.ID, ContextID: row.ContextID}
	for events, err := range d.store.ReadRun(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if !e.Kind.A2A() {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return nil, err
			}
			if m, ok := ev.(*a2a.Message); ok {
				t.Status = a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m}
				continue
			}
			foldA2A(t, ev)
		}
	}
	return t, nil
}

// says makes what a call says. What earlier steps made is read from where it is stored.
func (r *run) says(ctx context.Context, parts []workflow.ItemPart) ([]a2a.Part, error) {
	var out []a2a.Part
	for i := range parts {
		if p := parts[i].Part; p != nil {
			out = append(out, *p)
			continue
		}
		ref := parts[i].Artifact
		res, err := r.result(ctx, ref.Step)
		if err != nil {
			return nil, err
		}
		if ref.Index < len(res.Artifacts) {
			out = append(out, res.Artifacts[ref.Index].Parts...)
		}
	}
	if len(out) == 0 {
		return nil, &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "There is nothing to say to the agent."}
	}
	return out, nil
}

// find returns the agent that a step wants: of those that can do what it says the one whose id comes first, one that
// answered last time before one that did not. Only approved agents are looked at.
func (r *run) find(ctx context.Context, a *workflow.Agent) (*orchestrator.Agent, error) {
	may := func(id string) bool {
		return r.d.mayName == nil || r.row.Principal == orchestrator.LocalPrincipal || r.d.mayName(ctx, r.row.Principal, id)
	}
	if a == nil || a.ID != "" {
		id := ""
		if a != nil {
			id = a.ID
		}
		if !may(id) {
			return nil, steps.NoAgent(id)
		}
		return r.d.ports.Agent(ctx, id)
	}
	all, err := r.d.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	var best *orchestrator.Agent
	for _, g := range all {
		if g.Trust != orchestrator.TrustApproved || !able(g, a) || !may(g.ID) {
			continue
		}
		sick, worst := g.Health.Fault != nil, best != nil && best.Health.Fault != nil
		if best == nil || worst && !sick || worst == sick && g.ID < best.ID {
			best = g
		}
	}
	if best == nil {
		what := "skill " + a.Skill
		if a.Skill == "" {
			what = "tags " + strings.Join(a.Tags, ", ")
		}
		return nil, &orchestrator.Fault{
			Kind: "agent-none", Where: orchestrator.WhereUs, What: "No approved agent has the " + what + ".", Do: "Connect one that has.",
		}
	}
	return best, nil
}

// able reports whether an agent's card names the skill, and all of the tags.
func able(g *orchestrator.Agent, a *workflow.Agent) bool {
	if g.Card == nil {
		return false
	}
	skill := a.Skill == ""
	tags := map[string]bool{}
	for i := range g.Card.Skills {
		s := &g.Card.Skills[i]
		if a.Skill != "" && s.ID != a.Skill {
			continue
		}
		skill = true
		for _, t := range s.Tags {
			tags[strings.ToLower(t)] = true
		}
	}
	return skill && !slices.ContainsFunc(a.Tags, func(t string) bool { return !tags[strings.ToLower(t)] })
}
