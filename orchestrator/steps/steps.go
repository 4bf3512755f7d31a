// Package steps does in the world what a command of the engine asks for: it sends a message to an agent, reads what the
// agent's task does, finds out what became of a message, cancels, plans. The functions are plain: they take what they
// need, keep nothing, and answer with events or with a fault and what it means. Every driver uses the same ones.
//
// Nothing here writes to the log. What an agent says is handed on event by event, in order; whoever reads it appends.
package steps

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
)

// Ports is what the steps act through.
type Ports struct {
	Agents orchestrator.Agents
	Caller orchestrator.Caller
	Cards  planner.Cards // finds the agent of a run that names none
	Log    *slog.Logger

	FirstReply   time.Duration // how long an agent may take to say anything at all to a message
	Turn         time.Duration // how long one turn of a task may take
	CancelWait   time.Duration // how long an agent may take to answer a cancel
	PollMin      time.Duration // between looks at a task that cannot be followed, at first
	PollMax      time.Duration // and at last
	PollFailures int           // looks in a row that may fail
}

// Agent returns an agent that may be called, or a *orchestrator.Fault.
func (p *Ports) Agent(ctx context.Context, id string) (*orchestrator.Agent, error) {
	a, err := p.Agents.Agent(ctx, id)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound):
		return nil, NoAgent(id)
	case err != nil:
		return nil, unread(err)
	}
	if no := a.Refusal(); no != nil {
		return nil, no
	}
	return a, nil
}

// NoAgent says that there is no agent of that id.
func NoAgent(id string) *orchestrator.Fault {
	return &orchestrator.Fault{
		Kind: "agent-unknown", Where: orchestrator.WhereUs,
		What: "There is no agent “" + id + "” here.", Do: "Connect it, or choose another agent.",
	}
}

// Plan carries out engine.Plan.
func (p *Ports) Plan(ctx context.Context, c *engine.Plan, text string) (*planner.Plan, error) {
	if c.Agent != "" {
		return planner.Direct(c.Agent), nil
	}
	return p.Cards.Plan(ctx, p.Agents, text)
}

// Request builds what goes to the agent for an intent. Our own ids stay here; hops is how many agents the message has
// come through, with us.
func Request(s *engine.Sending, m *a2a.Message, hops int) *a2a.SendRequest {
	r := &a2a.SendRequest{Message: *m}
	r.Message.ID = s.MessageID
	r.Message.ContextID, r.Message.TaskID = s.ContextID, s.TaskID
	r.Message.ReferenceTaskIDs = s.References
	r.Message.Metadata = withHops(m.Metadata, hops)
	if c := s.Config; c != nil {
		r.Configuration.AcceptedOutputModes = c.OutputModes
		r.Configuration.ReturnImmediately = c.Immediately
		r.Metadata = c.Metadata
	}
	return r
}

var errSilent = errors.New("no reply in time")

// Send delivers a message and yields what the agent answers to it. An agent that says nothing at all for FirstReply, or
// is not done after Turn, is given up.
func (p *Ports) Send(ctx context.Context, agent *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		begun, answered := time.Now(), false
		patience := time.AfterFunc(min(p.FirstReply, p.Turn), func() { cancel(errSilent) })
		defer patience.Stop()
		for e, err := range p.Caller.Send(ctx, agent, r) {
			if !answered {
				answered = true
				patience.Reset(p.Turn - time.Since(begun))
			}
			if !yield(e, timedOut(ctx, err)) {
				return
			}
		}
		if context.Cause(ctx) == errSilent {
			yield(nil, silent)
		}
	}
}

var silent = &orchestrator.Fault{
	Kind: "timeout", Where: orchestrator.WhereAgent, MayHaveRun: true,
	What: "The agent did not answer in time. It may have received the message.", Do: "Try again later.", Retry: true,
}

// timedOut says that err came of our own deadline, where it did.
func timedOut(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errSilent {
		return silent
	}
	return err
}

// Await yields what a task does until it ends or is interrupted, the task as it stands first. Where the agent's stream
// breaks or cannot be had it looks again, each time a little later; a few failures in a row end it. Watching, it waits
// until the task has left the interruption it is in.
func (p *Ports) Await(ctx context.Context, agent *orchestrator.Agent, c *engine.Await) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer time.AfterFunc(p.Turn, func() { cancel(errSilent) }).Stop()
		if c.Watching {
			t, err := p.watch(ctx, agent, c.Task)
			if err != nil {
				yield(nil, timedOut(ctx, err))
				return
			}
			if !yield(t, nil) || settled(t) {
				return
			}
		}
		p.follow(ctx, agent, c.Task, yield)
	}
}

// follow is Await without the watching.
func (p *Ports) follow(ctx context.Context, agent *orchestrator.Agent, task string, yield func(a2a.Event, error) bool) {
	failures, pause := 0, p.pause()
	for {
		var last error
		done := false
		for e, err := range p.Caller.Await(ctx, agent, task) {
			if gap := (*orchestrator.Gap)(nil); errors.As(err, &gap) {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if err != nil {
				last = err
				break
			}
			failures = 0
			if done = settled(e); !yield(e, nil) {
				return
			}
		}
		if done && last == nil {
			return
		}
		if last != nil {
			if failures++; failures > p.PollFailures || ctx.Err() != nil || final(last) {
				yield(nil, timedOut(ctx, last))
				return
			}
			p.Log.DebugContext(ctx, "agent not reached, looking again", "agent", agent.ID, "err", last)
		} else if failures == 0 && ctx.Err() == nil {
			pause.Reset()
		}
		if !wait(ctx, pause.NextBackOff()) {
			yield(nil, timedOut(ctx, ctx.Err()))
			return
		}
	}
}

// watch looks at an interrupted task until it is in another state.
func (p *Ports) watch(ctx context.Context, agent *orchestrator.Agent, task string) (*a2a.Task, error) {
	failures, pause, none := 0, p.pause(), 0
	for {
		if !wait(ctx, pause.NextBackOff()) {
			return nil, ctx.Err()
		}
		t, err := p.Caller.Get(ctx, agent, &a2a.GetRequest{ID: task, HistoryLength: &none})
		switch {
		case err == nil && t.Status.State != a2a.TaskStateAuthRequired && t.Status.State != a2a.TaskStateUnspecified:
			return t, nil
		case err == nil:
			failures = 0
		default:
			if failures++; failures > p.PollFailures || ctx.Err() != nil || final(err) {
				return nil, err
			}
		}
	}
}

func (p *Ports) pause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = p.PollMin, p.PollMax, 1.7
	return b
}

// Retry returns how long to wait before an attempt group, or before the same message is delivered once more.
func Retry(c *engine.Send) time.Duration {
	n := c.Attempt - 1 + c.Repeat
	if n == 0 {
		return 0
	}
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.RandomizationFactor = 250*time.Millisecond, 0
	d := b.NextBackOff()
	for ; n > 1; n-- {
		d = b.NextBackOff()
	}
	return d
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// settled reports whether nothing more is to be read after e without somebody doing something.
func settled(e a2a.Event) bool {
	if _, ok := e.(*a2a.Message); ok {
		return true
	}
	s := a2a.EventState(e)
	return s.Terminal() || s.Interrupted()
}

// Located is what became of a message of which no answer was seen.
type Located struct {
	Task  *a2a.Task    // set: it arrived, and this is what it became
	Class engine.Class // otherwise: engine.Repeat or engine.Lost
}

// Locate finds out whether a message arrived. It never sends anything.
func (p *Ports) Locate(ctx context.Context, agent *orchestrator.Agent, s *engine.Sending) (Located, error) {
	var t *a2a.Task
	var err error
	if s.TaskID == "" {
		t, err = p.Caller.Find(ctx, agent, s.ContextID, s.MessageID)
	} else if t, err = p.Caller.Get(ctx, agent, &a2a.GetRequest{ID: s.TaskID}); err == nil && !tookReply(t, s.MessageID) {
		t = nil
	}
	if ctx.Err() != nil {
		return Located{}, ctx.Err()
	}
	switch {
	case err == nil && t != nil:
		return Located{Task: t}, nil
	case agent.Idempotent:
		return Located{Class: engine.Repeat}, nil
	}
	return Located{Class: engine.Lost}, nil
}

// tookReply reports whether a task shows that a reply to it arrived.
func tookReply(t *a2a.Task, message string) bool {
	for i := range t.History {
		if t.History[i].ID == message {
			return true
		}
	}
	return !t.Status.State.Interrupted()
}

// Cancel asks an agent to cancel a task. It does not end with ctx: a stop is worth its own time.
func (p *Ports) Cancel(ctx context.Context, agent *orchestrator.Agent, c *engine.Stop) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.CancelWait)
	defer cancel()
	return p.Caller.Cancel(ctx, agent, &a2a.CancelRequest{ID: c.Task})
}

// Get returns a task as its agent shows it now.
func (p *Ports) Get(ctx context.Context, agent *orchestrator.Agent, task string) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.CancelWait)
	defer cancel()
	return p.Caller.Get(ctx, agent, &a2a.GetRequest{ID: task})
}
