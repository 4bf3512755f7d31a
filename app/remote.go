package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

// Remote has workflows carried out by the own agent of another Parley, as any A2A client would: with the skill run-workflow
// and a token. It needs no data directory.
type Remote struct {
	egress  *egress.Egress
	client  *a2aclient.Client
	card    *a2a.AgentCard
	answers chan *a2a.Message
	task    string
	context string

	mu    sync.Mutex
	asked map[string]*orchestrator.Ask // by id, the open ones
}

// DialRemote finds the agent at an address. The token goes to the origin of that address and to no other; "" = none.
func DialRemote(ctx context.Context, address, token string) (*Remote, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &orchestrator.Fault{
			Kind: "address", Where: orchestrator.WhereUs, What: "--server " + address + " is no address.", Do: "Give one like https://parley.example/.",
		}
	}
	origin := u.Scheme + "://" + u.Host
	r := &Remote{
		egress: egress.New(&egress.Options{Logger: slog.New(slog.DiscardHandler)}), answers: make(chan *a2a.Message, 1), asked: map[string]*orchestrator.Ask{},
	}
	var bound []egress.Bound
	var cred *orchestrator.Credential
	if token != "" {
		cred = &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: orchestrator.Secret(token), Origin: origin}
		b, err := bind(cred, origin)
		if err != nil {
			return nil, err
		}
		bound = []egress.Bound{b}
	}
	finder := &registry{egress: r.egress, log: slog.New(slog.DiscardHandler)}
	found, _, err := finder.find(ctx, address, cred)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, &orchestrator.Fault{Kind: "address", Where: orchestrator.WhereAgent, What: "There is not one agent at " + address + ".", Do: "Give the address of Parley's own agent."}
	}
	f := found[0]
	if f.Err != nil {
		return nil, told(f.Err)
	}
	at := f.Interface
	if f.Typed != nil {
		at = *f.Typed
	}
	if is, err := card.Origin(at.URL); err != nil || !sameOrigin(is, origin) {
		return nil, &orchestrator.Fault{
			Kind: "origin", Where: orchestrator.WhereAgent, What: "The agent's card says that it is at " + at.URL + ", which is another host.", Do: "Give that address to --server.",
		}
	}
	r.card = f.Card
	r.client, err = a2aclient.New(f.Card, at, &a2aclient.Options{
		HTTP: r.egress.Client(egress.Policy{
			Typed: origin, HeaderTime: headerTime, Credentials: func(context.Context) ([]egress.Bound, error) { return bound, nil },
		}),
		Peer: "server",
	})
	if err != nil {
		return nil, told(err)
	}
	return r, nil
}

// sameOrigin compares origins, with their ports or without.
func sameOrigin(a, b string) bool {
	x, errX := egress.Origin(a)
	y, errY := egress.Origin(b)
	return errX == nil && errY == nil && x == y
}

// Close ends the connections.
func (r *Remote) Close() {
	r.client.Close()
	r.egress.Close()
}

// Run begins a workflow there and calls each with where its plan stands, what it asks, and the end.
func (r *Remote) Run(ctx context.Context, w *RunWorkflow, each func(*Line) error) error {
	m, err := r.request(ctx, w)
	if err != nil {
		return err
	}
	f := &remoteRun{Remote: r, each: each, task: &a2a.Task{}, plan: &orchestrator.Plan{Began: time.Now()}}
	events := r.client.Stream(ctx, &a2a.SendRequest{Message: *m})
	for {
		err := f.follow(events)
		switch refused := answerRefused(err); {
		case refused != nil && r.task == "": // nothing was begun
			return notBegun(refused.What)
		case refused != nil && f.last != nil: // it did not take the answer
			err = each(&Line{Kind: "ask", Run: r.task, Ask: f.last, RunFault: refused})
		case err == nil && f.task.Status.State.Terminal():
			return f.end()
		case err == nil && !f.task.Status.State.Interrupted():
			err = &orchestrator.Fault{Kind: "no-end", Where: orchestrator.WhereAgent, What: "The server stopped telling what becomes of the run " + r.task + "."}
		}
		if err != nil {
			return told(err)
		}
		select {
		case m := <-r.answers:
			m.TaskID, m.ContextID = r.task, r.context
			events = r.client.Stream(ctx, &a2a.SendRequest{Message: *m})
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notBegun tells why a server begins nothing: for the inputs, or for what the file wants of it.
func notBegun(what string) *orchestrator.Fault {
	f := &orchestrator.Fault{
		Kind: "workflow", Where: orchestrator.WhereAgent, What: "The server says: " + strings.TrimSuffix(what, ".") + ".",
		Do: "Correct the file, or have the token changed: whoever runs the server sees with `parley token list` what it reaches.",
	}
	if strings.Contains(what, "input") {
		f.Kind, f.Do = "inputs", "Correct the inputs."
	}
	return f
}

// answerRefused returns what a server says of an answer that it does not take.
func answerRefused(err error) *orchestrator.Fault {
	var e *a2a.Error
	if !errors.As(err, &e) || e.Kind != a2a.KindInvalidParams {
		return nil
	}
	return &orchestrator.Fault{Kind: "ask-answer", Where: orchestrator.WhereAgent, What: e.Message}
}

// request is the message that begins a workflow.
func (r *Remote) request(ctx context.Context, w *RunWorkflow) (*a2a.Message, error) {
	inputs := map[string]json.RawMessage{}
	for name, v := range w.Inputs {
		inputs[name] = v
	}
	ask := map[string]any{"workflow": w.Source, "inputs": inputs}
	if w.Workflow != "" {
		ask["workflow"] = w.Workflow
		known := &workflow.Workflow{Name: w.Workflow}
		if len(w.Typed) > 0 {
			known.Inputs = r.inputs(ctx, w.Workflow)
		}
		for name, text := range w.Typed {
			v, err := known.Typed(name, text)
			if err != nil {
				return nil, err
			}
			inputs[name] = v
		}
	}
	return &a2a.Message{
		ID: cmp.Or(w.MessageID, uuid.Must(uuid.NewV7()).String()), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.DataPart(ask)},
		Metadata: a2a.Metadata(`{"skillId":"` + runWorkflowSkill + `"}`),
	}, nil
}

// inputs are those of a workflow that is offered there, as the server's card has their schemas; nil when it does not say.
func (r *Remote) inputs(ctx context.Context, id string) []workflow.Input {
	c := r.card
	if extended, err := r.client.ExtendedCard(ctx); err == nil {
		c = extended
	}
	i := slices.IndexFunc(c.Capabilities.Extensions, func(x a2a.AgentExtension) bool { return x.URI == workflowsExtension })
	if i < 0 {
		return nil
	}
	var params struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"inputSchemas"`
	}
	if json.Unmarshal(c.Capabilities.Extensions[i].Params, &params) != nil {
		return nil
	}
	var inputs []workflow.Input
	for name, schema := range params.Schemas[workflowSkill+id].Properties {
		inputs = append(inputs, workflow.Input{Name: name, Schema: schema})
	}
	return inputs
}

// Answer sends an answer to an ask of the run that is being followed. What is wrong with it is a Fault; what the server
// thinks of it comes with the run.
func (r *Remote) Answer(ctx context.Context, t AnswerTo) error {
	r.mu.Lock()
	k := r.asked[t.Ask]
	r.mu.Unlock()
	if k == nil {
		return &orchestrator.Fault{Kind: "ask-closed", Where: orchestrator.WhereUs, What: "This question is closed already."}
	}
	a, err := typedAnswer(k, t.Typed)
	if err != nil {
		return err
	}
	if a.Data != nil && len(k.Schema) > 0 {
		if err := workflow.Fits(k.Schema, a.Data); err != nil {
			return misfit(k, "The answer does not fit what is wanted: "+err.Error()+".")
		}
	}
	m := &a2a.Message{ID: uuid.Must(uuid.NewV7()).String(), Role: a2a.RoleUser}
	reply := map[string]any{"ask": k.ID}
	switch {
	case a.Decline:
		reply["decline"] = true
	case a.Choice != "":
		reply["choice"] = a.Choice
	case a.Data != nil:
		reply["data"] = a.Data
	default:
		reply["text"] = a.Text
	}
	m.Parts = []a2a.Part{a2a.DataPart(reply)}
	select {
	case r.answers <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remoteRun folds what a server tells of a run.
type remoteRun struct {
	*Remote
	each func(*Line) error
	task *a2a.Task
	plan *orchestrator.Plan
	last *AskInfo // that was told last
}

func (f *remoteRun) follow(events iter.Seq2[a2a.Event, error]) error {
	for ev, err := range events {
		var gap *a2aclient.GapError
		if errors.As(err, &gap) {
			continue
		}
		if err != nil {
			return err
		}
		if err := f.take(ev); err != nil {
			return err
		}
	}
	return nil
}

func (f *remoteRun) take(ev a2a.Event) error {
	if t, ok := ev.(*a2a.Task); ok && f.Remote.task == "" {
		f.Remote.task, f.context, f.plan.RunID = t.ID, t.ContextID, t.ID
		if err := f.each(&Line{Kind: "run", Run: t.ID}); err != nil {
			return err
		}
		for i := range t.History { // what was told before we listened
			f.step(t.History[i].Metadata)
		}
	}
	f.task.Apply(ev)
	if m := f.task.Status.Message; m != nil {
		f.step(m.Metadata)
	}
	plan := *f.plan // the one before is being read
	plan.State, f.plan = f.task.Status.State, &plan
	if f.plan.State.Terminal() {
		return nil // the end says it
	}
	if err := f.each(&Line{Kind: "plan", Run: f.plan.RunID, State: string(f.plan.State), Plan: f.plan}); err != nil {
		return err
	}
	if !f.plan.State.Interrupted() {
		return nil
	}
	return f.tellAsks()
}

// step notes where a step stands.
func (f *remoteRun) step(m a2a.Metadata) {
	var v struct {
		Step struct {
			ID      string `json:"id"`
			Title   string `json:"title"`
			State   string `json:"state"`
			AgentID string `json:"agentId"`
		} `json:"urn:parley:step"`
	}
	if len(m) == 0 || json.Unmarshal(m, &v) != nil || v.Step.ID == "" {
		return
	}
	now := time.Now()
	nodes := slices.Clone(f.plan.Nodes) // those that were told are being read
	i := slices.IndexFunc(nodes, func(n orchestrator.PlanNode) bool { return n.ID == v.Step.ID })
	if i < 0 {
		nodes = append(nodes, orchestrator.PlanNode{ID: v.Step.ID})
		i = len(nodes) - 1
	}
	n := &nodes[i]
	if n.State == v.Step.State {
		return
	}
	if v.Step.Title != n.ID {
		n.Title = v.Step.Title
	}
	n.State, n.AgentID = v.Step.State, cmp.Or(v.Step.AgentID, n.AgentID)
	if n.Began.IsZero() && n.State != "waiting" {
		n.Began = now
	}
	if n.State == "done" || n.State == "failed" || n.State == "skipped" || n.State == "canceled" {
		n.Ended = now
	}
	plan := *f.plan
	plan.Nodes = nodes
	f.plan = &plan
}

// tellAsks tells what the interrupted run asks: each ask by its id, or, where the server names none, its status.
func (f *remoteRun) tellAsks() error {
	var all []AskInfo
	s := &f.task.Status
	if s.Message != nil {
		for i := range s.Message.Parts {
			var v struct {
				Asks []AskInfo `json:"asks"`
			}
			if p := &s.Message.Parts[i]; p.Kind == a2a.PartData && json.Unmarshal(p.Data, &v) == nil {
				all = append(all, v.Asks...)
			}
		}
	}
	open := map[string]*orchestrator.Ask{}
	for _, k := range all {
		open[k.ID] = &orchestrator.Ask{ID: k.ID, Kind: k.Kind, Prompt: k.Prompt, Schema: k.Schema, Choices: k.Choices, Links: k.Links}
	}
	f.mu.Lock()
	known := f.asked
	f.asked = open
	f.mu.Unlock()
	for i := range all {
		k := &all[i]
		k.Run, k.State = f.plan.RunID, orchestrator.AskOpen
		if known[k.ID] != nil {
			continue
		}
		f.last = k
		if err := f.each(&Line{Kind: "ask", Run: f.plan.RunID, Ask: k}); err != nil {
			return err
		}
	}
	return nil
}

// end tells how the run ended, with its outputs.
func (f *remoteRun) end() error {
	s := &f.task.Status
	plan := *f.plan
	plan.State, plan.Ended = s.State, time.Now()
	for i := range f.task.Artifacts {
		a := &f.task.Artifacts[i]
		for j := range a.Parts {
			if a.ID == "outputs" && a.Parts[j].Kind == a2a.PartData {
				_ = json.Unmarshal(a.Parts[j].Data, &plan.Outputs) // what is no object is no output
			}
		}
	}
	l := &Line{Kind: "end", Run: plan.RunID, State: string(s.State), Plan: &plan}
	if s.State != a2a.TaskStateCompleted && s.Message != nil {
		l.RunFault = &orchestrator.Fault{Kind: "remote", Where: orchestrator.WhereAgent, What: a2a.Text(s.Message.Parts)}
	}
	return f.each(l)
}
