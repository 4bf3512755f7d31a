package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/http"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// Stream sends a message and yields what comes of it: either one message, or the events of a task until it ends or needs
// an answer; a task that waits for a sign-in is followed on. A new task begins with a *a2a.Task. Where the agent cannot
// stream, the message is sent all the same and the task is looked at again and again.
//
// A *GapError ends nothing; any other error is the last thing yielded.
func (c *Client) Stream(ctx context.Context, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		f := c.follower(yield)
		defer f.hook.end()
		f.task, f.context, f.continued = r.Message.TaskID, r.Message.ContextID, r.Message.TaskID != ""
		if err := c.check(r); err != nil {
			f.fail(err)
			return
		}
		r := c.addressed(r)
		if c.Streams() {
			if err := f.stream(ctx, r); !f.unable(err) {
				return
			}
			c.log.Info("an agent does not stream though its card says so", "agent", c.o.Peer)
		}
		f.send(ctx, r)
	}
}

// Await yields the events of a task until it ends or needs an answer: the task as it stands first, then what changes, by
// subscription where the agent can, else by looking again and again.
func (c *Client) Await(ctx context.Context, task string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		f := c.follower(yield)
		defer f.hook.end()
		f.task = task
		f.follow(ctx)
	}
}

// Subscribe yields the events of a task as the agent streams them from now on, until the stream ends. Nothing is mended.
func (c *Client) Subscribe(ctx context.Context, task string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		f := c.follower(yield)
		f.task, f.continued, f.plain = task, true, true
		err := c.attempt(wire.OpSubscribe, false, func(d wire.Dialect) error {
			q := &request{dialect: d, op: wire.OpSubscribe, params: &a2a.SubscribeRequest{Tenant: c.iface.Tenant, ID: task}}
			x, err := c.transport.begin(ctx, q)
			if err != nil {
				return err
			}
			return f.read(ctx, q, x)
		})
		if err != nil && !f.done {
			f.fail(err)
		}
	}
}

// follower yields the events of one task, from however many exchanges, as if they came from one unbroken stream.
type follower struct {
	c     *Client
	yield func(a2a.Event, error) bool

	task      string // "" until the agent named it
	context   string
	continued bool // the task existed before
	named     bool // it was we who named it
	plain     bool // a single stream: no reconciling

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

// unable reports whether err, from the very beginning of a stream, means that the agent does not stream: then nothing was
// carried out.
func (f *follower) unable(err error) bool {
	if f.done || f.yielded > 0 {
		return false
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented:
		if !told(err) {
			return true // a refused stream need not say why
		}
	}
	return e.Kind == card.KindUnsupported
}

// put is r as it is sent in a dialect, with the names that are then known already.
func (f *follower) put(d wire.Dialect, r *a2a.SendRequest) *a2a.SendRequest {
	if f.named = d == wire.OLD && !f.continued; f.named {
		r = named(r)
	}
	f.task, f.context = r.Message.TaskID, r.Message.ContextID
	return r
}

// stream sends r as a streaming call and follows the task to its end. An error is returned only while nothing was yielded
// and the agent may be asked in another way.
func (f *follower) stream(ctx context.Context, r *a2a.SendRequest) error {
	err := f.c.attempt(wire.OpStream, !f.continued, func(d wire.Dialect) error {
		q := &request{dialect: d, op: wire.OpStream, params: f.put(d, r)}
		x, err := f.c.transport.begin(ctx, q)
		if err != nil {
			return err
		}
		return f.read(ctx, q, x)
	})
	switch {
	case f.done || f.unable(err):
	case ctx.Err() != nil:
		f.fail(context.Cause(ctx))
	case f.message:
		// Complete, however the connection ended.
	case f.yielded == 0 && err == nil:
		f.unanswered(ctx, f.c.unanswered())
	case f.yielded == 0:
		f.unanswered(ctx, err)
	case told(err) && !passing(err):
		// The agent said that something went wrong: how the task stands now decides.
		if f.look(ctx); !f.done {
			f.fail(err)
		}
	default:
		f.broken = err != nil
		f.follow(ctx)
	}
	return err
}

func told(err error) bool {
	_, ok := protocol(err)
	return ok
}

func (c *Client) unanswered() *Error {
	e := c.garbage(wire.OpStream, "the stream ended without an answer")
	e.What = fmt.Sprintf("%s ended the connection without an answer.", c.name())
	e.Do = "Look whether it did what you asked for before you send it again."
	return e
}

// unanswered fails with err, unless the agent knows the task by the name that we gave it: then the message arrived.
func (f *follower) unanswered(ctx context.Context, err error) {
	var e *Error
	if f.named && errors.As(err, &e) && e.MayHaveRun && ctx.Err() == nil {
		if f.look(ctx); f.begun() && !f.done {
			f.follow(ctx)
		}
	}
	if f.yielded == 0 {
		f.fail(err)
	}
}

// send sends r as a single call and follows the task that it starts.
func (f *follower) send(ctx context.Context, r *a2a.SendRequest) {
	q := *r
	q.Configuration.ReturnImmediately = true
	if q.Configuration.Push == nil {
		f.hook = f.c.hook(ctx, f.task)
		q.Configuration.Push = f.hook.config
	}
	v, err := f.sent(ctx, &q)
	if f.hook.config != nil && f.c.unpushed(err) {
		f.hook.end()
		q.Configuration.Push = r.Configuration.Push
		v, err = f.sent(ctx, &q)
	}
	if err != nil {
		f.unanswered(ctx, f.c.unspoken(err))
		return
	}
	e, ok := v.(a2a.Event)
	if !ok {
		f.fail(f.c.garbage(wire.OpSend, "the answer to a message is neither a task nor a message"))
		return
	}
	if t, ok := e.(*a2a.Task); ok && f.continued && t.ID != f.task {
		f.fail(f.c.stranger(t.ID, f.task))
		return
	}
	f.c.noStream.Store(true)
	if f.take(ctx, e); !f.done && !f.message {
		f.follow(ctx)
	}
}

func (f *follower) sent(ctx context.Context, r *a2a.SendRequest) (v any, err error) {
	err = f.c.attempt(wire.OpSend, !f.continued, func(d wire.Dialect) error {
		x, err := f.c.transport.begin(ctx, &request{dialect: d, op: wire.OpSend, params: f.put(d, r)})
		if err != nil {
			return err
		}
		v, err = x.result()
		return err
	})
	return v, err
}

// read yields the events of one exchange until it ends: f.done says whether that was the end of everything.
func (f *follower) read(ctx context.Context, q *request, x answer) (err error) {
	settled := false
	w := f.watch(ctx, x)
	w.knows(f.task)
	defer func() {
		w.stop()
		x.end(f.task, err)
	}()
	for fr, err := range x.events() {
		if err != nil {
			if f.message {
				return nil
			}
			return err
		}
		w.beat()
		_, whole := fr.event.(*a2a.Task)
		if fr.id != "" && f.ids.repeated(fr.id, maphash.Bytes(f.seen.seed, fr.data), whole) {
			f.dirty = true
			f.c.log.Info("an agent repeated an event", "agent", f.c.o.Peer, "task", f.task, "id", fr.id)
			continue
		}
		if fr.bad != nil {
			f.c.log.Warn("a frame of a stream could not be read", "agent", f.c.o.Peer, "task", f.task, "err", fr.bad)
			if !f.dirty && f.yielded > 0 {
				f.gap("the agent sent something that could not be read")
			}
			if f.dirty = true; f.done {
				return nil
			}
			continue
		}
		if !settled {
			settled = true
			f.c.settle(q.dialect, q.op)
		}
		if f.take(ctx, fr.event); f.done || fr.final && f.begun() {
			return nil // some servers leave the stream open behind its end
		}
		w.knows(f.task)
		if f.message {
			w.soon() // a server that does not close after its message is not waited for long
		}
	}
	if f.yielded == 0 && f.dirty && !f.plain {
		return f.c.garbage(q.op, "no frame of the stream could be read")
	}
	return nil
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
	if t.ContextID == "" {
		t.ContextID = f.context
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
