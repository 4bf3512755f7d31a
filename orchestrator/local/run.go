package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

// run is a run somebody holds: its state in memory, one step ahead of or equal to what is stored. When a write fails the
// whole of it is thrown away and read again, so memory never knows what the store does not.
type run struct {
	d       *Driver
	holders int  // guarded by d.mu
	call    bool // it counts among Driver.calls

	ctx  context.Context // of everything done for the run
	kill context.CancelCauseFunc

	window chan struct{}             // a slot for each batch on its way to the disk
	flying sync.WaitGroup            // the same batches
	done   func([]*a2a.Entry, error) // committed, made once

	claim   int64         // of a store that is shared; 0: nobody else can know the run
	carried bool          // by Carry: what follows is done here, and not by whoever the host picks
	alone   chan struct{} // told when nobody but Carry holds it
	turnAt  string        // in d.naming: whose turn ends when it is released

	over  atomic.Bool // it has ended; nothing follows
	owner string      // whose it is and where, as owner() says; "" unless it began in this process

	mu        sync.Mutex
	row       orchestrator.Run
	state     engine.State               // of a run with a plan only what both have: Events, Asks, Fault, Ended
	flow      *flow                      // of a run with a plan; nil without
	parent    string                     // the run that this one is a call of; "" for all others
	key       string                     // what its agents' contexts are kept under; "" = as its conversation or caller says
	told      a2a.TaskState              // what the parent knows
	rest      rest                       // as its row says
	trace     orchestrator.Trace         // that it came with, or the plan's
	known     *orchestrator.ChildContext // what the plan knows its agent has for it; nil: it is looked up
	asked     *a2a.Message               // the message the run is for, as its caller sent it
	intent    *engine.Sending            // the newest
	message   *a2a.Message               // what it sends
	config    *engine.Config             // what the caller wants of the answer
	fresh     bool                       // its context is new, so no agent can know it
	task      bool                       // an A2A event is in the log
	status    a2a.TaskStatus             // the newest
	used      *orchestrator.Usage        // of a call: what the newest status update that says so reports
	fold      *a2a.Task                  // the task as logged; nil when nobody needs it yet
	passing   bool                       // fold is at hand because the run was read, for the first word of its agent
	asks      []*orchestrator.Ask        // the open ones
	hops      int                        // how many agents the message came through, with us
	counted   counted                    // where it was put last
	working   bool
	queued    bool               // it was taken up at a start, and its agent has not been asked yet
	answered  func()             // lets others ask that were taken up with it; nil unless this one is asking
	through   chan struct{}      // closed when the newest worker is through
	interrupt context.CancelFunc // ends what the worker is doing now
	sent      string             // the engine.Send that this process is carrying out
	taken     string             // the newest engine.Send that any process began to carry out; only with a Host
	stopSent  string             // the newest engine.Stop that this process carried out
	stopped   chan struct{}      // closed when that is through
	stopErr   error              // how it went
	ended     chan struct{}      // closed at the end; nil while nobody waits
}

// newRun returns an empty run that is held once. It is not in d.live yet.
func (d *Driver) newRun(id string) *run {
	r := &run{d: d, holders: 1, window: make(chan struct{}, window)}
	r.row.ID = id
	r.done = r.committed
	r.ctx, r.kill = context.WithCancelCause(d.ctx)
	return r
}

// broken returns why the run in memory can no longer be used.
func (r *run) broken() error {
	if err := r.d.closed(); err != nil {
		return err
	}
	if r.ctx.Err() != nil {
		err := context.Cause(r.ctx)
		if e := (*a2a.Error)(nil); errors.As(err, &e) {
			return err
		}
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: "this could not be stored", Err: err}
	}
	return nil
}

// closed returns the error for whoever wants something of a driver that does nothing any more.
func (d *Driver) closed() error {
	if d.ctx.Err() != nil {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: "Parley is shutting down"}
	}
	return nil
}

// conversation reports whether the run belongs to a conversation of the local person.
func (r *run) conversation() bool { return r.row.ConversationID != "" }

func (r *run) address() *steps.Address {
	a := &steps.Address{Run: r.row.ID, Context: r.row.ContextID, Asked: r.asked}
	if r.intent != nil && r.intent.Turn == 1 {
		a.SentID = r.intent.MessageID
	}
	return a
}

// load reads the run: its row, unless that was read a moment ago, and its events, unless log has them all, from which the
// reducer's state follows. r.mu is held.
func (r *run) load(ctx context.Context, row *orchestrator.Run, log []*orchestrator.Event) error {
	var err error
	if row == nil {
		if row, err = r.d.store.Run(ctx, r.row.ID); err != nil {
			return err
		}
	}
	r.row = *row
	if err := r.recall(row); err != nil {
		return fmt.Errorf("run %s: %w", row.ID, err)
	}
	start := engine.Start{To: row.To, Person: row.Principal == orchestrator.LocalPrincipal, Part: r.parent != ""}
	r.state, err = engine.Restore(row.Engine, start)
	if err != nil {
		return fmt.Errorf("run %s: %w", row.ID, err)
	}
	known := r.state.Events
	r.fold = &a2a.Task{ID: row.ID, ContextID: row.ContextID}
	folded, last := 0, int64(0)
	replay := func(events []*orchestrator.Event) error {
		for _, e := range events {
			if err := r.replay(e, folded >= known); err != nil {
				return fmt.Errorf("run %s: %w", row.ID, err)
			}
			folded, last = folded+1, e.Seq
		}
		return nil
	}
	if log != nil {
		if err := replay(log); err != nil {
			return err
		}
	} else {
		for events, err := range r.d.store.ReadRun(ctx, row.ID, 0) {
			if err == nil {
				err = replay(events)
			}
			if err != nil {
				return err
			}
		}
	}
	if last > row.LastSeq { // it went on since its row was read
		if row, err = r.d.store.Run(ctx, row.ID); err != nil {
			return err
		}
		r.row = *row
		r.rest = restOf(row)
	}
	if r.asked == nil && r.intent == nil {
		return fmt.Errorf("run %s has no message", row.ID)
	}
	r.status = r.fold.Status
	if len(r.state.Asks) > 0 {
		if r.asks, err = r.d.store.OpenAsks(ctx, row.ID); err != nil {
			return err
		}
	}
	if !r.conversation() && r.parent == "" {
		if r.passing = r.flow == nil; !r.passing {
			r.fold = nil
		}
	}
	r.told = r.row.State
	if r.flow != nil {
		r.flow.loaded(r)
	}
	r.count()
	return nil
}

// replay takes one event of the log into memory; the reducer sees it only when its state does not hold it yet.
func (r *run) replay(e *orchestrator.Event, decide bool) error {
	b, err := engine.Decode(e)
	if err != nil {
		return err
	}
	switch b := b.(type) {
	case *engine.Sending:
		if err := r.remember(b); err != nil {
			return err
		}
	case *engine.Taken:
		r.taken = b.Send
	}
	if e.Kind.A2A() {
		ev, err := e.Event()
		if err != nil {
			return err
		}
		if t, ok := ev.(*a2a.Task); ok && r.asked == nil && len(t.History) > 0 {
			m := t.History[0]
			r.asked = &m
		}
		r.task = true
		r.uses(ev)
		if m, ok := ev.(*a2a.Message); ok && r.parent != "" {
			r.fold.Status.Message = m
		}
	}
	if err := foldEvent(r.fold, e); err != nil {
		return err
	}
	if decide {
		r.apply(b)
	}
	return nil
}

// apply folds an event into what decides.
func (r *run) apply(b engine.Body) {
	if r.flow != nil {
		r.flow.apply(b)
		r.state.Ended, r.state.Asks, r.state.Fault = r.flow.Ended, r.flow.Asks, r.flow.Fault
		return
	}
	r.state.Apply(b)
}

// remember keeps the newest intent, and the run's message from the first.
func (r *run) remember(s *engine.Sending) error {
	m := new(a2a.Message)
	if err := json.Unmarshal(s.Message, m); err != nil {
		return fmt.Errorf("the message: %w", err)
	}
	if r.asked == nil {
		r.asked = m
	}
	if r.intent == nil {
		r.hops, r.config = s.Hops, s.Config
	}
	r.intent, r.message = s, m
	return nil
}

// foldEvent folds one event of the log into a task. A reply of the caller joins the history behind the question it
// answers.
func foldEvent(t *a2a.Task, e *orchestrator.Event) error {
	switch {
	case e.Kind == orchestrator.EventSending:
		var s engine.Sending
		if err := json.Unmarshal(e.JSON, &s); err != nil {
			return err
		}
		if s.Turn == 1 || s.Attempt > 1 || s.Repeat > 0 {
			return nil
		}
		var m a2a.Message
		if err := json.Unmarshal(s.Message, &m); err != nil {
			return err
		}
		foldReply(t, m)
	case e.Kind.A2A():
		ev, err := e.Event()
		if err != nil {
			return err
		}
		foldA2A(t, ev)
	}
	return nil
}

// foldA2A applies an event that others may hold too.
func foldA2A(t *a2a.Task, e a2a.Event) {
	if task, ok := e.(*a2a.Task); ok {
		c := *task
		c.History = slices.Clone(task.History)
		c.Artifacts = slices.Clone(task.Artifacts)
		for i := range c.Artifacts {
			c.Artifacts[i].Parts = slices.Clone(c.Artifacts[i].Parts)
		}
		e = &c
	}
	t.Apply(e)
}

func foldReply(t *a2a.Task, m a2a.Message) {
	if t.Status.Message != nil {
		t.History = append(t.History, *t.Status.Message)
		t.Status.Message = nil
	}
	m.TaskID, m.ContextID = t.ID, t.ContextID
	t.History = append(t.History, m)
}

// folded returns the task as it is logged, reading it again when it is not at hand. r.mu is held.
func (r *run) folded(ctx context.Context) (*a2a.Task, error) {
	if r.fold != nil {
		return r.fold, nil
	}
	r.flush()
	if err := r.broken(); err != nil {
		return nil, err
	}
	return r.d.readTask(ctx, &r.row)
}

// pass drops what is of no use once the agent of a run that was read has said something. r.mu is held.
func (r *run) pass() {
	if r.passing {
		r.passing, r.fold = false, nil
	}
}

// readTask folds a run's task from the log.
func (d *Driver) readTask(ctx context.Context, row *orchestrator.Run) (*a2a.Task, error) {
	t, _, err := d.readTaskTo(ctx, row, math.MaxInt64)
	return t, err
}

// readTaskTo folds a run's task up to a position, and returns where that is. Before its agent said anything the task is
// what was sent.
func (d *Driver) readTaskTo(ctx context.Context, row *orchestrator.Run, to int64) (*a2a.Task, int64, error) {
	t := &a2a.Task{ID: row.ID, ContextID: row.ContextID}
	var at int64
	var sent *orchestrator.Event
	for events, err := range d.store.ReadRun(ctx, row.ID, 0) {
		if err != nil {
			return nil, 0, err
		}
		for _, e := range events {
			if e.Seq > to {
				break
			}
			if at = e.Seq; sent == nil && e.Kind == orchestrator.EventSending {
				sent = e
			}
			if err := foldEvent(t, e); err != nil {
				return nil, 0, err
			}
		}
	}
	if t.Status.State == a2a.TaskStateUnspecified && sent != nil {
		r := &run{row: *row}
		b, err := engine.Decode(sent)
		if err == nil {
			err = r.remember(b.(*engine.Sending))
		}
		if err != nil {
			return nil, 0, err
		}
		t = r.address().Task(a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: row.Created})
	}
	return t, at, nil
}

// flush returns when nothing of the run is on its way to the disk. r.mu is held, so nothing more is sent there.
func (r *run) flush() { r.flying.Wait() }

// committed is told by the store how one event on its way fared.
func (r *run) committed(_ []*a2a.Entry, err error) {
	if err != nil {
		r.kill(err)
	}
	<-r.window
	r.flying.Done()
}

// count puts the run where it counts for its principal.
func (r *run) count() {
	if r.parent != "" { // the plan counts; its calls have a bound of their own
		if !r.state.Ended {
			r.d.called(r)
		}
		return
	}
	to := countsRunning
	switch {
	case r.state.Ended:
		to = countsNot
	case r.row.State.Interrupted():
		to = countsInterrupted
	}
	if r.counted != to {
		r.d.recount(r.row.ID, r.row.Principal, to)
		r.counted = to
	}
}
