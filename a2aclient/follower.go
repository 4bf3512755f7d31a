package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// follower yields the events of one task, from however many exchanges, as if they came from one unbroken stream.
type follower struct {
	c     *Client
	yield func(a2a.Event, error) bool

	task      string // "" until the agent named it
	context   string
	continued bool         // the task existed before
	named     bool         // it was we who named it
	plain     bool         // a single stream: no reconciling
	refused   *way         // on which the agent did not stream
	dialect   wire.Dialect // in which it did not

	seen    progress
	yielded int  // events so far
	message bool // the agent answered with a message
	done    bool // nothing more is to be yielded
	dirty   bool // something may have been missed: the end is reconciled
	broken  bool // a connection broke since we last knew how the task stands
	unknown bool // the agent said that it does not know how the task stands

	ids  ids
	hook hook
}

func (c *Client) follower(yield func(a2a.Event, error) bool) *follower {
	return &follower{c: c, yield: yield, seen: newProgress()}
}

// emit yields an event.
func (f *follower) emit(e a2a.Event) {
	f.yielded++
	if !f.yield(e, nil) {
		f.done = true
	}
}

// fail yields the error that ends everything. Once the agent has answered, whatever fails later, the message arrived.
func (f *follower) fail(err error) {
	if !f.done {
		var e *Error
		if f.yielded > 0 && errors.As(err, &e) && !e.MayHaveRun {
			late := *e
			late.MayHaveRun = true
			err = &late
		}
		f.done = true
		f.yield(nil, err)
	}
}

func (f *follower) gap(reason string) {
	if !f.done && !f.yield(nil, &GapError{Reason: reason}) {
		f.done = true
	}
}

// take yields one event as it came from the agent, if it is one of ours and says something new.
func (f *follower) take(ctx context.Context, e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Task:
		if !f.ours(e.ID, e.ContextID) {
			return
		}
		if e.ContextID == "" {
			e.ContextID = f.context
		}
		if f.begun() {
			f.merge(e)
			return
		}
		f.begin(e, e)
	case *a2a.StatusUpdate:
		if !f.ours(e.TaskID, e.ContextID) {
			return
		}
		if e.ContextID == "" {
			e.ContextID = f.context
		}
		switch {
		case f.begun():
			f.status(ctx, e)
		case f.continued:
			f.begin(first(e), e)
		default:
			f.open(ctx, first(e))
		}
	case *a2a.ArtifactUpdate:
		if !f.ours(e.TaskID, e.ContextID) {
			return
		}
		if e.ContextID == "" {
			e.ContextID = f.context
		}
		if !f.begun() && !f.continued {
			f.open(ctx, first(e))
			return
		}
		f.broken = false
		f.seen.artifact(e)
		f.emit(e)
	case *a2a.Message:
		f.speak(e)
	}
}

// begun reports whether the task's own events have begun.
func (f *follower) begun() bool { return f.yielded > 0 && !f.message }

// ours reports whether an event belongs to the task we follow, and learns its ids from the first one.
func (f *follower) ours(task, context string) bool {
	if f.task == "" || f.named && !f.begun() {
		f.task = task // some take another name than the one they were given
	}
	if !f.begun() && context != "" {
		if f.context != "" && f.context != context {
			f.c.log.Info("an agent answered in another context", "agent", f.c.o.Peer, "asked", f.context, "got", context)
		}
		f.context = context
	}
	if task == f.task && (context == "" || f.context == "" || context == f.context) {
		return true
	}
	f.c.log.Warn("an event of another task was dropped", "agent", f.c.o.Peer,
		"task", f.task, "context", f.context, "got_task", task, "got_context", context)
	return false
}

// open begins with a task that the agent did not show itself: t, made of its first event.
func (f *follower) open(ctx context.Context, t *a2a.Task) {
	if f.dirty && f.look(ctx) == nil {
		return // what could not be read before may have been the task
	}
	f.begin(t, t)
}

// begin yields e, the first event of the task, which then stands as t says.
func (f *follower) begin(t *a2a.Task, e a2a.Event) {
	f.message, f.broken = false, false
	if _, whole := e.(*a2a.Task); whole {
		f.seen.reset(t)
	} else {
		f.seen.status = t.Status
	}
	if f.emit(e); ended(t.Status.State) {
		f.done = true
	}
}

func (f *follower) status(ctx context.Context, e *a2a.StatusUpdate) {
	s := &e.Status
	if f.seen.repeats(s) && (!s.Timestamp.IsZero() || s.Message != nil && s.Message.ID != "") {
		return
	}
	if ended(s.State) && f.dirty && !f.plain {
		f.reconcile(ctx)
		if f.done {
			return
		}
	}
	f.broken = false
	prev := f.seen.status.State
	if f.seen.status = e.Status; s.State == a2a.TaskStateUnspecified {
		f.seen.status.State = prev
	}
	if f.emit(e); ended(s.State) {
		f.done = true
	}
}

// speak yields a message. Beside a task a message has no place in the protocol; what it says is kept as the task's status.
func (f *follower) speak(m *a2a.Message) {
	if f.begun() {
		if m.TaskID != "" && m.TaskID != f.task {
			f.c.log.Warn("a message of another task was dropped", "agent", f.c.o.Peer, "task", f.task, "got_task", m.TaskID)
			return
		}
		e := &a2a.StatusUpdate{TaskID: f.task, ContextID: f.context, Status: f.seen.status}
		e.Status.Message = m
		f.seen.status = e.Status
		f.emit(e)
		return
	}
	f.message = true
	f.emit(m)
}

// merge yields what a snapshot of the task holds beyond what was yielded.
func (f *follower) merge(t *a2a.Task) {
	if f.broken && !f.seen.repeats(&t.Status) {
		f.gap("the connection broke; what the agent said meanwhile about its progress may be missing")
		if f.done {
			return
		}
	}
	f.broken = false
	for _, e := range f.seen.missing(t) {
		if f.emit(e); f.done {
			return
		}
	}
	if ended(f.seen.status.State) {
		f.done = true
	}
}

// reconcile looks at the task before its end is told, since something may have been missed on the way.
func (f *follower) reconcile(ctx context.Context) {
	f.dirty = false
	err := f.look(ctx)
	for range 2 {
		if err == nil || f.done || !passing(err) || wait(ctx, f.c.o.PollMin) != nil {
			break
		}
		err = f.look(ctx)
	}
	if err != nil && !f.done {
		f.gap("the agent could not be asked whether everything arrived")
	}
}

// look asks for the task and yields what is new in it.
func (f *follower) look(ctx context.Context) error {
	q := &a2a.GetRequest{ID: f.task}
	if none := 0; f.begun() {
		q.HistoryLength = &none
	}
	t, err := f.c.Get(ctx, q)
	if err != nil {
		return err
	}
	if t.Status.State == a2a.TaskStateUnspecified {
		return f.lost(ctx)
	}
	f.unknown = false
	if t.ContextID == "" || f.named && f.begun() {
		t.ContextID = f.context // where we made both names, the task's own is enough
	}
	if !f.begun() {
		f.context = t.ContextID
		f.begin(t, t)
		return nil
	}
	if f.context != "" && t.ContextID != "" && t.ContextID != f.context {
		return f.c.stranger(t.ContextID, f.context)
	}
	f.merge(t)
	return nil
}

// lost looks once more, after a while, at a task of which the agent says that it does not know how it stands.
func (f *follower) lost(ctx context.Context) error {
	if f.unknown {
		e := f.c.answered(wire.OpGet, 0, nil, a2a.Errorf(a2a.KindTaskNotFound, "the state of the task is unknown"))
		e.What = fmt.Sprintf("%s does not know what became of this task.", f.c.name())
		e.Do = "Look whether it did what you asked for before you send it again."
		e.MayHaveRun = true
		return e
	}
	f.unknown = true
	if err := wait(ctx, 5*f.c.o.PollMin); err != nil {
		return err
	}
	return f.look(ctx)
}

// wait sleeps, or returns what ended ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
