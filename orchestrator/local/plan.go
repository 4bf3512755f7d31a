package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/workflow"
)

// Plan is orchestrator.Planner's.
func (d *Driver) Plan(ctx context.Context, id string) (*orchestrator.Plan, error) {
	v, err := d.view(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := v.read(ctx); err != nil {
		return nil, err
	}
	return v.plan(ctx)
}

// FollowPlan is orchestrator.Planner's.
func (d *Driver) FollowPlan(ctx context.Context, id string) iter.Seq2[*orchestrator.Plan, error] {
	return func(yield func(*orchestrator.Plan, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		v, err := d.view(ctx, id)
		if err != nil {
			yield(nil, err)
			return
		}
		news := make(chan string, 64) // runs of which something is new
		go func() {
			for c := range d.store.Changes(ctx) {
				if c.RunID == "" {
					continue
				}
				select {
				case news <- c.RunID:
				case <-ctx.Done():
					return
				}
			}
		}()
		var shown []byte
		// Changes are hints, and the first ones may have come before somebody listened: it is looked again now and then.
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
			var p *orchestrator.Plan
			if err = v.read(ctx); err == nil {
				p, err = v.plan(ctx)
			}
			if err != nil {
				if ctx.Err() == nil {
					yield(nil, err)
				}
				return
			}
			if now := mustJSON(p); !bytes.Equal(now, shown) {
				shown = now
				if !yield(p, nil) {
					return
				}
			}
			if !p.Ended.IsZero() {
				return
			}
			clock := time.NewTimer(pause)
			for waits := true; waits; {
				select {
				case run := <-news:
					waits = !v.about(run)
				case <-clock.C:
					waits = false
				case <-ctx.Done():
					clock.Stop()
					return
				}
			}
			clock.Stop()
			for len(news) > 0 {
				<-news
			}
		}
	}
}

// StopStep is orchestrator.Planner's.
func (d *Driver) StopStep(ctx context.Context, run, node string) error {
	return d.steer(ctx, run, node, false)
}

// RetryStep is orchestrator.Planner's.
func (d *Driver) RetryStep(ctx context.Context, run, node string) (*orchestrator.Run, error) {
	p, err := d.Plan(ctx, run)
	if err != nil {
		return nil, err
	}
	if !p.Ended.IsZero() && slices.ContainsFunc(p.Nodes, func(n orchestrator.PlanNode) bool { return n.ID == node && n.CanRetry }) {
		return d.retryStep(ctx, run, node)
	}
	if err := d.steer(ctx, run, node, true); err != nil {
		return nil, err
	}
	return d.store.Run(ctx, run)
}

func (d *Driver) steer(ctx context.Context, id, node string, again bool) error {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	if row.Principal != orchestrator.LocalPrincipal || !hasPlan(row) {
		return orchestrator.ErrNotFound
	}
	return d.unmoved(ctx, func() error {
		r, err := d.open(ctx, id)
		if err != nil {
			return err
		}
		defer d.release(r)
		r.mu.Lock()
		defer r.mu.Unlock()
		n, st := r.flow.Node(node)
		switch {
		case n == nil:
			return orchestrator.ErrNotFound
		case again && (r.state.Ended || !r.flow.Retryable(st)):
			return &orchestrator.Fault{
				Kind: "step-state", Where: orchestrator.WhereUs, What: "This step cannot be tried again now.", Do: "Run the whole plan again.",
			}
		case !again && (r.state.Ended || !r.flow.Stoppable(st)):
			return &orchestrator.Fault{Kind: "step-state", Where: orchestrator.WhereUs, What: "Nothing of this step is going on."}
		}
		c := r.change()
		c.log(&engine.Steered{Node: node, Again: again, Round: st.Round, N: st.Again, At: c.at.UnixMilli()})
		return r.proceed(ctx, c)
	})
}

// planView is a plan as the log tells it, up to some event. It is made of the events alone, of the rows of the calls that
// go on, and, where steps say what they give, of what their calls made.
type planView struct {
	d     *Driver
	row   *orchestrator.Run
	run   *run  // what was read, for what the steps gave; nothing is done with it
	flow  *flow // of run
	after int64 // the newest event it knows
	p     orchestrator.Plan
	state []engine.NodeState             // of nodes, as they were told last
	asked map[string]string              // node by ask
	calls map[string]call                // where a call stands in the plan
	open  map[string]bool                // calls that go on
	gives map[string]bool                // nodes whose outputs are to be computed, once they are done
	wrong map[string]*orchestrator.Fault // nodes whose outputs could not be
	loops map[string]bool                // nodes whose loop was over before the round that the reducer had come to
}

type call struct{ node, n int }

func (d *Driver) view(ctx context.Context, id string) (*planView, error) {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if !hasPlan(row) {
		return nil, orchestrator.ErrNotFound
	}
	flow := newFlow(0)
	var s stored
	if err := json.Unmarshal(row.Engine, &s); err != nil {
		return nil, err
	}
	flow.Rules = s.Rules
	return &planView{
		d: d, row: row, run: &run{d: d, row: *row, flow: flow}, flow: flow, gives: map[string]bool{}, wrong: map[string]*orchestrator.Fault{}, asked: map[string]string{}, calls: map[string]call{}, open: map[string]bool{}, loops: map[string]bool{},
		p: orchestrator.Plan{RunID: row.ID, ConversationID: row.ConversationID, State: a2a.TaskStateSubmitted, Began: row.Created},
	}, nil
}

// about reports whether what changed about a run may have changed the plan.
func (v *planView) about(run string) bool { return run == v.row.ID || v.open[run] }

// read takes in the events since the last time.
func (v *planView) read(ctx context.Context) error {
	for events, err := range v.d.store.ReadRun(ctx, v.row.ID, v.after) {
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := v.event(e); err != nil {
				return err
			}
			v.after = e.Seq
		}
	}
	return nil
}

func (v *planView) event(e *orchestrator.Event) error {
	b, err := engine.Decode(e)
	if err != nil {
		return err
	}
	at := e.At.UTC()
	if a, ok := b.(*engine.Answered); ok {
		if open := v.flow.Open(a.Ask); open != nil && open.Kind != orchestrator.AskApproval {
			if i := v.node(open.Step); i >= 0 {
				v.p.Nodes[i].Text = a.Shown
			}
		}
	}
	v.flow.made = []workflow.Item{} // what calls are told is not shown
	v.flow.apply(b)
	switch b := b.(type) {
	case *engine.Planned:
		v.planned(b)
	case *engine.Asked:
		v.asked[b.Step] = b.Ask
	case *engine.Begun:
		i := v.node(b.Node)
		if i < 0 || !v.flow.Goes(b.Run) {
			break
		}
		n := &v.p.Nodes[i]
		v.calls[b.Run], v.open[b.Run] = call{i, len(n.Calls)}, true
		n.Calls = append(n.Calls, orchestrator.PlanCall{
			RunID: b.Run, AgentID: b.Agent, Planned: b.Agent == "", Round: b.Round, Item: b.Item, Attempt: b.Attempt,
			State: a2a.TaskStateSubmitted, Began: at,
		})
		if b.Agent != "" && b.Item != engine.UndoItem {
			n.AgentID = b.Agent
		}
	case *engine.Resolved:
		if _, st := v.flow.Node(b.Node); b.Skip && b.Round > 1 && st != nil && st.State == engine.NodeDone {
			v.loops[b.Node] = true
		}
	case *engine.Over:
		v.over(b, at)
	case *engine.Report:
		if err := v.report(e, b, at); err != nil {
			return err
		}
	}
	for i := range v.flow.Nodes {
		v.moved(i, at)
	}
	return nil
}

// node returns the index of a node, -1 when there is none.
func (v *planView) node(id string) int {
	for i := range v.p.Nodes {
		if v.p.Nodes[i].ID == id {
			return i
		}
	}
	return -1
}

func (v *planView) planned(b *engine.Planned) {
	if b.Source != "" {
		v.p.Source = b.Source
		_ = json.Unmarshal(b.Inputs, &v.p.Inputs)
		v.p.Name = v.flow.Graph.Name
	}
	for i := len(v.p.Nodes); i < len(v.flow.Graph.Nodes); i++ {
		n := &v.flow.Graph.Nodes[i]
		p, gives := planNode(n)
		v.p.Nodes, v.gives[n.ID] = append(v.p.Nodes, p), gives
		v.state = append(v.state, engine.NodeWaiting)
	}
	if i := v.node(b.Node); i >= 0 && b.Why != "" {
		v.p.Nodes[i].Text = b.Why
	}
}

// planNode is what is known of a node before its turn, and whether it has outputs of its own.
func planNode(n *engine.Node) (orchestrator.PlanNode, bool) {
	p := orchestrator.PlanNode{ID: n.ID, Kind: string(n.Kind), Needs: n.Needs, Join: string(n.Join), Approve: n.Approve}
	if s := decidedBy(n); s != nil {
		if s.Delegate != nil {
			p.AgentID = s.Delegate.Agent
		}
		return p, false
	}
	var s workflow.Spec
	if json.Unmarshal(n.Spec, &s) == nil {
		p.Title, p.Use = s.Name, s.Use
		if s.Agent != nil {
			p.AgentID = s.Agent.ID
		}
	}
	return p, s.Outputs != nil
}

func (v *planView) over(b *engine.Over, at time.Time) {
	where, ok := v.calls[b.Run]
	if !ok || !v.open[b.Run] {
		return
	}
	delete(v.open, b.Run)
	n := &v.p.Nodes[where.node]
	c := &n.Calls[where.n]
	c.State, c.Ended, c.Fault, c.Artifacts, c.Usage, c.ChildTask = b.State, at, b.Fault, b.Artifacts, b.Usage, b.Task
	if u := v.flow.Nodes[where.node].Undo; c.Item == engine.UndoItem && c.Fault == nil && b.State == a2a.TaskStateCanceled && u.Stops > 0 && v.flow.Stops < 2 {
		c.Fault = &orchestrator.Fault{
			Kind: "deadline", Where: orchestrator.WhereUs, What: "Undoing step " + n.ID + " took too long.", Do: "See whether the agent did it all the same.",
		}
	}
	if c.Item == 0 {
		n.Text, n.Data = b.Text, b.Data
	}
}

// report takes in an event of the run's own task.
func (v *planView) report(e *orchestrator.Event, b *engine.Report, at time.Time) error {
	if b.State != a2a.TaskStateUnspecified {
		v.p.State = b.State
	}
	if b.Ends() {
		v.p.Ended = at
	}
	if e.Kind != orchestrator.EventArtifact {
		return nil
	}
	ev, err := e.Event()
	if err != nil {
		return err
	}
	if u, ok := ev.(*a2a.ArtifactUpdate); ok && u.Artifact.ID == outputsID && len(u.Artifact.Parts) == 1 {
		_ = json.Unmarshal(u.Artifact.Parts[0].Data, &v.p.Outputs)
	}
	return nil
}

// moved takes in that a node may stand elsewhere now.
func (v *planView) moved(i int, at time.Time) {
	st, n := &v.flow.Nodes[i], &v.p.Nodes[i]
	if v.state[i] == st.State {
		return
	}
	switch {
	case st.State.Settled():
		n.Ended = at
	case st.State == engine.NodeWaiting: // again
		n.Began, n.Ended, n.Text, n.Data = time.Time{}, time.Time{}, "", nil
	case n.Began.IsZero() || v.state[i].Settled():
		n.Began, n.Ended, n.Text, n.Data = at, time.Time{}, "", nil
	}
	v.state[i] = st.State
}

// compute makes the outputs of steps that are done.
func (v *planView) compute(ctx context.Context) error {
	v.flow.meet(v.run)
	for i := range v.p.Nodes {
		n := &v.p.Nodes[i]
		if !v.gives[n.ID] || v.flow.Nodes[i].State != engine.NodeDone {
			continue
		}
		n.Data = nil
		res, err := v.run.result(ctx, n.ID)
		var f *orchestrator.Fault
		switch {
		case errors.As(err, &f):
			v.wrong[n.ID] = f
		case err != nil:
			return err
		default:
			if data := mustJSON(res.Data); len(data) <= overData {
				n.Data = data
			}
		}
		delete(v.gives, n.ID)
	}
	return nil
}

// plan returns the plan as it stands.
func (v *planView) plan(ctx context.Context) (*orchestrator.Plan, error) {
	if err := v.compute(ctx); err != nil {
		return nil, err
	}
	p := v.p
	if p.Fault = v.flow.Fault; p.Ended.IsZero() {
		p.Fault = nil
	}
	p.Nodes = append([]orchestrator.PlanNode(nil), v.p.Nodes...)
	for i := range p.Nodes {
		n, st := &p.Nodes[i], &v.flow.Nodes[i]
		n.State, n.Round, n.Fault = stateOf(st.State), st.Round, st.Fault
		if v.loops[n.ID] { // that one never ran
			n.Round--
		}
		if n.Fault == nil {
			n.Fault = v.wrong[n.ID]
		}
		if p.Ended.IsZero() {
			n.CanStop, n.CanRetry = v.flow.Stoppable(st), v.flow.Retryable(st)
		} else {
			n.CanRetry = p.ConversationID != "" && p.State == a2a.TaskStateFailed && st.State == engine.NodeFailed
		}
		if ask := v.asked[n.ID]; ask != "" && v.flow.Open(ask) != nil {
			n.AskID = ask
		}
		n.Calls = append([]orchestrator.PlanCall(nil), n.Calls...)
		for j := range n.Calls {
			if !v.open[n.Calls[j].RunID] {
				continue
			}
			if err := v.going(ctx, n, &n.Calls[j]); err != nil {
				return nil, err
			}
		}
	}
	return &p, nil
}

// going says where a call stands that goes on.
func (v *planView) going(ctx context.Context, n *orchestrator.PlanNode, c *orchestrator.PlanCall) error {
	row, err := v.d.store.Run(ctx, c.RunID)
	if errors.Is(err, orchestrator.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.State = row.State; c.State == a2a.TaskStateUnspecified {
		c.State = a2a.TaskStateCompleted
	}
	if !c.Planned {
		all, err := v.d.store.Steps(ctx, c.RunID)
		if err != nil {
			return err
		}
		for _, s := range all {
			c.ChildTask = s.ChildTask
		}
	}
	if !row.State.Interrupted() || n.AskID != "" {
		return nil
	}
	asks, err := v.d.asksOf(ctx, c.RunID)
	if err != nil {
		return err
	}
	if len(asks) > 0 {
		n.AskID = asks[0].ID
	}
	return nil
}
