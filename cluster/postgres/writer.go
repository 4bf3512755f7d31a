package postgres

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/tail"
)

// What one transaction takes at most, so that nobody waits long for the others in it.
const (
	groupOps   = 1024
	groupBytes = 4 << 20
)

// closeTime is how long Close waits for what is queued where the database does not answer.
const closeTime = 5 * time.Second

// op is one thing for the writer to do.
type op struct {
	batch *batch                                       // what Write and Enqueue bring, or
	do    func(ctx context.Context, c *pgx.Conn) error // something that needs a transaction of its own
	note  func() *note                                 // what the others are told of do
	after func()                                       // follows the commit of do
	wait  bool                                         // the caller waits for done: it knows of a failure before it goes on
	done  func([]*a2a.Entry, error)

	entries []*a2a.Entry
	known   error // what was found out about it in an earlier try
	err     error
}

// writer owns the one connection that writes.
type writer struct {
	db   *DB
	sick atomic.Pointer[a2a.Error] // why nothing is written now

	mu      sync.Mutex
	queue   []*op
	closed  bool
	wake    chan struct{} // holds one token when there is something to look at
	closing chan struct{}
	ended   chan struct{}

	// The rest belongs to the writer's goroutine.
	c      *pgx.Conn // nil when there is none
	xid    string    // of the open transaction
	name   string    // of the open transaction, as it will be stored
	pid    uint32    // of the server's process that has it
	group  int       // ops in the last transaction
	failed *tail.Failures
	events []*orchestrator.Event // of the last transaction
	seq    int64                 // of the last event, and
	item   int64                 // the last item that were given here
	err    error                 // of closing
}

func startWriter(db *DB) *writer {
	w := &writer{
		db: db, failed: tail.NewFailures(), seq: db.hub.Head(),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.run()
	return w
}

// push queues an op. After close it is refused.
func (w *writer) push(o *op) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		o.finish(tail.ErrClosed)
		return
	}
	w.queue = append(w.queue, o)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (o *op) finish(err error) {
	if err != nil {
		o.entries = nil
	}
	if err == nil && o.batch != nil {
		for i, it := range o.batch.items {
			if it.ID == 0 {
				it.ID = o.batch.given[i]
			}
		}
	}
	if o.done != nil {
		o.done(o.entries, err)
	}
}

// close stops taking ops, stores those it has, and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	w.mu.Unlock()
	<-w.ended
	return w.err
}

// waitFor queues an op and waits for its end. When ctx ends first, the op may still be carried out.
func (w *writer) waitFor(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ch := make(chan error, 1)
	o.wait = true
	o.done = func(_ []*a2a.Entry, err error) { ch <- err }
	w.push(o)
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.ended)
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	for {
		w.gather()
		w.mu.Lock()
		ops, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()

		for len(ops) > 0 {
			n := groupSize(ops)
			w.group = n
			w.commit(ops[:n])
			ops = ops[n:]
		}
		if closed {
			if w.c != nil {
				ctx, cancel := context.WithTimeout(context.Background(), closeTime)
				w.err = w.c.Close(ctx)
				cancel()
			}
			return
		}
		select {
		case <-w.wake:
		case <-w.closing:
		case <-probe.C:
			if w.sick.Load() != nil {
				w.probe()
			}
		}
	}
}

// gather lets those who are about to queue something do so first, where several did the last time: a commit costs the
// same for one as for all of them. It waits for nobody who is not running already, and not at all for a lone caller.
func (w *writer) gather() {
	if w.group < 2 {
		return
	}
	for queued := 0; ; runtime.Gosched() {
		w.mu.Lock()
		n := len(w.queue)
		w.mu.Unlock()
		if n == queued {
			return
		}
		queued = n
	}
}

// groupSize returns how many ops go into the next transaction.
func groupSize(ops []*op) int {
	bytes := 0
	for i, o := range ops {
		if o.do != nil {
			return max(i, 1)
		}
		if bytes += o.batch.size; i > 0 && (i == groupOps || bytes > groupBytes) {
			return i
		}
	}
	return len(ops)
}

// commit carries ops out in one transaction and tells their callers, in order.
func (w *writer) commit(ops []*op) {
	err := w.persist(ops)
	switch {
	case err == nil:
	case fatal(err):
		w.fail(err)
		for _, o := range ops {
			o.err = explain(err)
		}
	case len(ops) == 1:
		ops[0].err = err
	default:
		// One of them is at fault, and it must not take the others along.
		half := len(ops) / 2
		w.commit(ops[:half])
		w.commit(ops[half:])
		return
	}
	if err == nil {
		w.db.feed.own(w.events)
	}
	for _, o := range ops {
		w.note(o)
		if o.err == nil && o.batch != nil {
			w.db.hub.Changed(o.batch.changes)
		}
		if o.err == nil && o.after != nil {
			o.after()
		}
		o.finish(o.err)
	}
	// What the callers keep of their own is there when others come to ask for it.
	w.db.hub.Wake()
}

// retries bounds how often a group is tried again for what can be mended.
const retries = 5

// persist tries until the group is stored or is known not to be.
func (w *writer) persist(ops []*op) error {
	for _, o := range ops {
		o.known = nil
	}
	for n := 0; ; n++ {
		w.events, w.xid = nil, ""
		if e := w.sick.Load(); e != nil {
			for _, o := range ops {
				o.err = e
			}
			return nil
		}
		err := w.try(ops)
		if err == nil {
			return nil
		}
		if w.c != nil && w.c.IsClosed() {
			err = &lostError{err}
		}
		again := false
		if lost(err) {
			w.drop()
			if w.xid != "" {
				if stored, failure := w.settle(ops, err); stored || failure != nil {
					return failure
				}
			}
			again = n == 0 // a connection may have been gone for long without anybody noticing
		} else {
			w.rollback()
			again = n < retries && w.mend(ops, err)
		}
		if !again {
			return err
		}
	}
}
