package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/workflow"
)

// follow carries out what follows in a plan without waiting for anybody: content is made, asks are opened, calls are made
// ready to begin, the run is ended.
func (c *change) follow(ctx context.Context) error {
	f := c.r.flow
	did := map[string]bool{}
	for again := true; again; {
		again = false
		c.dropAsks()
		closing := f.Closing
		for _, cmd := range f.Next() {
			if f.Closing != closing {
				again = true
				break // what comes next is another thing now
			}
			var err error
			switch cmd := cmd.(type) {
			case *engine.Resolve:
				err = c.resolve(ctx, cmd)
			case *engine.Open:
				err = c.question(ctx, cmd)
			case *engine.Begin:
				err = c.call(ctx, cmd)
			case *engine.Finish:
				c.progress()
				err = c.conclude(ctx, cmd)
			default:
				continue
			}
			if err != nil {
				return err
			}
			id := cmd.ID()
			if did[id] {
				return fmt.Errorf("run %s: %s does not come to an end", c.r.row.ID, id)
			}
			did[id], again = true, true
		}
	}
	if f.Ended {
		return nil
	}
	c.progress()
	return c.mirror(ctx)
}

// dropAsks closes the asks that the plan does not wait for any more.
func (c *change) dropAsks() {
	for _, a := range slices.Clone(c.r.asks) {
		if c.r.flow.Open(a.ID) == nil {
			c.close(&engine.Answered{Ask: a.ID, State: orchestrator.AskGone})
		}
	}
}

// resolve carries out engine.Resolve.
func (c *change) resolve(ctx context.Context, cmd *engine.Resolve) error {
	n, st := c.r.flow.Node(cmd.Node)
	if st.State != engine.NodeReady || st.Round != cmd.Round {
		return nil // what came before in this change made it fail
	}
	b := &engine.Resolved{Node: cmd.Node, Round: cmd.Round, At: c.at.UnixMilli()}
	content, err := c.r.content(ctx, n, st)
	var f *orchestrator.Fault
	switch {
	case errors.As(err, &f):
		b.Fault = f
	case err != nil:
		return err
	default:
		b.Skip = content.Skip
		for i := range content.Items {
			b.Items = append(b.Items, mustJSON(&content.Items[i]))
		}
		c.r.flow.made = content.Items
	}
	c.log(b)
	c.r.flow.made = nil
	return nil
}

// The choices of an ask of kind approval.
const (
	approveYes = "yes"
	approveNo  = "no"
)

// question carries out engine.Open for a plan.
func (c *change) question(ctx context.Context, cmd *engine.Open) error {
	r := c.r
	a := &engine.Asked{Ask: newID(), Step: cmd.Step, AskKind: cmd.Kind, Phase: cmd.Phase}
	yesNo := []orchestrator.Choice{{ID: approveYes, Label: "Go ahead"}, {ID: approveNo, Label: "Do not"}}
	if cmd.Step == "" {
		a.Prompt, a.Choices = "This is the plan. Shall it be carried out?", yesNo
		c.ask(a)
		return nil
	}
	n, st := r.flow.Node(cmd.Step)
	if st.State != engine.NodeApproving {
		return nil
	}
	content, err := r.content(ctx, n, st)
	var f *orchestrator.Fault
	switch {
	case errors.As(err, &f):
		c.log(&engine.Resolved{Node: n.ID, Round: st.Round, Fault: f, At: c.at.UnixMilli()})
		return nil
	case err != nil:
		return err
	case cmd.Kind == orchestrator.AskApproval:
		if a.Prompt, a.Choices = content.Approve, yesNo; a.Prompt == "" {
			a.Prompt = "Shall the step " + r.d.title(n) + " be done?"
		}
	case content.Ask != nil:
		a.Prompt, a.Schema, a.Choices = content.Ask.Prompt, content.Ask.Schema, content.Ask.Choices
		if len(a.Choices) > 0 && a.Schema == nil {
			a.AskKind = orchestrator.AskChoice
		}
	}
	c.ask(a)
	return nil
}

// title is what people call a node.
func (d *Driver) title(n *engine.Node) string { return cmp.Or(d.specs.Name(n.Spec), n.ID) }

// call carries out engine.Begin: the intent, and the run itself, are one commit.
func (c *change) call(ctx context.Context, cmd *engine.Begin) error {
	r, f := c.r, c.r.flow
	n, st := f.Node(cmd.Node)
	b := &engine.Begun{
		Node: cmd.Node, Round: cmd.Round, Item: cmd.Item, Attempt: cmd.Attempt, At: c.at.UnixMilli(),
		Run: engine.ChildID(r.row.ID, cmd.Node, cmd.Round, cmd.Item, cmd.Attempt),
	}
	it, err := r.item(ctx, n, st, cmd.Item)
	if err == nil && cmd.Item != engine.UndoItem {
		err = r.d.mayCall(r.row.Principal)
	}
	var k *change
	if err == nil && it.Use != "" {
		k, err = c.uses(ctx, b, it)
	} else if err == nil {
		k, err = c.sends(ctx, b, it, cmd.Fallback)
	}
	var fault *orchestrator.Fault
	if err != nil && !errors.As(err, &fault) {
		return err
	}
	c.log(b)
	switch {
	case !f.Goes(b.Run): // what came before in this change made it superfluous
		if k != nil {
			k.drop(errForgotten)
		}
	case fault != nil:
		c.log(&engine.Over{Run: b.Run, State: a2a.TaskStateFailed, Final: true, Fault: fault, At: b.At})
	default:
		c.begun = append(c.begun, k)
	}
	return nil
}

// item returns what a call says.
func (r *run) item(ctx context.Context, n *engine.Node, st *engine.FlowNode, i int) (*workflow.Item, error) {
	if i == engine.UndoItem {
		env, err := r.env(ctx, n, st.Round, nil)
		if err != nil {
			return nil, err
		}
		it, err := workflow.Undone(n.Spec, env)
		if it == nil && err == nil {
			err = &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "Nothing says how to undo the step."}
		}
		return it, err
	}
	items := r.flow.contents[n.ID]
	if i >= len(items) {
		return nil, &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "The content of the step cannot be read."}
	}
	return &items[i], nil
}

// child returns a call of the run, held and locked, with the change that begins it. It is in no list yet.
func (c *change) child(id, to string) *change {
	r := c.r
	k := r.d.newRun(id)
	k.mu.Lock()
	k.parent, k.hops, k.trace = r.row.ID, r.hops, r.traced()
	k.row = orchestrator.Run{
		ID: id, Scope: stepScope + r.row.ID, Principal: r.row.Principal, ConversationID: r.row.ConversationID,
		ContextID: r.row.ContextID, To: to, State: a2a.TaskStateSubmitted, Created: c.at, Updated: c.at,
	}
	r.d.called(k)
	k.told = k.row.State
	k.fold = &a2a.Task{ID: id, ContextID: k.row.ContextID}
	kc := &change{r: k, at: c.at, within: true}
	return kc
}

// drop lets go of a call that is not begun.
func (c *change) drop(cause error) {
	c.abandon(cause)
	c.r.kill(cause)
	c.r.d.evict(c.r)
	c.r.mu.Unlock()
	c.r.d.release(c.r)
}

// sends makes the run of a message to an agent.
func (c *change) sends(ctx context.Context, b *engine.Begun, it *workflow.Item, fallback bool) (*change, error) {
	r := c.r
	to := it.Agent
	if fallback {
		to = it.Fallback
	}
	agent, err := r.find(ctx, to)
	if err != nil {
		return nil, err
	}
	b.Agent = agent.ID
	parts, err := r.says(ctx, it.Parts)
	if err != nil {
		return nil, err
	}
	kc := c.child(b.Run, agent.ID)
	k := kc.r
	k.key = r.contexts()
	k.row.Engine = k.stored()
	if k.key == stepScope+r.row.ID { // nobody else has the agent in this context
		k.fresh, k.known = !r.flow.agents[agent.ID], r.flow.known[agent.ID]
	} else if c.over != nil && c.over.r.agentKnows(agent.ID) { // the store does not have it yet
		k.known = r.flow.known[agent.ID]
	}
	k.state = engine.New(engine.Start{To: agent.ID, Person: r.row.Principal == orchestrator.LocalPrincipal, Part: true})
	k.asked = &a2a.Message{ID: "m-" + b.Run, Role: a2a.RoleUser, Parts: parts}
	if err := kc.send(ctx); err != nil {
		kc.drop(err)
		return nil, err
	}
	return kc, nil
}

// contexts is what the contexts of the agents that a plan calls are kept under: each plan has its own, but for one that
// the planner makes as the conversation goes: its agents know what was said before.
func (r *run) contexts() string {
	if r.key != "" {
		return r.key
	}
	return stepScope + r.row.ID
}

// uses makes the run of a workflow within this one.
func (c *change) uses(ctx context.Context, b *engine.Begun, it *workflow.Item) (*change, error) {
	r := c.r
	w, err := r.d.store.Workflow(ctx, workflow.KeptID(it.Use))
	if errors.Is(err, orchestrator.ErrNotFound) {
		return nil, noWorkflow(it.Use)
	}
	if err != nil {
		return nil, err
	}
	plan, err := r.d.planOf(it.Use, w.Source, it.With, r.flow.Graph.Depth+1)
	if err != nil {
		return nil, err
	}
	kc := c.child(b.Run, orchestrator.OwnAgent)
	k := kc.r
	k.flow = newFlow(r.hops)
	k.row.Engine = k.stored()
	k.asked = &a2a.Message{ID: "m-" + b.Run, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(w.Name)}}
	plan.At = c.at.UnixMilli()
	kc.tell(k.address().Task(a2a.TaskStatus{State: a2a.TaskStateSubmitted}))
	kc.log(plan)
	k.flow.meet(k)
	if err := kc.follow(ctx); err != nil {
		kc.drop(err)
		return nil, err
	}
	return kc, nil
}

func noWorkflow(id string) *orchestrator.Fault {
	return &orchestrator.Fault{
		Kind: "no-workflow", Where: orchestrator.WhereUs, What: "There is no workflow “" + id + "” here.", Do: "Save it, or write its name as it is kept.",
	}
}

// include adds the beginning of a call, or its end, to what is written.
func (c *change) include(ctx context.Context, k *change) error {
	b, err := k.seal(ctx)
	if err != nil {
		return err
	}
	c.add(b)
	return nil
}

// add adds what runs write.
func (c *change) add(b *orchestrator.Batch) {
	to := &c.batch
	to.Events = append(to.Events, b.Events...)
	to.Runs = append(to.Runs, b.Runs...)
	to.Steps = append(to.Steps, b.Steps...)
	to.Contexts = append(to.Contexts, b.Contexts...)
	to.Asks = append(to.Asks, b.Asks...)
	to.Items = append(to.Items, b.Items...)
}

// expect puts the calls that are being begun where others find them; they wait for the commit.
func (c *change) expect() {
	for _, k := range c.begun {
		k.expect()
		if d := k.r.d; d.host == nil {
			d.mu.Lock()
			d.live[k.r.row.ID] = k.r
			d.mu.Unlock()
		}
	}
}

// abandon gives the calls up that were to be begun with a change which was not written.
func (c *change) abandon(cause error) {
	for _, k := range c.begun {
		k.drop(cause)
	}
	c.begun = nil
}

// release lets the calls begin, now that they are on the disk.
func (c *change) release() {
	for _, k := range c.begun {
		k.release()
		k.r.begins()
		k.r.mu.Unlock()
		k.r.d.release(k.r)
	}
	c.begun = nil
}

// begins starts what a new call wants done. r.mu is held.
func (r *run) begins() {
	if r.flow != nil {
		r.kickFlow()
		if r.state.Ended {
			r.report()
		}
		return
	}
	r.kick()
}
