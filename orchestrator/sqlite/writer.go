package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/tail"
	"parley/orchestrator/wirelog"
)

// What one transaction takes at most, so that nobody waits long for the others in it.
const (
	groupOps   = 1024
	groupBytes = 4 << 20
)

// op is one thing for the writer to do.
type op struct {
	batch *batch            // what Write and Enqueue bring, or
	do    func(*conn) error // something that needs a transaction of its own
	limps bool              // do is tried while the store takes no batches: it makes room
	scrub bool              // what do deletes is overwritten on the disk
	after func()            // follows the commit of do
	wait  bool              // the caller waits for done: it knows of a failure before it goes on
	done  func([]*a2a.Entry, error)

	entries []*a2a.Entry
	err     error
}

// writer owns the one connection that writes. Its goroutine commits what is queued, in order, as many at once as there
// are. Who waits for a commit and finds nothing queued and nothing going on makes it himself: with nobody to share it, a
// commit costs no change of goroutines. The turn is held for each commit and all else that uses the connection; it is taken
// with mu held and the queue empty, so that nobody overtakes what was queued before.
type writer struct {
	db    *DB
	c     *conn
	began time.Time
	sick  atomic.Pointer[a2a.Error] // why nothing is written now

	mu     sync.Mutex
	queue  []*op
	closed bool
	wake   chan struct{} // holds one token when there is something to look at
	ended  chan struct{}
	turn   sync.Mutex

	// The rest belongs to whoever has the turn.
	seq       int64
	group     int                   // ops in the last transaction
	keys      [2]keys               // of conversations and runs
	failed    *tail.Failures        // runs that miss an event
	events    []*orchestrator.Event // of the open transaction
	rows      []any                 // the same as arguments of insertEvents, written at its end
	pending   map[string]statement  // rows of the open transaction that are written once, as they are at its end
	order     []string              // keys of pending
	args      []any                 // of the statement being run
	wire      *wirelog.Queue
	wireBytes int64   // stored of it in all
	index     tidying // of search
	ballast   ballast
	later     *time.Timer // begins the ballast
	anchored  bool        // the ballast is there, or cannot be
	err       error       // of closing the connection
}

func startWriter(db *DB, c *conn, head int64) (*writer, error) {
	w := &writer{
		db: db, c: c, began: time.Now(), seq: head, failed: tail.NewFailures(),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), pending: map[string]statement{},
		ballast:   newBallast(db.dir),
		wireBytes: wirelog.MaxBytes,
	}
	w.wire = wirelog.NewQueue(w.nudge)
	for i, table := range keyTables {
		k, err := newKeys(c, table)
		if err != nil {
			return nil, err
		}
		w.keys[i] = k
	}
	w.later = time.AfterFunc(ballastDelay, w.nudge)
	go w.run()
	return w, nil
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
	w.nudge()
}

func (w *writer) nudge() {
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
	if o.batch != nil && o.batch.release != nil {
		o.batch.release()
	}
}

// close stops taking ops, stores those it has, and closes the connection.
func (w *writer) close() (clean bool, err error) {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.nudge()
	<-w.ended
	w.later.Stop()
	return w.sick.Load() == nil, w.err
}

// waitFor queues an op and waits for its end. When ctx ends first, the op may still be carried out.
func (w *writer) waitFor(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.wait = true
	if w.alone(o) {
		return o.err
	}
	ch := make(chan error, 1)
	o.done = func(_ []*a2a.Entry, err error) { ch <- err }
	w.push(o)
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alone carries out an op at once, if nobody else wants anything, and reports whether it did. When others came in pairs the
// last time, they are better off together.
func (w *writer) alone(o *op) bool {
	if o.batch == nil {
		return false
	}
	w.mu.Lock()
	free := !w.closed && len(w.queue) == 0 && w.turn.TryLock()
	w.mu.Unlock()
	if !free {
		return false
	}
	defer w.turn.Unlock()
	if w.group > 1 {
		return false
	}
	w.group = 1
	w.commit([]*op{o})
	if w.sick.Load() != nil {
		w.nudge() // somebody has to look when that is over
	}
	return true
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.ended)
	probe := time.NewTicker(probeEvery)
	probe.Stop()
	probing := false
	for {
		w.turn.Lock()
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
		if sick := w.sick.Load() != nil; sick != probing {
			if probing = sick; sick {
				probe.Reset(probeEvery)
			} else {
				probe.Stop()
			}
		}
		if closed {
			if w.wire.Stop(); w.wire.Ready() {
				w.restWire()
			}
			w.err = w.end()
			w.turn.Unlock()
			return
		}
		more := w.idle() && w.rest()
		w.turn.Unlock()
		if more {
			continue
		}
		select {
		case <-w.wake:
		case <-probe.C:
			w.turn.Lock()
			w.probe()
			w.turn.Unlock()
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

// idle reports whether nothing is queued.
func (w *writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) == 0 && !w.closed
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
	scrub := ops[0].scrub
	if scrub {
		w.scrub("ON")
	}
	err := w.try(ops)
	if scrub {
		w.scrub("OFF")
	}
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
		for i := range ops {
			w.commit(ops[i : i+1])
		}
		return
	}
	if err == nil {
		w.db.hub.Publish(w.events, w.seq)
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

// scrub says whether pages that become free are overwritten.
func (w *writer) scrub(onOff string) {
	if err := w.c.pragma(`PRAGMA secure_delete = ` + onOff); err != nil {
		w.db.log.Warn("secure_delete", "error", err)
	}
}

// end closes the connection, the log emptied into the database.
func (w *writer) end() error {
	var err error
	if w.sick.Load() == nil {
		err = w.checkpoint()
	}
	return errors.Join(err, w.c.close())
}

// checkpoint moves all of the write-ahead log into the database and empties it. A reader may keep it from that; then it
// happens later.
func (w *writer) checkpoint() error {
	return w.c.pragma(`PRAGMA wal_checkpoint(TRUNCATE)`)
}
