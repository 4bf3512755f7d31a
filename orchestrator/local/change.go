package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

// change gathers what one decision writes: events in order, and the rows as they stand after them. Each event is folded
// into the run as it is added. r.mu is held from the first event until the change is written or queued.
type change struct {
	r     *run
	batch orchestrator.Batch
	at    time.Time

	over    *change                    // the end of a call, stored before it and with it
	begun   []*change                  // the beginnings of calls, stored with it
	step    string                     // the step whose row changed
	chat    *orchestrator.Conversation // the run's conversation, when the change begins it
	talk    *chat                      // the run's conversation, while it is the change's turn
	whole   *a2a.Task                  // the run's first event, when it is its last too
	within  bool                       // it is stored with that of another run, which has the conversation's turn
	sealed  bool                       // the batch is complete
	left    bool                       // the batch has what the ended run leaves in the transcript
	echoes  bool                       // what the plan says at its end is what a call of it left in the transcript
	decided bool                       // the step and the conversation stand differently
}

func (r *run) change() *change { return &change{r: r, at: r.d.now()} }

// log adds an internal event.
func (c *change) log(b engine.Body) {
	c.append(b.Kind(), engine.Marshal(b), nil)
	c.r.apply(b)
	c.decided = true
	switch b := b.(type) {
	case *engine.Sending:
		c.step = b.Step
	case *engine.Sent:
		c.step = b.Step
	case *engine.Asked:
		c.step = b.Step
	case *engine.Faulted:
		c.step = b.Step
	}
}

func (c *change) append(kind orchestrator.EventKind, data []byte, e a2a.Event) {
	c.batch.Events = append(c.batch.Events, orchestrator.NewEvent{
		RunID: c.r.row.ID, ConversationID: c.r.row.ConversationID, Kind: kind, At: c.at, JSON: data, Event: e,
	})
}

// tell adds an A2A event under our ids, after what has to be logged before it. The first is the run's task, or the one
// message that was the answer.
func (c *change) tell(e a2a.Event) {
	r := c.r
	report := engine.ReportOf(e)
	if r.flow == nil {
		for _, b := range r.state.Before(report) {
			c.close(b.(*engine.Answered))
		}
	}
	if !r.task {
		r.task = true
		switch e := e.(type) {
		case *a2a.Message:
		case *a2a.Task:
			if e.Status.State.Terminal() {
				c.whole = e
			}
		default:
			submitted := a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: c.stamp()}
			c.tell(r.address().Task(submitted))
		}
	}
	interrupted := r.row.State.Interrupted()
	switch e := e.(type) {
	case *a2a.Task:
		r.status = c.timed(&e.Status)
	case *a2a.StatusUpdate:
		r.uses(e)
		if e.Status.State == a2a.TaskStateUnspecified {
			e.Status.State = r.status.State
		}
		r.status = c.timed(&e.Status)
	}
	if report.Message {
		r.row.State, r.row.Updated = a2a.TaskStateUnspecified, c.at
	} else if report.Kind() != orchestrator.EventArtifact {
		r.row.State, r.row.Updated = r.status.State, r.status.Timestamp
	}
	data := a2a.MarshalEvent(e)
	c.append(report.Kind(), data, e)
	if len(data) > keptBytes {
		c.whole = nil
	}
	if r.fold != nil {
		foldA2A(r.fold, e)
		if m, ok := e.(*a2a.Message); ok && r.parent != "" {
			r.fold.Status.Message = m
		}
	}
	r.apply(report)
	if r.state.Ended || r.row.State.Interrupted() || interrupted {
		c.decided = true
	}
}

// timed fills in a missing time of a status, which our callers are promised.
func (c *change) timed(s *a2a.TaskStatus) a2a.TaskStatus {
	if s.Timestamp.IsZero() {
		s.Timestamp = c.stamp()
	}
	return *s
}

func (c *change) stamp() time.Time { return c.at.UTC().Truncate(time.Millisecond) }

// say adds a status of our own.
func (c *change) say(state a2a.TaskState, parts ...a2a.Part) { c.sayWith(nil, state, parts...) }

// sayWith is say, with metadata of the message.
func (c *change) sayWith(m a2a.Metadata, state a2a.TaskState, parts ...a2a.Part) {
	s := a2a.TaskStatus{State: state, Timestamp: c.stamp()}
	if len(parts) > 0 {
		s.Message = &a2a.Message{
			ID: newID(), TaskID: c.r.row.ID, ContextID: c.r.row.ContextID, Role: a2a.RoleAgent, Parts: parts, Metadata: m,
		}
	}
	c.tell(&a2a.StatusUpdate{TaskID: c.r.row.ID, ContextID: c.r.row.ContextID, Status: s})
}

// settle carries out what follows without waiting for anybody: asks are opened, the run is ended.
func (c *change) settle(ctx context.Context) {
	for again := true; again; {
		again = false
		for _, cmd := range c.r.state.Next() {
			switch cmd := cmd.(type) {
			case *engine.Open:
				c.open(ctx, cmd)
				again = true
			case *engine.Finish:
				c.finish(cmd)
				again = true
			}
		}
	}
}

// finish ends the run for a reason of our own.
func (c *change) finish(cmd *engine.Finish) {
	if cmd.Fault == nil {
		c.say(cmd.State)
		return
	}
	var m a2a.Metadata
	if cmd.State == a2a.TaskStateFailed {
		m = steps.Final(cmd.Fault)
	}
	c.sayWith(m, cmd.State, a2a.TextPart(cmd.Fault.What))
}

// seal completes the batch with the rows as they stand now.
func (c *change) seal(ctx context.Context) (*orchestrator.Batch, error) {
	r := c.r
	c.sealed = true
	if k := c.over; k != nil {
		own := c.batch
		c.batch = orchestrator.Batch{Receipt: own.Receipt}
		if err := c.include(ctx, k); err != nil {
			return nil, err
		}
		c.add(&own)
	}
	if c.decided {
		c.children()
	}
	if rest := r.rests(); rest != r.rest {
		r.rest = rest
		r.row.Engine = r.stored()
	}
	row := r.row
	c.batch.Runs, c.batch.Claims = append(c.batch.Runs, &row), r.claims()
	if r.conversation() && c.decided && !c.within {
		if err := c.converse(ctx); err != nil {
			return nil, err
		}
	}
	for _, k := range c.begun {
		if err := c.include(ctx, k); err != nil {
			return nil, err
		}
	}
	r.count()
	if r.state.Ended {
		c.end()
	}
	return &c.batch, nil
}

// end tells whoever waits for the run's end.
func (c *change) end() {
	r := c.r
	r.over.Store(true)
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}

// children puts the step's row, and what the conversation has with its agent.
func (c *change) children() {
	r := c.r
	st := r.state.Step(c.step)
	if st == nil && r.state.Ended && len(r.state.Steps) > 0 {
		st = &r.state.Steps[0]
	}
	if st == nil {
		return
	}
	row := &orchestrator.Step{
		ID: st.ID, RunID: r.row.ID, AgentID: st.Agent, Attempt: st.Attempt, State: st.State,
		ChildTask: st.Task, ChildContext: st.Context, Updated: c.at,
	}
	if r.intent != nil {
		row.MessageID = r.intent.MessageID
	}
	// The plan of a gateway run is known without; a call of a plan has one only for the name that its agent gave the task.
	if r.row.Scope == orchestrator.OwnAgent || r.parent != "" && st.Task != "" {
		c.batch.Steps = append(c.batch.Steps, row)
	}
	if st.Context == "" {
		return
	}
	child := &orchestrator.ChildContext{Key: r.childKey(), AgentID: st.Agent, ContextID: st.Context}
	if r.intent != nil && len(r.intent.References) > 0 {
		child.LastTask = r.intent.References[0]
	}
	switch {
	case r.state.Ended && st.Task != "":
		child.LastTask = st.Task
	case st.State == orchestrator.StepAsking:
		child.TaskID = st.Task
	}
	c.batch.Contexts = append(c.batch.Contexts, child)
}

// childKey is what the agent's context is kept under. The length keeps the caller's own context ids out of the ids of
// principals.
func (r *run) childKey() string {
	if r.key != "" {
		return r.key
	}
	if r.conversation() {
		return r.row.ConversationID
	}
	return contextKey(r.row.Principal, r.row.ContextID)
}

// contextKey is what the agents' contexts of an outside caller are kept under.
func contextKey(principal, contextID string) string {
	return strconv.Itoa(len(principal)) + ":" + principal + "/" + contextID
}

// write commits the change and returns when it is on disk. What follows from it starts then. When something that is still
// on its way turns out not to be stored, the change is not written either: it stands on what the log does not have.
func (c *change) write(ctx context.Context) error {
	r := c.r
	r.flush()
	if r.ctx.Err() != nil {
		return r.broken()
	}
	defer c.leave()
	b, err := c.seal(ctx)
	if err == nil {
		err = r.d.store.Write(context.WithoutCancel(ctx), b)
	}
	if err != nil {
		r.kill(err)
		return err
	}
	c.stored()
	if r.parent != "" {
		r.report()
	}
	return nil
}

// queue commits the change in its turn, behind what the run queued before.
func (c *change) queue(ctx context.Context) error {
	r := c.r
	defer c.leave()
	b, err := c.seal(ctx)
	if err != nil {
		r.kill(err)
		return err
	}
	done := r.done
	if c.talk != nil {
		arrived := c.under()
		done = func(entries []*a2a.Entry, err error) {
			arrived(err)
			r.committed(entries, err)
		}
	}
	if r.parent != "" {
		done = r.reporting(done)
	} else if c.whole != nil && !r.conversation() {
		row := r.row
		done = func(entries []*a2a.Entry, err error) {
			if err == nil {
				r.d.recent.add(&row, c.whole)
			}
			r.committed(entries, err)
		}
	}
	r.enqueue(b, done)
	return nil
}

func (r *run) enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	r.window <- struct{}{}
	r.flying.Add(1)
	r.d.store.Enqueue(b, done)
}

// open opens an ask: what the interrupted task's status asks for, or whether to send again.
func (c *change) open(ctx context.Context, cmd *engine.Open) {
	var a *engine.Asked
	if cmd.Kind == orchestrator.AskResend {
		a = &engine.Asked{
			AskKind: cmd.Kind,
			Prompt:  "The connection broke while your message was on its way. It may have arrived. Send again?",
			Choices: []orchestrator.Choice{
				{ID: engine.ResendAgain, Label: "Send again", Detail: "The agent may then do it twice."},
				{ID: engine.ResendLeave, Label: "Leave it"},
			},
		}
	} else {
		var before *orchestrator.Ask
		if id := c.r.state.SignIn; id != "" && cmd.Kind == orchestrator.AskSignIn {
			before, _ = c.r.d.store.Ask(ctx, id) // without it the ask says what the agent says
		}
		a = steps.AskOf(cmd.Kind, &c.r.status, before)
	}
	a.Ask, a.Step, a.Agent = newID(), cmd.Step, cmd.Agent
	c.ask(a)
	if cmd.Kind == orchestrator.AskResend {
		c.say(a2a.TaskStateInputRequired, askParts(a)...)
	}
}

// ask logs an ask and puts its row.
func (c *change) ask(a *engine.Asked) {
	c.log(a)
	row := &orchestrator.Ask{
		ID: a.Ask, RunID: c.r.row.ID, StepID: a.Step, ConversationID: c.r.row.ConversationID, Principal: c.r.row.Principal,
		AgentID: a.Agent, Kind: a.AskKind, Prompt: a.Prompt, Schema: a.Schema, Choices: a.Choices, Links: a.Links,
		State: orchestrator.AskOpen, Opened: c.at,
	}
	c.r.asks = append(c.r.asks, row)
	c.batch.Asks = append(c.batch.Asks, row)
}

// askParts tells a question of our own to an A2A caller: in words, and as data with the id of the ask.
func askParts(a *engine.Asked) []a2a.Part {
	type ask struct {
		ID      string                `json:"id"`
		Kind    orchestrator.AskKind  `json:"kind"`
		Prompt  string                `json:"prompt"`
		Choices []orchestrator.Choice `json:"choices,omitempty"`
	}
	text := a.Prompt
	for i, ch := range a.Choices {
		text += fmt.Sprintf("\n%d. %s", i+1, ch.Label)
		if ch.ID != ch.Label {
			text += " (" + ch.ID + ")"
		}
		if ch.Detail != "" {
			text += ": " + ch.Detail
		}
	}
	return []a2a.Part{
		a2a.TextPart(text),
		a2a.DataPart(map[string]any{"asks": []ask{{ID: a.Ask, Kind: a.AskKind, Prompt: a.Prompt, Choices: a.Choices}}}),
	}
}

// close closes an ask and puts its row, with its receipt in the transcript.
func (c *change) close(b *engine.Answered) {
	c.log(b)
	i := slices.IndexFunc(c.r.asks, func(a *orchestrator.Ask) bool { return a.ID == b.Ask })
	if i < 0 {
		return
	}
	ask := *c.r.asks[i]
	c.r.asks = slices.Delete(c.r.asks, i, i+1)
	ask.State, ask.Closed = b.State, c.at
	if b.Shown != "" {
		ask.Answer = mustJSON(b.Shown)
	}
	c.batch.Asks = append(c.batch.Asks, &ask)
	if c.r.conversation() {
		c.item(orchestrator.Item{
			Kind: orchestrator.ItemAsk, AgentID: ask.AgentID, Text: ask.Prompt,
			Data: mustJSON(orchestrator.AskData{
				AskID: ask.ID, Kind: ask.Kind, Prompt: ask.Prompt, State: b.State, Answer: b.Shown,
			}),
		})
	}
}

// mustJSON marshals what cannot fail to be JSON.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("local: " + err.Error())
	}
	return b
}

// item adds a finished thing to the transcript.
func (c *change) item(it orchestrator.Item) {
	it.ConversationID, it.RunID, it.At = c.r.row.ConversationID, c.r.row.ID, c.at
	c.batch.Items = append(c.batch.Items, &it)
}
