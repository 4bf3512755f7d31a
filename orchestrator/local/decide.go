package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/steps"
)

// maxDecisions is how many times a planner is asked in one run.
const maxDecisions = 12

// planning reports whether a planner is there that makes plans as it goes.
func (d *Driver) planning() bool {
	if d.decider == nil {
		return false
	}
	on, ok := d.decider.(interface{ On() bool })
	return !ok || on.On()
}

// kickDecide has the planner asked, unless it is being asked. r.mu is held.
func (r *run) kickDecide(cmd *engine.Decide) {
	if r.flow.deciding[cmd.ID()] {
		return
	}
	r.flow.deciding[cmd.ID()] = true
	if !r.background(func() { r.decide(cmd) }) {
		delete(r.flow.deciding, cmd.ID())
	}
}

// decide carries out engine.Decide: what the planner answers is checked and logged, and what it wants done is begun with
// that. It is never asked for the same again.
func (r *run) decide(cmd *engine.Decide) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer delete(r.flow.deciding, cmd.ID())
	b, err := r.brief(r.ctx)
	var d *planner.Decision
	if err == nil {
		ctx := r.calling()
		r.unlocked(func() { d, err = r.d.ask(ctx, b) })
	}
	if r.ctx.Err() != nil || !r.flow.wants(cmd) {
		return
	}
	c := r.change()
	var p *engine.Planned
	if err == nil {
		p, err = r.planned(r.ctx, cmd.Node, b, d)
	}
	var f *orchestrator.Fault
	switch {
	case errors.As(err, &f):
		c.log(&engine.Resolved{Node: cmd.Node, Round: 1, Fault: f, At: c.at.UnixMilli()})
	case err != nil:
		r.kill(err)
		r.d.evict(r)
		r.d.unkeep(r)
		r.d.revive(r.row.ID, err)
		return
	default:
		p.At = c.at.UnixMilli()
		c.log(p)
	}
	if err := r.advance(r.ctx, c); err != nil && r.d.ctx.Err() == nil {
		r.d.revive(r.row.ID, err)
	}
}

func (d *Driver) ask(ctx context.Context, b *planner.Brief) (*planner.Decision, error) {
	switch {
	case b.Left <= 0:
		return nil, &orchestrator.Fault{
			Kind: "rounds", Where: orchestrator.WhereUs, What: fmt.Sprintf("The planner was asked %d times and came to no end.", maxDecisions), Do: "Ask for less at a time.",
		}
	case d.decider == nil:
		return nil, &orchestrator.Fault{
			Kind: "no-planner", Where: orchestrator.WhereUs, What: "There is no planner to go on with this.", Do: "Set a model up, and try again.",
		}
	}
	return d.decider.Decide(ctx, b)
}

// wants reports whether a command still follows.
func (f *flow) wants(cmd engine.Command) bool {
	return slices.ContainsFunc(f.Next(), func(c engine.Command) bool { return c.ID() == cmd.ID() })
}

// planned makes of a decision what it adds to the plan. What names an agent or an artifact that is not there is refused.
func (r *run) planned(ctx context.Context, node string, b *planner.Brief, d *planner.Decision) (*engine.Planned, error) {
	bad := func(format string, args ...any) error {
		return &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "The planner decided what cannot be done: " + fmt.Sprintf(format, args...) + ".", Do: "Try again."}
	}
	p := &engine.Planned{Node: node, Why: d.Why, Decision: mustJSON(d)}
	kinds := 0
	for _, has := range []bool{len(d.Delegate) > 0, d.Ask != nil, d.Finish != nil} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, bad("it wants %d things at once", kinds)
	}
	next := engine.Node{ID: fmt.Sprintf("p%d", len(r.flow.decisions)+2), Kind: engine.NodePlan, Join: engine.JoinCollect}
	g := &engine.Graph{}
	switch {
	case d.Finish != nil:
		for _, a := range d.Finish.Artifacts {
			if _, err := r.artifactOf(ctx, a); err != nil {
				return nil, err
			}
		}
		return p, nil
	case d.Ask != nil:
		n := engine.Node{
			ID: fmt.Sprintf("q%d", len(r.flow.decisions)+1), Kind: engine.NodeAsk, Needs: []string{node}, OnError: engine.OnErrorSkip,
			Spec: mustJSON(spec{Question: d.Ask}),
		}
		next.Needs = []string{n.ID}
		g.Nodes = append(g.Nodes, n)
	default:
		for i := range d.Delegate {
			del := &d.Delegate[i]
			if !slices.ContainsFunc(b.Agents, func(a *orchestrator.Agent) bool { return a.ID == del.Agent }) {
				return nil, bad("there is no approved agent %s", del.Agent)
			}
			if _, no := b.Decline[del.Agent]; no {
				return nil, bad("the agent %s has declined", del.Agent)
			}
			for _, a := range del.Artifacts {
				if _, err := r.artifactOf(ctx, a); err != nil {
					return nil, err
				}
			}
			g.Nodes = append(g.Nodes, engine.Node{
				ID: del.ID, Kind: engine.NodeCall, Needs: []string{node}, OnError: engine.OnErrorSkip, Spec: mustJSON(spec{Delegate: del}),
			})
			next.Needs = append(next.Needs, del.ID)
		}
	}
	g.Nodes = append(g.Nodes, next)
	whole := r.flow.Graph
	whole.Nodes = append(slices.Clone(whole.Nodes), g.Nodes...)
	if err := whole.Check(); err != nil {
		return nil, err
	}
	p.Graph = g
	return p, nil
}

// brief is what the planner is told. r.mu is held.
func (r *run) brief(ctx context.Context) (*planner.Brief, error) {
	f := r.flow
	b := &planner.Brief{
		RunID: r.row.ID, Request: r.asked.Parts, Left: maxDecisions - len(f.decisions), Decline: map[string]string{},
	}
	agents, err := r.d.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.Trust != orchestrator.TrustApproved {
			continue
		}
		if r.d.mayName == nil || r.row.Principal == orchestrator.LocalPrincipal || r.d.mayName(ctx, r.row.Principal, a.ID) {
			b.Agents = append(b.Agents, a)
		}
	}
	if b.Earlier, err = r.earlier(ctx); err != nil {
		return nil, err
	}
	for i := range f.decisions {
		d := f.decisions[i].Decision
		round := planner.Round{Decision: d}
		if d.Ask != nil {
			res, err := r.result(ctx, fmt.Sprintf("q%d", i+1))
			if err != nil {
				return nil, err
			}
			round.Answer = res.Text
		}
		for j := range d.Delegate {
			res, err := r.came(ctx, &d.Delegate[j])
			if err != nil {
				return nil, err
			}
			round.Results = append(round.Results, *res)
			if res.State == a2a.TaskStateRejected {
				b.Decline[res.AgentID] = res.Text
			}
		}
		b.Rounds = append(b.Rounds, round)
	}
	return b, nil
}

// came says what came of a delegation.
func (r *run) came(ctx context.Context, del *planner.Delegation) (*planner.Result, error) {
	out := &planner.Result{ID: del.ID, AgentID: del.Agent, State: a2a.TaskStateFailed}
	_, st := r.flow.Node(del.ID)
	if st == nil {
		return out, nil
	}
	if out.Fault = st.Fault; len(st.Items) > 0 {
		out.State = st.Items[0].Result
	}
	res, err := r.result(ctx, del.ID)
	if err != nil {
		return nil, err
	}
	if out.Text = res.Text; out.Text == "" && out.Fault != nil {
		out.Text = out.Fault.What
	}
	switch data := res.Data.(type) {
	case nil:
	case []any:
		for _, v := range data {
			out.Data = append(out.Data, mustJSON(v))
		}
	default:
		out.Data = append(out.Data, mustJSON(data))
	}
	for i := range res.Artifacts {
		a := &res.Artifacts[i]
		d := orchestrator.ArtifactData{ArtifactID: a.ID, Name: a.Name, Description: a.Description}
		for j := range a.Parts {
			d.Parts = append(d.Parts, steps.PartInfo(&a.Parts[j]))
		}
		out.Artifacts = append(out.Artifacts, d)
	}
	return out, nil
}

// earlierItems is how much of a conversation a planner is told.
const earlierItems = 40

// earlier is what was said in the conversation before the run.
func (r *run) earlier(ctx context.Context) ([]planner.Turn, error) {
	if !r.conversation() {
		return nil, nil
	}
	items, err := r.d.store.Items(ctx, r.row.ConversationID, 0, earlierItems)
	if err != nil {
		return nil, err
	}
	var turns []planner.Turn
	for _, it := range items {
		if it.RunID == r.row.ID || strings.TrimSpace(it.Text) == "" || r.flow.calls[it.RunID] != "" || r.flow.caller[it.RunID] != "" {
			continue
		}
		if it.Kind == orchestrator.ItemUser || it.Kind == orchestrator.ItemAgent || it.Kind == orchestrator.ItemArtifact {
			turns = append(turns, planner.Turn{AgentID: it.AgentID, Text: it.Text})
		}
	}
	return turns, nil
}
