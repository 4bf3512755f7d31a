package a2aserver

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// A feed is the events of one task on their way to one client. Its entries are those of the log, and shared; one without
// JSON is not in the log: the task as it stood at that position, or a status said once more.

// stream answers SendStreamingMessage. A repeated message with a Last-Event-ID gets exactly the events after that one.
func (a *asked) stream(ctx context.Context) (iter.Seq2[[]*a2a.Entry, error], error) {
	started, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	return a.feed(ctx, func(f *feed) error {
		if last := a.lastEvent; started.Repeated && last > 0 && last >= started.After {
			task, seq, err := f.snapshot(0)
			if err == nil && last <= seq { // a position of ours
				return f.resume(task, seq, last)
			}
		}
		return lost(f.follow(started.After))
	}), nil
}

// subscribe answers SubscribeToTask: the task as it stands and then its events; with a Last-Event-ID, exactly the events
// after that one.
func (a *asked) subscribe(ctx context.Context) (iter.Seq2[[]*a2a.Entry, error], error) {
	if a.old() {
		return a.oldSubscribe(ctx)
	}
	a.task = a.call.Subscribe.ID
	return a.feed(ctx, func(f *feed) error {
		task, seq, err := f.snapshot(0)
		if err != nil {
			return err
		}
		return f.subscribe(task, seq)
	}), nil
}

type feed struct {
	*asked
	ctx    context.Context // done when the client has gone, or the handler drains
	yield  func([]*a2a.Entry, error) bool
	opened bool // the first event, a Task or a Message, is out, or not wanted
	sent   bool // at least one event
}

// feed returns the events that run sends. From now on stop ends them.
func (a *asked) feed(ctx context.Context, run func(*feed) error) iter.Seq2[[]*a2a.Entry, error] {
	ctx, a.stop = context.WithCancel(ctx)
	return func(yield func([]*a2a.Entry, error) bool) {
		defer a.stop()
		if err := a.feeds.add(a); err != nil {
			yield(nil, err)
			return
		}
		defer a.feeds.remove(a)
		if err := run(&feed{asked: a, ctx: ctx, yield: yield}); err != nil {
			yield(nil, err)
		}
	}
}

// send passes entries on, and returns false when the client takes no more.
func (f *feed) send(entries []*a2a.Entry) bool {
	if len(entries) == 0 {
		return true
	}
	f.sent = true
	return f.yield(entries, nil)
}

// subscribe sends what subscribe of asked promises, of a task that stands at seq.
func (f *feed) subscribe(task *a2a.Task, seq int64) error {
	state, last := task.Status.State, f.lastEvent
	if last > 0 && (last < seq || last == seq && !state.Terminal()) {
		return f.resume(task, seq, last)
	}
	if state.Terminal() && f.call.Dialect == wire.NEW {
		return &a2a.Error{
			Kind: a2a.KindUnsupportedOperation, Message: "the task has ended; read it with GetTask",
			Metadata: map[string]string{"taskId": f.task},
		}
	}
	f.opened = true
	trimHistory(task, nil)
	entries := []*a2a.Entry{unlogged(seq, task)}
	over := f.endsAt(state)
	if over && (f.call.Dialect == wire.MID || f.call.Dialect == wire.PROTO) { // which expect a last status update
		entries = append(entries, unlogged(seq, &a2a.StatusUpdate{TaskID: task.ID, ContextID: task.ContextID, Status: task.Status}))
	}
	if !f.send(entries) || over {
		return nil
	}
	return f.follow(seq)
}

// unlogged is an entry that is not in the log.
func unlogged(seq int64, e a2a.Event) *a2a.Entry { return a2a.NewEntry(seq, time.Time{}, nil, e) }

// resume goes on behind the position last of a task that stands at seq.
func (f *feed) resume(task *a2a.Task, seq, last int64) error {
	f.opened = true
	if last == seq && f.endsAt(task.Status.State) {
		return nil
	}
	return f.follow(last)
}

// follow sends the task's events after a position until one that ends the feed, or returns why it cannot go on.
func (f *feed) follow(after int64) error {
	for entries, err := range f.tasks.Events(f.ctx, f.principal, f.task, after) {
		if err != nil {
			return err
		}
		began := 0
		if !f.opened {
			f.opened = true
			if entries, began, err = f.begin(after, entries); err != nil {
				return err
			}
		}
		more, err := f.pass(entries, began)
		if err != nil || !more {
			return err
		}
	}
	if !f.sent && f.ctx.Err() != nil { // nothing came before the client left, or before the drain
		return closingError()
	}
	return nil
}

// pass sends entries, the caller's replies left out, and reports whether anything may follow. The first of them, as many
// as began says, do not end the feed.
func (f *feed) pass(entries []*a2a.Entry, began int) (more bool, err error) {
	from := 0
	for i := began; i < len(entries); i++ {
		event, err := entries[i].Event()
		switch {
		case err != nil:
			if !f.send(entries[from:i]) {
				err = nil
			}
			return false, err
		case isReply(event):
			if !f.send(entries[from:i]) {
				return false, nil
			}
			from = i + 1
		case f.ends(event):
			f.send(entries[from : i+1])
			return false, nil
		}
	}
	return f.send(entries[from:]), nil
}

// ends reports whether nothing follows e on this feed.
func (f *feed) ends(e a2a.Event) bool {
	if _, ok := e.(*a2a.Message); ok {
		return true
	}
	return f.endsAt(a2a.EventState(e))
}

// endsAt reports whether the feed ends at a state. At AUTH_REQUIRED the agent may go on by itself, but v0.1, where that is
// INPUT_REQUIRED, expects the end.
func (f *feed) endsAt(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired && f.call.Dialect == wire.OLD
}

// begin makes entries, the first of the feed, begin as they should: a feed that begins in the middle of a task begins with
// the task as it stands after the caller's reply, and is not at its end with that, whatever the state; began counts it.
func (f *feed) begin(after int64, entries []*a2a.Entry) (_ []*a2a.Entry, began int, err error) {
	event, err := entries[0].Event()
	if err != nil {
		return nil, 0, err
	}
	var history *int
	if f.call.Send != nil {
		history = f.call.Send.Configuration.HistoryLength
	}
	if t, ok := event.(*a2a.Task); ok {
		if history == nil || f.call.Dialect == wire.OLD { // whose streams show none
			return entries, 0, nil
		}
		t = copyTask(t)
		trimHistory(t, history)
		return slices.Concat([]*a2a.Entry{unlogged(entries[0].Seq, t)}, entries[1:]), 0, nil
	}
	if _, ok := event.(*a2a.Message); ok && !isReply(event) {
		return entries, 0, nil
	}
	t, seq, err := f.snapshot(after)
	if err != nil {
		return nil, 0, err
	}
	replied := t.Status.State.Interrupted() // not every log has the reply itself
	for len(entries) > 0 && entries[0].Seq > seq {
		event, err := entries[0].Event()
		if err != nil {
			return nil, 0, err
		}
		_, status := event.(*a2a.StatusUpdate)
		if !isReply(event) && !(replied && status && !f.ends(event)) {
			break
		}
		fold(t, event)
		seq = entries[0].Seq
		entries = entries[1:]
		if replied = isReply(event); !replied {
			break
		}
	}
	trimHistory(t, history)
	if f.call.Dialect == wire.OLD && t.Status.State.Interrupted() { // or its status would say that this is the end
		t.Status = a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: t.Status.Timestamp}
	}
	return slices.Concat([]*a2a.Entry{unlogged(seq, t)}, entries), 1, nil
}

// snapshot returns the task as it stood at seq (0: now, or not long ago), and the position from where its events go on.
func (f *feed) snapshot(seq int64) (*a2a.Task, int64, error) { return f.snapshotOf(f.ctx, f.task, seq) }

// snapshotOf returns a task of the caller as it stood at seq (0: now, or not long ago), and the position from where its
// events go on.
func (a *asked) snapshotOf(ctx context.Context, id string, seq int64) (*a2a.Task, int64, error) {
	if s, ok := a.tasks.(Snapshotter); ok {
		return s.Snapshot(ctx, a.principal, id, seq)
	}
	t, at := &a2a.Task{}, int64(0)
	for entries, err := range a.tasks.Events(ctx, a.principal, id, 0) {
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			if seq > 0 && e.Seq > seq {
				break
			}
			event, err := e.Event()
			if err != nil {
				return nil, 0, err
			}
			fold(t, event)
			at = e.Seq
		}
		if seq == 0 || entries[len(entries)-1].Seq >= seq {
			break
		}
	}
	if t.ID == "" {
		return nil, 0, notFound(id)
	}
	return t, at, nil
}

// feeds are the open feeds of a handler, by the calls they answer.
type feeds struct {
	drained atomic.Bool

	mu      sync.Mutex
	open    map[*asked]struct{}
	readers map[string]int // by task
}

func (k *feeds) draining() bool { return k.drained.Load() }

func (k *feeds) add(a *asked) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.drained.Load() {
		return closingError()
	}
	if k.readers[a.task] >= a2a.Limits.Subscribers {
		return &a2a.Error{Kind: a2a.KindRateLimited, Message: "too many streams follow this task", RetryAfter: time.Second}
	}
	if k.open == nil {
		k.open, k.readers = map[*asked]struct{}{}, map[string]int{}
	}
	k.open[a] = struct{}{}
	k.readers[a.task]++
	return nil
}

func (k *feeds) remove(a *asked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, a)
	if k.readers[a.task]--; k.readers[a.task] <= 0 {
		delete(k.readers, a.task)
	}
}

// drain ends the feeds, each after a whole event, and lets no other begin.
func (k *feeds) drain() {
	k.drained.Store(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	for a := range k.open {
		a.stop()
	}
}
