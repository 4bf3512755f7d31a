package a2aserver

import (
	"cmp"
	"container/list"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
)

// live is a task in memory. Its events take one way: the turn adds them, they wait in pending until the changes before
// them are committed (so that everything that came meanwhile shares the next commit), and once committed they are in
// tail, where readers take them from.
type live struct {
	agent *Agent
	id    string

	once sync.Once // fills head from the log
	gone error     // why it could not

	broken atomic.Bool  // err is set: what is in memory is worth nothing
	size   atomic.Int64 // bytes of JSON held, roughly

	refs       int           // with parked and parkedSize: guarded by agent.mu
	parked     *list.Element // in agent.idle
	parkedSize int64

	mu   sync.Mutex
	head Head // after the newest event added; head.Seq is not used

	pending     []*Change
	inFlight    int         // changes handed to the log
	uncommitted int         // events added and not committed
	unsettled   int         // their bytes
	holding     bool        // the turn has just begun: wait a moment for more
	timer       *time.Timer // ends holding, or makes the task come to be
	room        chan struct{}
	err         error // of the log; nothing is added after it

	seq      int64         // of the newest committed event; 0 when there is none
	settled  a2a.TaskState // the committed state
	tail     []*a2a.Entry  // the newest committed events: all with Seq > tailFrom
	tailFrom int64
	tailSize int
	task     *a2a.Task // folded up to the position folded; nil until somebody asks for it
	folded   int64
	readers  []chan struct{}

	running   bool
	waits     bool // the running turn waits for somebody else
	ending    bool // it has said its last
	queue     []*work
	cancelRun context.CancelCauseFunc
	before    *a2a.Task // the task before the turn, at the position beforeSeq
	beforeSeq int64
}

const (
	maxUncommitted = 64        // events of one task on their way into the log
	maxUnsettled   = 512 << 10 // and their bytes
	largeBytes     = 64 << 10  // what the log is not to be handed from within its own call
	tailEvents     = 256       // committed events of a task kept for its readers
	tailBytes      = 512 << 10 // and their bytes

	// A turn's first events wait this long for more of them, unless they end the turn: a short turn is one commit.
	holdTime = time.Millisecond
	// A new task exists from its first event, but after this long at the latest.
	emergeTime = 250 * time.Millisecond
)

// newLive returns a task with one user.
func (a *Agent) newLive(id string) *live {
	return &live{agent: a, id: id, refs: 1, room: make(chan struct{}, 1)}
}

// load reads the row of the task.
func (l *live) load(ctx context.Context) error {
	h, err := l.agent.log.Head(ctx, l.id)
	if err != nil {
		return err
	}
	l.head, l.settled = h, h.State
	l.seq, l.tailFrom = h.Seq, h.Seq
	return nil
}

// stored reports whether there is a task that its principal can know of.
func (l *live) stored() bool { return l.seq > 0 && l.settled != a2a.TaskStateUnspecified }

// settle waits until all that was added is stored, or cannot be.
func (l *live) settle(ctx context.Context) {
	wake := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers = append(l.readers, wake)
	for l.uncommitted > 0 && l.err == nil && ctx.Err() == nil {
		l.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
	l.readers = slices.DeleteFunc(l.readers, func(c chan struct{}) bool { return c == wake })
}

// created reports whether the task, or the Message that is its answer, was added.
func (l *live) created() bool { return l.seq > 0 || l.uncommitted > 0 }

// add appends an event; l.mu is held. It returns false when nothing can follow any more.
func (l *live) add(e a2a.Event, r *Receipt) bool {
	if l.err != nil || l.head.State.Terminal() {
		return false
	}
	n := len(l.pending)
	if n == 0 || r != nil && l.pending[n-1].Receipt != nil {
		l.pending = append(l.pending, &Change{Events: make([]NewEvent, 0, 4)})
		n++
	}
	c := l.pending[n-1]
	ev := NewEvent{Event: e, JSON: a2a.MarshalEvent(e)}
	c.Events = append(c.Events, ev)
	if r != nil {
		c.Receipt = r
	}
	if s := a2a.EventState(e); s != a2a.TaskStateUnspecified {
		l.head.State = s
		asked := s == a2a.TaskStateInputRequired && len(l.queue) > 0 // and answered: the turn ends, the next one goes on
		l.idles(l.running && s.Interrupted() && !asked)
	}
	switch e := e.(type) {
	case *a2a.Task:
		l.head.Updated = e.Status.Timestamp
	case *a2a.StatusUpdate:
		l.head.Updated = e.Status.Timestamp
	}
	if l.head.Updated.IsZero() {
		l.head.Updated = now()
	}
	c.Head = l.head
	l.uncommitted++
	l.unsettled += len(ev.JSON)
	l.size.Add(int64(len(ev.JSON)))
	return true
}

// idles notes whether the running turn waits for somebody else; l.mu is held.
func (l *live) idles(b bool) {
	if l.waits == b {
		return
	}
	l.waits = b
	if b {
		l.agent.wait(1)
	} else {
		l.agent.wait(-1)
	}
}

// status adds a status update; l.mu is held.
func (l *live) status(s a2a.TaskState, m *a2a.Message) {
	l.add(&a2a.StatusUpdate{
		TaskID: l.id, ContextID: l.head.ContextID, Status: a2a.TaskStatus{State: s, Message: m, Timestamp: now()},
	}, nil)
}

// full reports whether the turn has to wait for the log.
func (l *live) full() bool { return l.uncommitted >= maxUncommitted || l.unsettled >= maxUnsettled }

// flush hands what is pending to the log, unless a commit is under way: then it goes with the next; l.mu is held.
func (l *live) flush() {
	if l.inFlight > 0 || len(l.pending) == 0 {
		return
	}
	changes := l.pending
	l.pending = nil
	l.inFlight = len(changes)
	for _, c := range changes {
		l.agent.hold(l)
		l.agent.log.Append(c, func(entries []*a2a.Entry, err error) { l.committed(c, entries, err) })
	}
}

// committed is called by the log.
func (l *live) committed(c *Change, entries []*a2a.Entry, err error) {
	l.mu.Lock()
	l.inFlight--
	was := l.settled
	if err != nil {
		l.fail(err)
	} else if l.err == nil {
		l.uncommitted -= len(c.Events)
		for _, e := range entries {
			l.unsettled -= len(e.JSON)
			l.tailSize += len(e.JSON)
		}
		l.seq = entries[len(entries)-1].Seq
		l.settled = c.Head.State
		l.tail = append(l.tail, entries...)
		if len(l.tail) > 2*tailEvents || l.tailSize > 2*tailBytes {
			l.trim()
		}
		if l.unsettled > largeBytes { // may take the log a while, which is now busy calling us
			l.agent.hold(l)
			go l.flushLarge()
		} else {
			l.flush()
		}
	}
	is := l.settled
	l.wake()
	l.mu.Unlock()
	if c.Receipt != nil {
		l.agent.forget(messageKey{c.Head.Principal, c.Receipt.MessageID})
	}
	l.agent.count(c.Head.Principal, was, is)
	l.agent.put(l)
}

// flushLarge is flush in a goroutine of its own.
func (l *live) flushLarge() {
	l.mu.Lock()
	l.flush()
	l.mu.Unlock()
	l.agent.put(l)
}

// fail gives the task up: the log, or the end of the agent, took away what it stands on; l.mu is held.
func (l *live) fail(err error) {
	if l.err != nil {
		return
	}
	l.err = err
	l.broken.Store(true)
	l.uncommitted, l.unsettled = 0, 0
	for _, c := range l.pending {
		if c.Receipt != nil {
			l.agent.forget(messageKey{c.Head.Principal, c.Receipt.MessageID})
		}
	}
	l.pending = nil
	if l.cancelRun != nil {
		l.cancelRun(err)
	}
	l.agent.drop(l)
	l.wake()
}

// wake tells whoever waits that something was committed; l.mu is held.
func (l *live) wake() {
	for _, r := range l.readers {
		select {
		case r <- struct{}{}:
		default:
		}
	}
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// trim takes the older half out of tail. A task that nobody has asked for is not held in memory beyond that: what is
// taken out is read from the log when it is needed. l.mu is held.
func (l *live) trim() {
	keep, size := len(l.tail), 0
	for keep > 0 && len(l.tail)-keep < tailEvents && size < tailBytes {
		keep--
		size += len(l.tail[keep].JSON)
	}
	if keep == 0 { // one event that is larger than all that is kept: it stays until others follow it
		return
	}
	if l.task != nil {
		l.fold()
	}
	l.tailFrom = l.tail[keep-1].Seq
	l.tail = slices.Clone(l.tail[keep:])
	l.tailSize = size
}

// compact makes an idle task small.
func (l *live) compact() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fold()
	l.tail, l.tailFrom, l.tailSize = nil, l.seq, 0
	l.before, l.beforeSeq = nil, 0
}

// fold brings task up to date from tail and reports whether it could; l.mu is held.
func (l *live) fold() bool {
	if l.task == nil && l.tailFrom > 0 || l.folded < l.tailFrom {
		return false
	}
	i, _ := slices.BinarySearchFunc(l.tail, l.folded+1, position)
	for _, e := range l.tail[i:] {
		if l.task == nil {
			l.task = &a2a.Task{}
		}
		if ev, err := e.Event(); err == nil {
			fold(l.task, ev)
		}
		l.folded = e.Seq
	}
	return l.task != nil
}

// snapshot returns the task as it stood at seq, 0 for now; the caller may change what it points to, but not the parts
// and messages in it.
func (l *live) snapshot(ctx context.Context, seq int64) (*a2a.Task, int64, error) {
	l.mu.Lock()
	if !l.stored() {
		l.mu.Unlock()
		return nil, 0, notFound(l.id)
	}
	switch {
	case seq > 0 && seq == l.beforeSeq:
		t := copyTask(l.before)
		l.mu.Unlock()
		return t, seq, nil
	case (seq == 0 || seq == l.seq) && l.fold():
		t, at := copyTask(l.task), l.folded
		l.mu.Unlock()
		return t, at, nil
	}
	l.mu.Unlock()

	t, at := &a2a.Task{}, int64(0)
	for entries, err := range l.agent.log.Read(ctx, l.id, 0) {
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			if seq > 0 && e.Seq > seq {
				return t, at, nil
			}
			ev, err := e.Event()
			if err != nil {
				return nil, 0, err
			}
			fold(t, ev)
			at = e.Seq
		}
	}
	if seq > 0 {
		return t, at, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.task == nil || l.folded < at {
		l.task, l.folded = t, at
	}
	l.fold()
	return copyTask(l.task), l.folded, nil
}

// follow yields the committed events after seq, and then what comes.
func (l *live) follow(ctx context.Context, seq int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		wake := make(chan struct{}, 1)
		l.mu.Lock()
		l.readers = append(l.readers, wake)
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			l.readers = slices.DeleteFunc(l.readers, func(c chan struct{}) bool { return c == wake })
			l.mu.Unlock()
		}()
		for {
			l.mu.Lock()
			behind, from := seq < l.tailFrom, l.tailFrom
			var ready []*a2a.Entry
			if n := len(l.tail); !behind && n > 0 && seq < l.tail[n-1].Seq {
				i, _ := slices.BinarySearchFunc(l.tail, seq+1, position)
				ready = l.tail[i:n:n]
			}
			over := seq >= l.seq && l.seq > 0 && (l.settled.Terminal() || l.settled == a2a.TaskStateUnspecified)
			err := l.err
			l.mu.Unlock()
			switch {
			case behind:
				for entries, err := range l.agent.log.Read(ctx, l.id, seq) {
					if err != nil {
						if ctx.Err() == nil {
							yield(nil, err)
						}
						return
					}
					if !yield(entries, nil) {
						return
					}
					seq = entries[len(entries)-1].Seq
				}
				seq = max(seq, from)
				continue
			case len(ready) > 0:
				if !yield(ready, nil) {
					return
				}
				seq = ready[len(ready)-1].Seq
				continue
			case over:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			case <-l.agent.closed:
				yield(nil, closingError())
				return
			}
		}
	}
}

// Events implements Tasks.
func (a *Agent) Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		l, err := a.get(ctx, principal, task)
		if err != nil {
			yield(nil, err)
			return
		}
		defer a.put(l)
		l.follow(ctx, after)(yield)
	}
}

func position(e *a2a.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) }

// now is the time as tasks have it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
