package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"parley/a2a"
)

// work is one turn to do.
type work struct {
	message  *a2a.Message // nil: resume
	request  *a2a.SendConfiguration
	metadata a2a.Metadata
	receipt  *Receipt
	recorded bool // the message is in the log: it waited behind another turn
}

// run does w and then whatever is queued behind it. l.running is set and the turn is counted; the task has a user for it.
func (l *live) run(w *work) {
	ctx, cancel := context.WithCancelCause(l.agent.base)
	defer cancel(nil)
	l.mu.Lock()
	l.cancelRun = cancel
	l.mu.Unlock()
	for w != nil {
		l.turn(ctx, w)
		w = l.next(ctx)
	}
	l.agent.ended(l.head.Principal)
	l.agent.put(l)
}

// cancel stops the running turn; l.mu is held.
func (l *live) cancel(cause error) {
	if l.cancelRun != nil {
		l.cancelRun(cause)
	}
}

// next returns the turn to do now, nil when there is none.
func (l *live) next(ctx context.Context) *work {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 && ctx.Err() == nil && l.err == nil && !l.head.State.Terminal() {
		w := l.queue[0]
		l.queue = l.queue[1:]
		l.ending = false
		return w
	}
	if errors.Is(context.Cause(ctx), ErrCanceled) && !l.head.State.Terminal() { // canceled between two turns
		l.status(a2a.TaskStateCanceled, nil)
		l.flush()
	}
	for _, w := range l.queue {
		l.unclaim(w)
	}
	l.idles(false)
	l.queue, l.running, l.cancelRun = nil, false, nil
	return nil
}

// turn does one turn.
func (l *live) turn(ctx context.Context, w *work) {
	t, err := l.open(w)
	if err != nil {
		l.mu.Lock()
		l.giveUp(w, err)
		l.mu.Unlock()
		return
	}
	var events iter.Seq2[a2a.Event, error]
	if w.message != nil {
		events = l.agent.exec.Execute(ctx, t)
	} else {
		events = l.agent.exec.(Resumer).Resume(ctx, t)
	}
	d := &drive{live: l, work: w}
	err = d.all(events)
	l.conclude(ctx, d, err)
}

// open makes the Turn and records the message.
func (l *live) open(w *work) (*Turn, error) {
	t := &Turn{
		Principal: l.head.Principal, TaskID: l.id, ContextID: l.head.ContextID,
		Message: w.message, Request: w.request, Metadata: w.metadata,
	}
	l.mu.Lock()
	if !l.created() { // a new task: it comes to be with its first event
		if w.request.ReturnImmediately {
			l.create(w)
			l.flush()
		} else {
			l.timer = time.AfterFunc(emergeTime, func() { l.emerge(w) })
		}
		l.mu.Unlock()
		return t, nil
	}
	for l.uncommitted > 0 && l.err == nil { // what the turn is told is what is stored
		l.mu.Unlock()
		<-l.room
		l.mu.Lock()
	}
	l.mu.Unlock()
	before, seq, err := l.snapshot(context.WithoutCancel(l.agent.base), 0)
	if err != nil {
		return nil, err
	}
	t.Task = before
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil { // the message cannot be recorded, so it is not acted on
		return nil, l.err
	}
	l.before, l.beforeSeq = before, seq
	if w.recorded {
		t.Task = copyTask(before)
		t.Task.History = slices.DeleteFunc(slices.Clone(before.History), func(m a2a.Message) bool { return m.ID == w.message.ID })
	} else if w.message != nil {
		l.add(w.message, w.receipt)
	}
	if w.message != nil && l.head.State != a2a.TaskStateWorking {
		l.status(a2a.TaskStateWorking, nil)
	}
	if l.uncommitted > 0 {
		if w.request.ReturnImmediately {
			l.flush()
		} else {
			l.hold()
		}
	}
	return t, nil
}

// create adds the event with which a new task begins; l.mu is held.
func (l *live) create(w *work) {
	l.add(&a2a.Task{
		ID: l.id, ContextID: l.head.ContextID,
		Status:  a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: now()},
		History: []a2a.Message{*w.message},
	}, w.receipt)
}

// hold lets events wait a moment for more of them; l.mu is held.
func (l *live) hold() {
	l.holding = true
	if l.timer == nil {
		l.timer = time.AfterFunc(holdTime, l.release)
	} else {
		l.timer.Reset(holdTime)
	}
}

// emerge lets a new task come to be though its executor has said nothing yet, and release ends the wait for more events.
func (l *live) emerge(w *work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running && !l.created() && l.err == nil {
		l.create(w)
	}
	l.holding = false
	l.flush()
}

func (l *live) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = false
	l.flush()
}

// drive takes the events of one turn.
type drive struct {
	live *live
	work *work

	answered bool         // the turn was one Message
	last     *a2a.Message // came too late to be the answer: goes into the status
	artifact string       // id of the newest artifact
}

var (
	errPanicked = errors.New("the executor panicked")
	errNoEvent  = errors.New("the executor yielded what is no event of a turn")
)

// all takes events until the turn has ended.
func (d *drive) all(events iter.Seq2[a2a.Event, error]) (err error) {
	open := true
	defer func() {
		if p := recover(); p != nil {
			d.live.agent.logger.Error("executor panicked", "task", d.live.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if open {
				err = errPanicked
			}
		}
	}()
	for e, failed := range events {
		more := false
		if err = failed; err == nil {
			more, err = d.take(e)
		}
		if err != nil || !more {
			open = false
			return err
		}
	}
	open = false
	return nil
}

// take puts one event on its way; more is false when it was the last of the turn.
func (d *drive) take(e a2a.Event) (more bool, err error) {
	l := d.live
	l.mu.Lock()
	defer func() {
		l.ending = !more
		l.mu.Unlock()
	}()
	for l.full() && l.err == nil {
		l.flush()
		l.mu.Unlock()
		<-l.room
		l.mu.Lock()
		l.hold() // it is fast: let it fill the next change
	}
	if l.err != nil || l.head.State.Terminal() {
		return false, nil
	}
	if m, ok := e.(*a2a.Message); ok && m != nil {
		if l.created() {
			d.last = l.speak(m)
			return false, nil
		}
		c := l.speak(m)
		c.TaskID = "" // an answer without a task
		d.answered = l.add(c, d.work.receipt)
		return false, nil
	}
	more = true
	urgent := false
	var ev a2a.Event
	switch e := e.(type) {
	case *a2a.StatusUpdate:
		if e == nil {
			return false, errNoEvent
		}
		c := *e
		c.TaskID, c.ContextID = l.id, l.head.ContextID
		if c.Status.Timestamp = c.Status.Timestamp.UTC().Truncate(time.Millisecond); c.Status.Timestamp.IsZero() {
			c.Status.Timestamp = now()
		}
		if c.Status.State == a2a.TaskStateUnspecified {
			c.Status.State = a2a.TaskStateWorking
		}
		if c.Status.Message != nil {
			c.Status.Message = l.speak(c.Status.Message)
		}
		more = !c.Status.State.Terminal() && c.Status.State != a2a.TaskStateInputRequired
		urgent = !more || c.Status.State.Interrupted()
		ev = &c
	case *a2a.ArtifactUpdate:
		if e == nil {
			return false, errNoEvent
		}
		c := *e
		c.TaskID, c.ContextID = l.id, l.head.ContextID
		if c.Artifact.ID == "" && c.Append {
			c.Artifact.ID = d.artifact
		}
		c.Artifact.ID = cmp.Or(c.Artifact.ID, newID())
		d.artifact = c.Artifact.ID
		if len(c.Artifact.Parts) == 0 {
			if !c.LastChunk {
				return true, nil
			}
			c.Artifact.Parts = []a2a.Part{a2a.TextPart("")}
		}
		c.Artifact.Parts = slices.Clip(c.Artifact.Parts)
		ev = &c
	default:
		return false, errNoEvent
	}
	if !l.created() {
		l.create(d.work)
		l.hold()
	}
	l.add(ev, nil)
	if urgent {
		l.holding = false
	}
	if !l.holding {
		l.flush()
	}
	return more, nil
}

// speak returns a copy of the agent's message with its ids in place.
func (l *live) speak(m *a2a.Message) *a2a.Message {
	c := *m
	c.ID = cmp.Or(c.ID, newID())
	c.Role = a2a.RoleAgent
	c.TaskID, c.ContextID = l.id, l.head.ContextID
	return &c
}

// giveUp fails the task before w's message was recorded: it may be sent again; l.mu is held.
func (l *live) giveUp(w *work, err error) {
	l.unclaim(w)
	l.fail(err)
}

// unclaim lets a message that was not recorded be sent again; l.mu is held.
func (l *live) unclaim(w *work) {
	if w.receipt != nil && !w.recorded {
		l.agent.forget(messageKey{l.head.Principal, w.receipt.MessageID})
	}
}

// conclude ends a turn in the state that its end means.
func (l *live) conclude(ctx context.Context, d *drive, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.holding, l.ending = false, true
	end := func(s a2a.TaskState, m *a2a.Message) {
		if !l.created() {
			l.create(d.work)
		}
		l.status(s, m)
	}
	cause := context.Cause(ctx)
	switch {
	case d.answered || l.err != nil || l.head.State.Terminal():
	case errors.Is(cause, ErrCanceled):
		end(a2a.TaskStateCanceled, d.last)
	case cause != nil: // the agent is closing: the task stays as it is stored
		if !l.created() {
			l.giveUp(d.work, closingError())
		}
	case err != nil:
		l.agent.logger.Warn("turn failed", "task", l.id, "error", err)
		text := "The agent failed while it worked on this."
		if e, ok := errors.AsType[*a2a.Error](err); ok && e.Message != "" {
			text = e.Message
		}
		end(a2a.TaskStateFailed, l.speak(&a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}))
	case d.last != nil:
		end(a2a.TaskStateCompleted, d.last)
	case l.head.State.Interrupted() || len(l.queue) > 0 && l.created():
	default:
		end(a2a.TaskStateCompleted, nil)
	}
	if len(l.queue) > 0 {
		l.idles(false)
	}
	l.flush()
}

// resume hands a task of an earlier process to the executor's Resume.
func (l *live) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return
	}
	a := l.agent
	a.mu.Lock()
	a.running[l.head.Principal]++
	a.turns++
	l.refs++
	a.mu.Unlock()
	l.running, l.ending = true, false
	l.idles(l.head.State.Interrupted())
	go l.run(&work{})
}

// abandon ends a task of an earlier process that nobody can go on with.
func (l *live) abandon(ctx context.Context) error {
	l.mu.Lock()
	seq := l.seq
	l.status(a2a.TaskStateFailed, l.speak(&a2a.Message{Parts: []a2a.Part{a2a.TextPart("the agent was restarted")}}))
	l.flush()
	l.mu.Unlock()
	for _, err := range l.follow(ctx, seq) {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
