package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

// proceed writes a change, if it holds anything, and starts what follows from it. r.mu is held.
func (r *run) proceed(ctx context.Context, c *change) error {
	if r.flow != nil {
		return r.advance(ctx, c)
	}
	c.settle(ctx)
	if len(c.batch.Events) > 0 {
		if err := c.write(ctx); err != nil {
			return err
		}
	}
	r.kick()
	return nil
}

// kick starts what the reducer wants done and nobody does yet. r.mu is held.
func (r *run) kick() {
	if r.d.host != nil && !r.carried {
		r.d.wake(r.row.ID)
		return
	}
	for _, cmd := range r.state.Next() {
		if stop, ok := cmd.(*engine.Stop); ok && stop.ID() != r.stopSent {
			through := make(chan struct{})
			r.stopSent, r.stopped, r.stopErr = stop.ID(), through, nil
			if !r.background(func() { r.cancelChild(stop, through) }) {
				close(through)
			}
		}
	}
	if !r.working && r.next() != nil {
		through := make(chan struct{})
		r.through = through
		r.working = r.background(func() {
			defer close(through)
			r.work()
		})
	}
}

// background runs f with the run held. A panic costs this run, not the program.
func (r *run) background(f func()) bool {
	r.d.hold(r)
	ok := r.d.start(func() {
		defer r.d.release(r)
		defer func() {
			if v := recover(); v != nil {
				r.d.panicked(r, v)
			}
		}()
		f()
	})
	if !ok {
		r.d.release(r)
	}
	return ok
}

// next returns the command that the worker has to carry out, or nil.
func (r *run) next() engine.Command {
	for _, cmd := range r.state.Next() {
		switch cmd.(type) {
		case *engine.Plan, *engine.Send, *engine.Await:
			return cmd
		}
	}
	return nil
}

// work carries out one command after the other until there is none: the one goroutine of the run.
func (r *run) work() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queued {
		r.ask()
		defer r.hasAnswered() // also when it panics
	}
	for {
		cmd := r.next()
		if cmd == nil || r.ctx.Err() != nil {
			break
		}
		ctx, cancel := context.WithCancel(r.calling())
		r.interrupt = cancel
		var err error
		switch cmd := cmd.(type) {
		case *engine.Plan:
			err = r.plan(ctx, cmd)
		case *engine.Send:
			err = r.send(ctx, cmd)
		case *engine.Await:
			err = r.await(ctx, cmd)
		}
		cancel()
		r.hasAnswered()
		if err != nil {
			r.kill(err)
			break
		}
	}
	r.working, r.interrupt = false, nil
	r.flush()
	if cause := context.Cause(r.ctx); cause != nil && cause != errForgotten && r.d.ctx.Err() == nil && r.d.host == nil {
		r.d.evict(r)
		r.d.revive(r.row.ID, cause)
	}
}

// calling is the context in which agents are called: it says on whose behalf. r.mu is held.
func (r *run) calling() context.Context {
	return orchestrator.WithOrigin(r.ctx, orchestrator.Origin{
		Principal: r.row.Principal, RunID: r.row.ID, ConversationID: r.row.ConversationID, Trace: r.traced(),
	})
}

// traced is the trace that the run belongs to. One behind the gateway has that of its caller or none.
func (r *run) traced() orchestrator.Trace {
	if r.trace == "" && (r.conversation() || r.flow != nil) {
		r.trace = orchestrator.TraceOfRun(r.row.ID)
	}
	return r.trace
}

// Each of the following is called with r.mu held and gives it up while it waits. The error it returns means that the run
// in memory is of no use any more; everything else is an event of the run.

// unlocked runs f without r.mu.
func (r *run) unlocked(f func()) {
	r.mu.Unlock()
	defer r.mu.Lock()
	f()
}

func (r *run) locked(f func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f()
}

// plan carries out engine.Plan.
func (r *run) plan(ctx context.Context, cmd *engine.Plan) error {
	c := r.change()
	p, err := r.d.ports.Plan(ctx, cmd, a2a.Text(r.asked.Parts))
	var f *orchestrator.Fault
	switch {
	case errors.As(err, &f):
		c.log(&engine.Faulted{Class: engine.Refused, Fault: f})
	case err != nil:
		return err
	case p.Agent != "":
		c.log(&engine.Planned{Agents: []string{p.Agent}, Why: p.Why})
		if err := c.send(ctx); err != nil {
			return err
		}
	default:
		a := &engine.Asked{Ask: newID(), AskKind: orchestrator.AskChoice, Prompt: p.Prompt, Choices: p.Choices}
		c.ask(a)
		c.say(a2a.TaskStateInputRequired, askParts(a)...)
	}
	return r.proceed(ctx, c)
}

// send logs the intent of a Send that follows from the change, so that both are one commit. The worker delivers it then.
func (c *change) send(ctx context.Context) error {
	cmd, ok := c.r.next().(*engine.Send)
	if !ok || cmd.Known {
		return nil
	}
	return c.intend(ctx, cmd, c.r.asked)
}

// intend logs the intent to deliver m.
func (c *change) intend(ctx context.Context, cmd *engine.Send, m *a2a.Message) error {
	r := c.r
	s := &engine.Sending{
		Step: cmd.Step, Agent: cmd.Agent, Turn: cmd.Turn, Attempt: cmd.Attempt, Repeat: cmd.Repeat,
		MessageID: engine.MessageID(r.row.ID, cmd.Step, cmd.Turn, cmd.Attempt),
		ContextID: cmd.Context, TaskID: cmd.Task, At: c.at.UnixMilli(), Hops: r.hops, Config: r.config,
		Message: m.AppendJSON(make([]byte, 0, 512)),
	}
	s.Digest = engine.Digest(partsOf(m))
	if cmd.Turn == 1 && !r.fresh {
		child, err := r.known, error(nil)
		if child == nil {
			child, err = r.d.store.Context(ctx, r.childKey(), cmd.Agent)
		}
		switch {
		case errors.Is(err, orchestrator.ErrNotFound):
		case err != nil:
			return err
		default:
			s.ContextID = child.ContextID
			if child.LastTask != "" {
				s.References = []string{child.LastTask}
			}
		}
	}
	if len(m.ReferenceTaskIDs) > 0 {
		more, err := r.references(ctx, cmd.Agent, m.ReferenceTaskIDs)
		if err != nil {
			return err
		}
		for _, id := range more {
			if !slices.Contains(s.References, id) {
				s.References = append(s.References, id)
			}
		}
	}
	c.log(s)
	s.Message = nil // m is the same
	r.intent, r.message = s, m
	r.sent = cmd.ID()
	if r.carried {
		c.taken(cmd)
	}
	if r.fold != nil && cmd.Turn > 1 && cmd.Attempt == 1 && cmd.Repeat == 0 {
		foldReply(r.fold, *m)
	}
	return nil
}

// partsOf returns the content of a message for comparing.
func partsOf(m *a2a.Message) []byte {
	var b []byte
	for i := range m.Parts {
		b = m.Parts[i].AppendJSON(b)
	}
	return b
}

// send carries out engine.Send: the intent first, unless it is in the log, then the message, then what comes of it.
func (r *run) send(ctx context.Context, cmd *engine.Send) error {
	var agent *orchestrator.Agent
	var err error
	late := false
	r.unlocked(func() {
		agent, err = r.d.ports.Agent(ctx, cmd.Agent)
		if d := steps.Retry(cmd); err == nil && !cmd.Known && d > 0 {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		}
		late = ctx.Err() != nil
	})
	if late || r.moved(cmd) {
		return nil
	}
	if err != nil {
		return r.failed(ctx, cmd, err)
	}
	if !cmd.Known {
		c := r.change()
		if err := c.intend(ctx, cmd, r.message); err != nil {
			return err
		}
		if err := c.write(ctx); err != nil {
			return err
		}
	} else if r.d.host != nil && r.sent != cmd.ID() && r.taken != cmd.ID() {
		if deliver, err := r.takeUp(ctx, cmd); !deliver || err != nil {
			return err
		}
	} else if r.sent != cmd.ID() {
		return r.locate(ctx, cmd, agent, lostOnRestart)
	}
	answered, err := r.read(ctx, cmd, r.d.ports.Send(ctx, agent, steps.Request(r.intent, r.message, r.hops)))
	switch {
	case ctx.Err() != nil || r.moved(cmd):
		return nil // if the task is still going on, Await follows
	case err == nil && !answered:
		return r.locate(ctx, cmd, agent, noAnswer)
	}
	if class, f := steps.Classify(err); class == engine.Lost {
		return r.locate(ctx, cmd, agent, f)
	}
	return r.failed(ctx, cmd, err)
}

var (
	lostOnRestart = &orchestrator.Fault{
		Kind: "interrupted", Where: orchestrator.WhereUs, Retry: true,
		What: "Parley was stopped while the message was on its way. It may have arrived.", Do: "Send it again if it did not.",
	}
	noTask = &orchestrator.Fault{
		Kind: "garbage", Where: orchestrator.WhereAgent,
		What: "The agent answered about a task and did not say which.", Do: "Tell whoever runs the agent.",
	}
	noAnswer = &orchestrator.Fault{
		Kind: "no-answer", Where: orchestrator.WhereAgent, Retry: true,
		What: "The agent took the message and closed the connection without an answer.", Do: "Try again.",
	}
)

// moved reports whether a command is no longer what the run waits for.
func (r *run) moved(cmd engine.Command) bool {
	now := r.next()
	return now == nil || now.ID() != cmd.ID()
}

// failed logs what a failed call means.
func (r *run) failed(ctx context.Context, cmd *engine.Send, err error) error {
	class, f := steps.Classify(err)
	if class == engine.Refused && cmd.Task != "" && f.Where != orchestrator.WhereSignIn {
		class = engine.Ignored // it did not take the reply: what its task waits for is to be seen
	}
	c := r.change()
	c.log(&engine.Faulted{Step: cmd.Step, Class: class, Fault: f})
	return r.proceed(ctx, c)
}

// locate finds out what became of a message whose answer was not seen.
func (r *run) locate(ctx context.Context, cmd *engine.Send, agent *orchestrator.Agent, why *orchestrator.Fault) error {
	var found steps.Located
	var err error
	r.unlocked(func() { found, err = r.d.ports.Locate(ctx, agent, r.intent) })
	switch {
	case err != nil || r.moved(cmd):
		return nil
	case found.Task != nil:
		r.take(ctx, cmd, found.Task)
		return nil
	}
	c := r.change()
	c.log(&engine.Faulted{Step: cmd.Step, Class: found.Class, Fault: why})
	return r.proceed(ctx, c)
}

// await carries out engine.Await.
func (r *run) await(ctx context.Context, cmd *engine.Await) error {
	var agent *orchestrator.Agent
	var err error
	r.unlocked(func() { agent, err = r.d.ports.Agent(ctx, cmd.Agent) })
	if err == nil {
		_, err = r.read(ctx, nil, r.d.ports.Await(ctx, agent, cmd))
	}
	switch {
	case ctx.Err() != nil || r.moved(cmd):
		return nil
	case err == nil:
		return fmt.Errorf("run %s: reading ended and nothing came of it", r.row.ID)
	}
	f := steps.FaultOf(err)
	c := r.change()
	c.log(&engine.Faulted{Step: cmd.Step, Class: engine.Refused, Fault: f})
	return r.proceed(ctx, c)
}

// read takes in what an agent says, as it says it. sent is the message it answers, nil when it is only read on.
func (r *run) read(ctx context.Context, sent *engine.Send, seq iter.Seq2[a2a.Event, error]) (answered bool, err error) {
	r.mu.Unlock()
	defer r.mu.Lock()
	for e, failure := range seq {
		if gap := (*orchestrator.Gap)(nil); errors.As(failure, &gap) {
			r.locked(func() bool { r.missed(ctx, gap); return true })
			continue
		}
		if failure != nil {
			return answered, failure
		}
		if !r.locked(func() bool { return ctx.Err() == nil && r.take(ctx, sent, e) }) {
			return true, nil
		}
		answered, sent = true, nil
	}
	return answered, nil
}

// take appends one event of the agent and what follows from it, and reports whether more is wanted. sent is the message
// that e is the first answer to.
func (r *run) take(ctx context.Context, sent *engine.Send, e a2a.Event) bool {
	if r.hasAnswered(); r.state.Ended || r.ctx.Err() != nil {
		return false
	}
	arrived := &engine.Sent{}
	if sent != nil {
		arrived.Step = sent.Step
		arrived.Task, arrived.Context = idsOf(e)
	}
	if st := r.state.Active(); sent != nil && arrived.Task == "" && st != nil && st.Task == "" {
		if _, ok := e.(*a2a.Message); !ok {
			c := r.change()
			c.log(&engine.Faulted{Step: sent.Step, Class: engine.Refused, Fault: noTask})
			_ = r.proceed(ctx, c) // a failure ends r.ctx
			return false
		}
	}
	defer r.pass()
	r.address().Event(e)
	if _, ok := e.(*a2a.ArtifactUpdate); ok && sent == nil && r.task {
		r.append(e)
		return true
	}
	c := r.change()
	if sent != nil {
		c.log(arrived)
	}
	switch e := e.(type) {
	case *a2a.Task:
		if !r.task {
			c.tell(e)
			break
		}
		have, err := r.folded(ctx)
		if err != nil {
			r.kill(err)
			return false
		}
		for _, missing := range steps.Missing(have, e) {
			c.tell(missing)
		}
		if st := r.state.Active(); st != nil && st.State == orchestrator.StepAwaiting && (e.Status.State.Interrupted() || e.Status.State.Terminal()) {
			c.tell(&a2a.StatusUpdate{TaskID: r.row.ID, ContextID: r.row.ContextID, Status: e.Status})
		}
	case *a2a.Message:
		if e.ID == "" {
			e.ID = newID()
		}
		if !r.task {
			c.tell(e)
			break
		}
		e.TaskID = r.row.ID
		done := a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: e}
		c.tell(&a2a.StatusUpdate{TaskID: r.row.ID, ContextID: r.row.ContextID, Status: done})
	default:
		c.tell(e)
	}
	c.settle(ctx)
	if r.state.Ended && r.parent != "" && c.joined() {
		return false
	}
	if len(c.batch.Events) > 0 && c.queue(ctx) != nil {
		return false
	}
	r.kick()
	return !r.state.Ended
}

// append is take for the event there are thousands of: it decides nothing.
func (r *run) append(e a2a.Event) {
	r.state.Apply(engine.ReportOf(e))
	if r.fold != nil {
		foldA2A(r.fold, e)
	}
	r.enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{{
		RunID: r.row.ID, ConversationID: r.row.ConversationID, Kind: orchestrator.EventArtifact,
		At: r.d.now(), JSON: a2a.MarshalEvent(e), Event: e,
	}}, Claims: r.claims()}, r.done)
}

// missed logs that events may be missing.
func (r *run) missed(ctx context.Context, g *orchestrator.Gap) {
	if r.state.Ended || ctx.Err() != nil {
		return
	}
	c := r.change()
	c.log(&engine.Gap{Reason: g.Reason})
	if r.conversation() {
		c.item(orchestrator.Item{Kind: orchestrator.ItemGap, Text: g.Reason})
	}
	_ = c.queue(ctx) // a failure ends r.ctx
}

// idsOf returns the agent's own task and context ids.
func idsOf(e a2a.Event) (task, context string) {
	switch e := e.(type) {
	case *a2a.Task:
		return e.ID, e.ContextID
	case *a2a.StatusUpdate:
		return e.TaskID, e.ContextID
	case *a2a.ArtifactUpdate:
		return e.TaskID, e.ContextID
	case *a2a.Message:
		return "", e.ContextID
	}
	return "", ""
}
