package app

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// send says something to an agent and streams what comes of it, through every ask, to the end of the run.
func (a *App) send(ctx context.Context, m Message, out func(any) error) error {
	say := &orchestrator.Say{ConversationID: m.Conversation, To: m.To, MessageID: m.MessageID, Text: m.Text}
	for _, f := range m.Files {
		say.Files = append(say.Files, a2a.Part{Kind: a2a.PartRaw, Raw: f.Bytes, Filename: f.Name, MediaType: f.Type})
	}
	if m.To != "" && m.To != orchestrator.Auto {
		if _, err := a.store.Agent(ctx, m.To); err != nil {
			return noAgent(ctx, a.store, m.To, err) // nothing is begun for a slip of the pen
		}
	}
	run, err := a.runner.Say(ctx, say)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound) && m.Conversation != "":
		return &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no conversation " + m.Conversation + ".",
			Do: "Send without it to begin a new one.",
		}
	case err != nil:
		return noAgent(ctx, a.store, m.To, err)
	}
	if err := out(Line{Kind: "run", Run: run.ID, Conversation: run.ConversationID}); err != nil {
		return err
	}
	return a.followRun(ctx, run.ID, out)
}

// followRun streams the events of a run from its start to its end, and beside them, where it carries out a plan, where that
// stands.
func (a *App) followRun(ctx context.Context, run string, out func(any) error) error {
	ctx, stop := context.WithCancel(ctx)
	t := &teller{app: a, run: run, out: out, asked: map[string]bool{}}
	var plans sync.WaitGroup
	defer plans.Wait()
	defer stop()
	if _, err := a.runner.Plan(ctx, run); err == nil {
		plans.Go(func() {
			for plan, err := range a.runner.FollowPlan(ctx, run) {
				if err != nil || t.plan(ctx, plan) != nil {
					return // the events tell of it
				}
			}
		})
	}
	var state a2a.TaskState
	var fault *orchestrator.Fault
	for batch, err := range a.store.FollowRun(ctx, run, 0) {
		if err != nil {
			return err
		}
		for _, e := range batch {
			switch {
			case e.Kind == orchestrator.EventFault:
				body, err := engine.Decode(e)
				if err != nil {
					return err
				}
				fault = body.(*engine.Faulted).Fault
			case e.Kind == orchestrator.EventAsked:
				if err := t.asks(ctx); err != nil {
					return err
				}
			case e.Kind.A2A():
				if err := t.tell(Line{Kind: "event", Run: run, Seq: e.Seq, Event: e.JSON}); err != nil {
					return err
				}
				ev, err := e.Event()
				if err != nil {
					return err
				}
				if s := a2a.EventState(ev); s != a2a.TaskStateUnspecified {
					state = s
				}
				if _, ok := ev.(*a2a.Message); ok {
					state = a2a.TaskStateCompleted
				}
			}
		}
		if state.Terminal() {
			stop()
			plans.Wait()
			return out(Line{Kind: "end", Run: run, State: string(state), RunFault: fault})
		}
	}
	return ctx.Err()
}

// teller tells a command what becomes of a run: each ask once.
type teller struct {
	app *App
	run string

	mu    sync.Mutex
	out   func(any) error
	asked map[string]bool
}

func (t *teller) tell(l Line) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out(l)
}

// plan tells where a plan stands, and what is asked for it.
func (t *teller) plan(ctx context.Context, plan *orchestrator.Plan) error {
	if err := t.tell(Line{Kind: "plan", Run: t.run, State: string(plan.State), Plan: plan}); err != nil {
		return err
	}
	ids := make([]string, 0, len(plan.Nodes))
	for i := range plan.Nodes {
		if id := plan.Nodes[i].AskID; id != "" {
			ids = append(ids, id)
		}
	}
	return t.asks(ctx, ids...)
}

// asks tells the open asks of the run, and those of that id, which may be of runs that it began.
func (t *teller) asks(ctx context.Context, ids ...string) error {
	open, err := t.app.store.OpenAsks(ctx, t.run)
	if err != nil {
		return err
	}
	for _, id := range ids {
		k, err := t.app.store.Ask(ctx, id)
		if errors.Is(err, orchestrator.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if k.State == orchestrator.AskOpen {
			open = append(open, k)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range open {
		if t.asked[k.ID] {
			continue
		}
		t.asked[k.ID] = true
		info := askInfo(k)
		if err := t.out(Line{Kind: "ask", Run: t.run, Ask: &info}); err != nil {
			return err
		}
	}
	return nil
}

// remote returns an approved agent.
func (a *App) remote(ctx context.Context, id string) (*orchestrator.Agent, error) {
	g, err := a.store.Agent(ctx, id)
	if err != nil {
		return nil, noAgent(ctx, a.store, id, err)
	}
	if no := g.Refusal(); no != nil {
		return nil, no
	}
	return g, nil
}

func noTask(id string, err error) error {
	if errors.Is(err, orchestrator.ErrNotFound) {
		return &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no task " + id + " here.", Do: "See: parley task list",
		}
	}
	return err
}

// ownTask folds a run's events into the task they make.
func (a *App) ownTask(ctx context.Context, id string) (*a2a.Task, error) {
	run, err := a.store.Run(ctx, id)
	if err != nil {
		return nil, noTask(id, err)
	}
	t := &a2a.Task{ID: run.ID, ContextID: run.ContextID}
	t.Status.State = run.State
	for batch, err := range a.store.ReadRun(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range batch {
			if !e.Kind.A2A() {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return nil, err
			}
			if m, ok := ev.(*a2a.Message); ok {
				t.Status = a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m, Timestamp: e.At}
				continue
			}
			t.Apply(ev)
		}
	}
	return t, nil
}

func (a *App) getTask(ctx context.Context, ref TaskRef) (json.RawMessage, error) {
	var t *a2a.Task
	var err error
	if ref.Agent == "" {
		t, err = a.ownTask(ctx, ref.ID)
	} else {
		var g *orchestrator.Agent
		if g, err = a.remote(ctx, ref.Agent); err == nil {
			t, err = a.caller.Get(asLocal(ctx), g, &a2a.GetRequest{ID: ref.ID, HistoryLength: ref.History})
		}
	}
	if err != nil {
		return nil, err
	}
	return t.AppendJSON(nil), nil
}

func (a *App) cancelTask(ctx context.Context, ref TaskRef) (json.RawMessage, error) {
	if ref.Agent != "" {
		g, err := a.remote(ctx, ref.Agent)
		if err != nil {
			return nil, err
		}
		t, err := a.caller.Cancel(asLocal(ctx), g, &a2a.CancelRequest{ID: ref.ID})
		if err != nil {
			return nil, err
		}
		return t.AppendJSON(nil), nil
	}
	if err := a.driver.Stop(ctx, ref.ID); err != nil {
		return nil, noTask(ref.ID, err)
	}
	a.settle(ctx, ref.ID, 2*time.Second)
	return a.getTask(ctx, ref)
}

// settle waits a moment for a run to end, so that what is printed after a stop says so where the agent was quick.
func (a *App) settle(ctx context.Context, run string, d time.Duration) {
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	for batch, err := range a.store.FollowRun(ctx, run, 0) {
		if err != nil {
			return
		}
		for _, e := range batch {
			if !e.Kind.A2A() {
				continue
			}
			if ev, err := e.Event(); err == nil && a2a.EventState(ev).Terminal() {
				return
			}
		}
	}
}

func (a *App) followTask(ctx context.Context, ref TaskRef, out func(any) error) error {
	if ref.Agent == "" {
		if _, err := a.ownTask(ctx, ref.ID); err != nil {
			return err
		}
		return a.followRun(ctx, ref.ID, out)
	}
	g, err := a.remote(ctx, ref.Agent)
	if err != nil {
		return err
	}
	var state a2a.TaskState
	for ev, err := range a.caller.Await(asLocal(ctx), g, ref.ID) {
		var gap *orchestrator.Gap
		if errors.As(err, &gap) {
			continue
		}
		if err != nil {
			return err
		}
		if s := a2a.EventState(ev); s != a2a.TaskStateUnspecified {
			state = s
		}
		if err := out(Line{Kind: "event", Event: a2a.MarshalEvent(ev)}); err != nil {
			return err
		}
	}
	return out(Line{Kind: "end", State: string(state)})
}
