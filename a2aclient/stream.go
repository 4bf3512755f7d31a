package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/http"

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
		if c.Streams() {
			if err := f.stream(ctx, r); !f.unable(err) {
				return
			}
			f.refused = c.use.Load()
			f.dialect = f.refused.speech.Load().dialect
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
		err := c.attempt(wire.OpSubscribe, false, func(w *way, d wire.Dialect) error {
			q := &request{dialect: d, op: wire.OpSubscribe, params: &a2a.SubscribeRequest{ID: task}}
			x, err := w.begin(ctx, q)
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
	err := f.c.attempt(wire.OpStream, !f.continued, func(w *way, d wire.Dialect) error {
		q := &request{dialect: d, op: wire.OpStream, params: f.put(d, r)}
		x, err := w.begin(ctx, q)
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
	if w := f.c.use.Load(); w == f.refused && f.dialect == w.speech.Load().dialect {
		w.noStream.Store(true)
	}
	if f.take(ctx, e); !f.done && !f.message {
		f.follow(ctx)
	}
}

func (f *follower) sent(ctx context.Context, r *a2a.SendRequest) (v any, err error) {
	err = f.c.attempt(wire.OpSend, !f.continued, func(w *way, d wire.Dialect) error {
		x, err := w.begin(ctx, &request{dialect: d, op: wire.OpSend, params: f.put(d, r)})
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
			f.c.settle(q.way, q.dialect, q.op)
			f.c.take(q.way)
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
