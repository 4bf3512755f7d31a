package local

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/steps"
)

// gatewayScope begins the scope of every run that was sent to an agent behind the gateway.
const gatewayScope = "agents/"

// Tasks carries tasks out for A2A callers. A task is visible to the principal that started it and under the agent it was
// started at; for all others it does not exist.
type Tasks struct {
	d     *Driver
	scope string
	agent string // "" = our own
}

// Tasks returns the tasks of our own agent for "", else those of an agent behind the gateway: each of them a run of one
// step under our own id and context, everything the agent says passed on as it is.
func (d *Driver) Tasks(agentID string) *Tasks {
	if agentID == "" || agentID == orchestrator.OwnAgent {
		return &Tasks{d: d, scope: orchestrator.OwnAgent}
	}
	return &Tasks{d: d, scope: gatewayScope + agentID, agent: agentID}
}

// Started says what a message began.
type Started struct {
	TaskID   string // also where the answer is a Message: then the id only serves Events
	After    int64  // Events(…, TaskID, After) begins with the first event that answers this message
	Repeated bool   // this message had been received before
}

// Start accepts a message: the first of a new task, or the next turn of the task it names; where the caller made the
// name, whichever of the two it is. The message and the intent to send it on are stored when it returns.
func (t *Tasks) Start(ctx context.Context, principal string, r *a2a.SendRequest) (Started, error) {
	m := r.Message
	if m.ID == "" {
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.messageId", Message: "message.messageId is required"}
	}
	if len(m.Parts) == 0 {
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: "message.parts is empty"}
	}
	hops := max(steps.Hops(m.Metadata), steps.Hops(r.Metadata))
	if err := steps.Circle(hops); err != nil {
		return Started{}, err
	}
	m.Role = a2a.RoleUser
	fresh, done, err := t.fresh(ctx, r)
	if err != nil {
		return Started{}, err
	}
	defer done()
	if !fresh {
		return t.next(ctx, principal, &m)
	}
	b := &beginning{
		id: m.TaskID, scope: t.scope, principal: principal, contextID: m.ContextID, to: t.agent, message: &m, hops: hops,
	}
	if b.to == "" {
		b.to = named(m.Metadata)
		if b.to != orchestrator.Auto && t.d.mayName != nil && !t.d.mayName(ctx, principal, b.to) {
			return Started{}, wireError(steps.NoAgent(b.to))
		}
	}
	if b.contextID == "" {
		b.contextID, b.fresh = newID(), true
	}
	if b.to == orchestrator.Auto && t.d.planning() {
		b.plan, b.key = decides(), contextKey(principal, b.contextID)
	}
	if c := &r.Configuration; len(c.AcceptedOutputModes) > 0 || c.ReturnImmediately || r.Metadata != nil {
		b.config = &engine.Config{OutputModes: c.AcceptedOutputModes, Immediately: c.ReturnImmediately, Metadata: r.Metadata}
	}
	_, receipt, repeated, err := t.d.begin(ctx, b)
	if err != nil {
		return Started{}, wireError(err)
	}
	return Started{TaskID: receipt.RunID, After: receipt.After, Repeated: repeated}, nil
}

// fresh reports whether a message begins a task. Until done is called nobody else begins one of the name that its caller
// made.
func (t *Tasks) fresh(ctx context.Context, r *a2a.SendRequest) (fresh bool, done func(), err error) {
	id := r.Message.TaskID
	if id == "" || !r.NewTask {
		return id == "", func() {}, nil
	}
	if done, err = t.d.name(ctx, id); err != nil {
		return false, nil, err
	}
	_, err = t.d.store.Run(ctx, id)
	if err != nil && !errors.Is(err, orchestrator.ErrNotFound) {
		done()
		return false, nil, wireError(err)
	}
	return err != nil, done, nil
}

// name keeps others from beginning a run of that id until the function it returns is called.
func (d *Driver) name(ctx context.Context, id string) (done func(), err error) {
	for {
		d.mu.Lock()
		busy := d.naming[id]
		if busy == nil {
			mine := make(chan struct{})
			d.naming[id] = mine
			d.mu.Unlock()
			return func() {
				d.mu.Lock()
				delete(d.naming, id)
				d.mu.Unlock()
				close(mine)
			}, nil
		}
		d.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// named returns the agent that a message to our own agent is for: a member of its metadata may say so.
func named(m a2a.Metadata) string {
	var v struct {
		Agent string `json:"urn:parley:agent"`
	}
	if len(m) == 0 || json.Unmarshal(m, &v) != nil || v.Agent == "" {
		return orchestrator.Auto
	}
	return v.Agent
}

// next accepts the next turn of a task: the answer to what it asks, or a message for the agent that works on it.
func (t *Tasks) next(ctx context.Context, principal string, m *a2a.Message) (Started, error) {
	row, err := t.run(ctx, principal, m.TaskID)
	if err != nil {
		return Started{}, err
	}
	if m.ContextID != "" && m.ContextID != row.ContextID {
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.contextId", Message: "the task belongs to another context"}
	}
	receipt := t.d.receipt(t.scope, principal, m)
	if old, err := t.d.received(ctx, receipt); old != nil || err != nil {
		return repeated(old), err
	}
	a := &reply{message: m, shown: shown(m), receipt: receipt}
	answer := t.d.reply
	if hasPlan(row) {
		answer = t.d.replyPlan
	}
	after, err := t.patiently(ctx, row, a, answer)
	if err != nil { // it may have been taken all the same: by another of the same id, or before the run moved
		if old, e := t.d.received(ctx, receipt); old != nil || e != nil && errors.Is(err, orchestrator.ErrDuplicate) {
			return repeated(old), e
		}
		return Started{}, wireError(err)
	}
	return Started{TaskID: row.ID, After: after}, nil
}

// patiently hands a turn on. One that comes before the task's agent has answered the turn before it waits for that, for as
// long as FollowUpWait: until then there is no task at the agent that it could be sent to.
func (t *Tasks) patiently(ctx context.Context, row *orchestrator.Run, a *reply,
	answer func(context.Context, string, string, *reply) (*orchestrator.Run, int64, error),
) (int64, error) {
	try := func() (int64, error) {
		if on, err := t.d.onItsWay(ctx, row.ID); on || err != nil {
			return 0, cmp.Or(err, unanswered())
		}
		_, after, err := answer(ctx, row.ID, "", a)
		return after, err
	}
	after, err := try()
	if !errors.Is(err, errUnanswered) {
		return after, err
	}
	a.early = true
	t.d.log.Debug("a message waits until the agent has answered the one before it", "run", row.ID)
	waiting, stop := context.WithTimeout(ctx, t.d.followUp)
	defer stop()
	defer context.AfterFunc(t.d.ctx, stop)()
	for _, e := range t.d.store.FollowRun(waiting, row.ID, row.LastSeq) {
		if e != nil {
			if waiting.Err() == nil {
				err = e // who waits is not told that time passed
			}
			break
		}
		if after, err = try(); !errors.Is(err, errUnanswered) {
			return after, err
		}
	}
	switch closed := t.d.closed(); {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case closed != nil:
		return 0, closed
	}
	return 0, err
}

// onItsWay reports whether a message of the run is on its way to its agent from another process, as the log has it: whoever
// claimed the run now would break that off.
func (d *Driver) onItsWay(ctx context.Context, id string) (on bool, err error) {
	if d.host == nil {
		return false, nil
	}
	for events, err := range d.store.ReadRun(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if e.Kind != orchestrator.EventTaken {
				on = e.Kind == orchestrator.EventSending
			}
		}
	}
	return on, nil
}

func repeated(r *orchestrator.Receipt) Started {
	if r == nil {
		return Started{}
	}
	return Started{TaskID: r.RunID, After: r.After, Repeated: true}
}

// pick finds the choice a message makes: in words, or as data {"choice": …}.
func pick(choices []orchestrator.Choice, m *a2a.Message) (orchestrator.Choice, bool) {
	said := a2a.Text(m.Parts)
	for i := range m.Parts {
		var v struct {
			Choice string `json:"choice"`
		}
		if m.Parts[i].Kind == a2a.PartData && json.Unmarshal(m.Parts[i].Data, &v) == nil && v.Choice != "" {
			said = v.Choice
		}
	}
	id, ok := planner.Pick(choices, said)
	for _, c := range choices {
		if ok && c.ID == id {
			return c, true
		}
	}
	return orchestrator.Choice{}, false
}

// run returns a run the caller may see.
func (t *Tasks) run(ctx context.Context, principal, id string) (*orchestrator.Run, error) {
	row, err := t.d.store.Run(ctx, id)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound):
		return nil, a2a.ErrTaskNotFound
	case err != nil:
		return nil, wireError(err)
	case row.Principal != principal || row.Scope != t.scope:
		return nil, a2a.ErrTaskNotFound
	}
	return row, nil
}

// Task returns a task as it stands. Where the answer was a Message there is none.
func (t *Tasks) Task(ctx context.Context, principal string, r *a2a.GetRequest) (*a2a.Task, error) {
	task := t.d.recent.get(r.ID, principal, t.scope)
	if task == nil {
		row, err := t.run(ctx, principal, r.ID)
		if err != nil {
			return nil, err
		}
		if task, err = t.read(ctx, row); err != nil {
			return nil, err
		}
	}
	trim(task, r.HistoryLength)
	return task, nil
}

func (t *Tasks) read(ctx context.Context, row *orchestrator.Run) (*a2a.Task, error) {
	if row.State == a2a.TaskStateUnspecified {
		return nil, a2a.ErrTaskNotFound
	}
	task, err := t.d.readTask(ctx, row)
	if err != nil {
		return nil, wireError(err)
	}
	return task, nil
}

// Snapshot returns the task as it stood at the position seq (0: as it stands), and that position.
func (t *Tasks) Snapshot(ctx context.Context, principal, id string, seq int64) (*a2a.Task, int64, error) {
	row, err := t.run(ctx, principal, id)
	if err != nil {
		return nil, 0, err
	}
	if row.State == a2a.TaskStateUnspecified {
		return nil, 0, a2a.ErrTaskNotFound
	}
	if seq == 0 {
		seq = row.LastSeq
	}
	task, at, err := t.d.readTaskTo(ctx, row, seq)
	if err != nil {
		return nil, 0, wireError(err)
	}
	return task, at, nil
}

// trim keeps the newest n messages of the history.
func trim(t *a2a.Task, n *int) {
	keep := a2a.Limits.History
	if n != nil {
		keep = min(max(*n, 0), keep)
	}
	if len(t.History) > keep {
		t.History = t.History[len(t.History)-keep:]
	}
}

// List returns a page of the principal's tasks, newest status first.
func (t *Tasks) List(ctx context.Context, principal string, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	size := r.PageSize
	if size == 0 {
		size = a2a.DefaultPageSize
	}
	if size < 1 || size > a2a.Limits.PageSize {
		return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageSize", Message: "pageSize must be between 1 and 100"}
	}
	before, err := parsePageToken(r.PageToken)
	if err != nil {
		return nil, err
	}
	rows, total, err := t.d.store.ListRuns(ctx, t.scope, principal, r, before, size+1)
	if err != nil {
		return nil, wireError(err)
	}
	page := &a2a.TaskPage{PageSize: size, TotalSize: total, Tasks: []a2a.Task{}}
	if len(rows) > size {
		rows = rows[:size]
		page.NextPageToken = pageToken(rows[size-1])
	}
	none := 0
	for _, row := range rows {
		task, err := t.read(ctx, row)
		if errors.Is(err, a2a.ErrTaskNotFound) {
			continue // it became a Message since
		}
		if err != nil {
			return nil, err
		}
		if !r.IncludeArtifacts {
			task.Artifacts = nil
		}
		if r.HistoryLength == nil {
			trim(task, &none)
		} else {
			trim(task, r.HistoryLength)
		}
		page.Tasks = append(page.Tasks, *task)
	}
	return page, nil
}

// pageToken names the row that a page ends with.
func pageToken(r *orchestrator.Run) string {
	return base64.RawURLEncoding.EncodeToString(mustJSON([]any{r.Updated.UnixNano(), r.ID}))
}

func parsePageToken(s string) (*orchestrator.Run, error) {
	if s == "" {
		return nil, nil
	}
	bad := &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageToken", Message: "pageToken is not one that was given out"}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, bad
	}
	var at int64
	var id string
	if json.Unmarshal(b, &[]any{&at, &id}) != nil || id == "" {
		return nil, bad
	}
	return &orchestrator.Run{ID: id, Updated: time.Unix(0, at).UTC()}, nil
}

// Cancel asks for the task to stop and returns it as it stands after that.
func (t *Tasks) Cancel(ctx context.Context, principal string, req *a2a.CancelRequest) (*a2a.Task, error) {
	row, err := t.run(ctx, principal, req.ID)
	if err != nil {
		return nil, err
	}
	if t.d.host != nil {
		if err := t.cancel(ctx, row.ID); err != nil {
			return nil, err
		}
		return t.Task(ctx, principal, &a2a.GetRequest{ID: req.ID})
	}
	r, err := t.d.open(ctx, row.ID)
	if err != nil {
		return nil, wireError(err)
	}
	defer t.d.release(r)
	r.mu.Lock()
	if r.state.Ended {
		state := r.row.State
		r.mu.Unlock()
		if state == a2a.TaskStateCanceled {
			return t.Task(ctx, principal, &a2a.GetRequest{ID: req.ID})
		}
		return nil, a2a.ErrTaskNotCancelable
	}
	err = r.stop(ctx)
	through := r.stopped
	if r.flow != nil && err == nil && !r.state.Ended {
		through = r.untilEnd()
	}
	r.mu.Unlock()
	if err != nil {
		return nil, wireError(err)
	}
	if through != nil {
		select {
		case <-through:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	r.flush()
	err = r.stopErr
	r.mu.Unlock()
	if e := (*a2a.Error)(nil); errors.As(err, &e) {
		return nil, &a2a.Error{Kind: a2a.KindTaskNotCancelable, Message: "the agent refused to stop: " + e.Error(), Err: err}
	}
	if err != nil {
		return nil, wireError(err)
	}
	return t.Task(ctx, principal, &a2a.GetRequest{ID: req.ID})
}

// Events yields the committed events of a task with Seq > after, oldest first, and then follows it until it ends.
func (t *Tasks) Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		read := t.d.store.FollowRun
		if !t.d.runs(task, principal, t.scope) {
			row, err := t.run(ctx, principal, task)
			if err != nil {
				yield(nil, err)
				return
			}
			if row.State == a2a.TaskStateUnspecified || row.State.Terminal() {
				read = t.d.store.ReadRun // nothing follows
			}
		}
		for events, err := range read(ctx, task, after) {
			if err != nil {
				if ctx.Err() == nil {
					yield(nil, wireError(err))
				}
				return
			}
			entries, last := entriesOf(events)
			if len(entries) > 0 && !yield(entries, nil) || last {
				return
			}
		}
	}
}

// entriesOf returns what an A2A caller sees of events, and whether the task ends with them.
func entriesOf(events []*orchestrator.Event) (entries []*a2a.Entry, last bool) {
	entries = make([]*a2a.Entry, 0, len(events))
	for _, e := range events {
		if !e.Kind.A2A() {
			continue
		}
		entries = append(entries, e.Entry)
		switch e.Kind {
		case orchestrator.EventMessage:
			last = true
		case orchestrator.EventTask, orchestrator.EventStatus:
			if ev, err := e.Event(); err == nil && a2a.EventState(ev).Terminal() {
				last = true
			}
		}
	}
	return entries, last
}

// wireError makes of an error what an A2A caller may see.
func wireError(err error) error {
	var e *a2a.Error
	var f *orchestrator.Fault
	switch {
	case err == nil, errors.As(err, &e), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &f):
		kind := a2a.KindUnavailable
		if f.Where == orchestrator.WhereUs && !f.Retry {
			kind = a2a.KindInvalidParams
		}
		return &a2a.Error{Kind: kind, Message: f.What, Err: err}
	}
	return &a2a.Error{Kind: a2a.KindInternal, Message: "this could not be done", Err: err}
}
