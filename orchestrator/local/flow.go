package local

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/workflow"
)

const stepScope = orchestrator.StepScope

// flow is what a run with a plan has beside others. Of what its calls made it holds nothing but a few results it read
// last: they are read from the calls' own logs when a step wants them.
type flow struct {
	engine.Flow
	hops      int // how many agents a message came through, with us
	source    string
	inputs    json.RawMessage            // as they were given, with the source
	contents  map[string][]workflow.Item // of nodes that run: what each call says
	made      []workflow.Item            // of the Resolved that is being logged; nil: it is read from it
	answers   map[string]*a2a.Message    // to the questions of nodes
	decisions []decision
	agents    map[string]bool                       // that were called: they may know the run's context
	caller    map[string]string                     // the agents that were found for calls, by run
	known     map[string]*orchestrator.ChildContext // what agents have for the plan since their last call

	plan    *workflow.PlanSpec // of Graph.Spec, read once
	results map[string]*workflow.Result
	kept    int       // bytes of results, about
	ending  *a2a.Task // what the call made whose end is not stored yet, but will be with what is being decided

	calls    map[string]a2a.TaskState // where the calls that go on stand, as far as is known
	unknown  bool                     // it was read: what became of the calls meanwhile is to be looked up
	stood    map[string]a2a.TaskState // where calls stood that were open when the driver began; what became of them since, they tell
	halted   map[string]int           // the newest engine.Halt that this process carried out, by call
	deciding map[string]bool
	replying map[string]bool             // asks that the planner's model was given; true: it is at it
	shown    string                      // the asks that the newest status names
	said     map[string]engine.NodeState // the steps as an A2A caller was told of them
}

// decision is one answer of the planner, and the node that asked for it.
type decision struct {
	node string
	*planner.Decision
}

// stored is what a run with a plan, or a call of one, keeps beside its events.
type stored struct {
	Rules int    `json:"rules"`
	Plan  bool   `json:"plan,omitempty"`
	Key   string `json:"key,omitempty"`
	Hops  int    `json:"hops,omitempty"`

	Trace orchestrator.Trace `json:"trace,omitempty"`
	Rest  rest               `json:"rest,omitzero"`
}

func newFlow(hops int) *flow {
	return &flow{
		Flow: engine.NewFlow(), hops: hops, contents: map[string][]workflow.Item{}, answers: map[string]*a2a.Message{},
		agents: map[string]bool{}, caller: map[string]string{}, known: map[string]*orchestrator.ChildContext{}, results: map[string]*workflow.Result{}, calls: map[string]a2a.TaskState{},
		halted: map[string]int{}, deciding: map[string]bool{}, replying: map[string]bool{}, said: map[string]engine.NodeState{},
	}
}

// recall reads what is kept of the run beside its events.
func (r *run) recall(row *orchestrator.Run) error {
	r.parent, _ = strings.CutPrefix(row.Scope, stepScope)
	if r.parent == row.Scope {
		r.parent = ""
	}
	var s stored
	if err := json.Unmarshal(row.Engine, &s); err != nil {
		return err
	}
	r.key, r.trace, r.rest = s.Key, s.Trace, s.Rest
	if s.Plan {
		r.flow = newFlow(s.Hops)
		r.flow.Rules, r.hops = s.Rules, s.Hops
	}
	return nil
}

// stored is recall's other half.
func (r *run) stored() json.RawMessage {
	s := stored{Rules: r.rules(), Key: r.key, Trace: r.trace, Rest: r.rest}
	if r.flow != nil {
		s.Plan, s.Hops = true, r.flow.hops
	}
	return mustJSON(s)
}

// rules are those that the run started under.
func (r *run) rules() int {
	if r.flow != nil {
		return r.flow.Rules
	}
	return cmp.Or(r.state.Rules, engine.Rules)
}

// apply folds an event, and keeps what the reducer does not.
func (f *flow) apply(b engine.Body) {
	answers := "" // the node whose question is answered
	if a, ok := b.(*engine.Answered); ok && f.Open(a.Ask) != nil {
		answers = f.Open(a.Ask).Step
	}
	f.Flow.Apply(b)
	switch b := b.(type) {
	case *engine.Answered:
		m := new(a2a.Message)
		if answers == "" || b.Message == nil || json.Unmarshal(b.Message, m) != nil {
			return // an approval
		}
		f.answers[answers] = m
		f.forget(answers)
	case *engine.Planned:
		if b.Source != "" {
			f.source, f.inputs = b.Source, b.Inputs
		}
		if b.Decision != nil {
			d := decision{node: b.Node, Decision: &planner.Decision{}}
			if json.Unmarshal(b.Decision, d.Decision) == nil {
				f.decisions = append(f.decisions, d)
			}
		}
	case *engine.Resolved:
		f.forget(b.Node)
		delete(f.contents, b.Node)
		if _, st := f.Node(b.Node); st == nil || st.Items == nil {
			return
		}
		if f.made != nil {
			f.contents[b.Node] = f.made
			return
		}
		items := make([]workflow.Item, len(b.Items))
		for i := range b.Items {
			if json.Unmarshal(b.Items[i], &items[i]) != nil {
				return // it was checked before it was logged
			}
		}
		f.contents[b.Node] = items
	case *engine.Begun:
		if f.Goes(b.Run) {
			f.calls[b.Run] = a2a.TaskStateSubmitted
			f.agents[b.Agent], f.caller[b.Run] = true, b.Agent
		}
		f.forget(b.Node)
	case *engine.Over:
		delete(f.calls, b.Run)
		delete(f.halted, b.Run)
	case *engine.Steered:
		for i := range f.Nodes { // others may be open again with it
			if !f.Nodes[i].State.Settled() {
				f.forget(f.Graph.Nodes[i].ID)
			}
		}
	}
}

// loaded is told that the run was read.
func (f *flow) loaded(r *run) {
	f.unknown = true
	f.meet(r)
	f.shown = askIDs(&r.status)
	for i := range f.Nodes {
		f.said[f.Graph.Nodes[i].ID] = f.Nodes[i].State
		if f.Nodes[i].State.Settled() {
			delete(f.contents, f.Graph.Nodes[i].ID)
		}
	}
}

// asking reports whether a call waits for somebody.
func (f *flow) asking() bool {
	for _, s := range f.calls {
		if s.Interrupted() {
			return true
		}
	}
	return false
}

// advance carries on a run with a plan: what follows from the change is decided, written with it, and begun. Everything
// that is begun at once is begun in one commit. r.mu is held.
func (r *run) advance(ctx context.Context, c *change) error {
	r.flow.meet(r)
	err := c.lookUp(ctx)
	if err == nil {
		c.ring()
		err = c.follow(ctx)
	}
	if err == nil && (len(c.batch.Events) > 0 || c.decided) {
		c.expect()
		err = c.write(ctx)
	}
	if err != nil {
		c.abandon(err)
		r.kill(err)
		r.d.evict(r)
		r.d.unkeep(r)
		return err
	}
	c.release()
	r.kickFlow()
	return nil
}

// meet is called before anything is decided.
func (f *flow) meet(r *run) {
	if f.plan == nil && len(f.Graph.Nodes) > 0 {
		p, err := workflow.ReadPlan(f.Graph.Spec)
		if err != nil {
			p = &workflow.PlanSpec{} // what uses it says so
		}
		f.plan = p
	}
}
