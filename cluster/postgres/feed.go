package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
)

// feed brings the hub the log, in order: what this process writes as it is written, what others write as far as it is
// followed here.
type feed struct {
	db   *DB
	name string // of this process among those that share the database
	kick chan struct{}

	mu      sync.Mutex
	waiting [][]*orchestrator.Event // groups of our own behind events of others that were not read yet
}

func newFeed(db *DB) *feed { return &feed{db: db, name: newName(), kick: make(chan struct{}, 1)} }

// own takes a group that this process has committed.
func (f *feed) own(events []*orchestrator.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, events)
	f.publish()
	behind := len(f.waiting) > 0
	f.mu.Unlock()
	if behind {
		f.hint()
	}
}

// publish hands on the groups that follow what the hub has. The caller holds mu.
func (f *feed) publish() {
	for len(f.waiting) > 0 {
		group := f.waiting[0]
		head := f.db.hub.Head()
		if group[0].Seq > head+1 {
			return
		}
		if last := group[len(group)-1].Seq; last > head { // a page may have ended within it
			f.db.hub.Publish(group[head+1-group[0].Seq:], last)
		}
		f.waiting = f.waiting[1:]
	}
	f.waiting = nil
}

// hint says that there may be something to read.
func (f *feed) hint() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// run reads what others wrote, when there is a hint of it, and now and then without one.
func (f *feed) run(ctx context.Context) {
	poll := time.NewTicker(f.db.options.Poll)
	defer poll.Stop()
	for {
		select {
		case <-f.kick:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = f.read(ctx); err != nil && ctx.Err() == nil {
				f.db.log.Warn("read the log", "error", err)
			}
		}
	}
}

// feedPage is how many events are read at a time.
const feedPage = 256

const readFollowed = `SELECT seq, run, conversation, kind, at, body, blob FROM events
	WHERE seq > $1 AND (run = ANY ($2) OR conversation = ANY ($3) AND conversation <> '') ORDER BY seq LIMIT $4`

// read publishes one page of what others wrote; more says that there may be another.
func (f *feed) read(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.db.options.Timeout)
	defer cancel()
	runs, conversations, mark := f.db.hub.Followed()
	after := f.db.hub.Head()
	var b pgx.Batch
	var head int64
	var page []stored
	b.Queue(newestEvent).QueryRow(func(row pgx.Row) error { return row.Scan(&head) })
	if len(runs)+len(conversations) > 0 {
		b.Queue(readFollowed, after, texts(runs), texts(conversations), feedPage).Query(func(rows pgx.Rows) (err error) {
			page, err = pgx.CollectRows(rows, scanEvent)
			return err
		})
	}
	if err := f.db.read.SendBatch(ctx, &b).Close(); err != nil {
		return false, explain(err)
	}
	if len(page) == feedPage {
		head, more = page[feedPage-1].Seq, true
	}
	// What was committed between the two has its turn the next time.
	page = slices.DeleteFunc(page, func(e stored) bool { return e.Seq > head })
	events, err := f.db.whole(ctx, page)
	if err != nil {
		return false, err
	}
	if n := len(events); n < len(page) {
		head, more = events[n-1].Seq, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ours := map[int64]*orchestrator.Event{}
	for _, group := range f.waiting {
		for _, e := range group {
			ours[e.Seq] = e
		}
	}
	now := f.db.hub.Head() // our own may have come meanwhile
	events = slices.DeleteFunc(events, func(e *orchestrator.Event) bool { return e.Seq <= now })
	for i, e := range events {
		if o := ours[e.Seq]; o != nil {
			events[i] = o
		}
	}
	if head > now {
		f.db.hub.PublishFollowed(mark, events, head)
	}
	f.publish()
	f.db.hub.Wake()
	return more || len(f.waiting) > 0, nil
}

// listen hears what the other processes say, on a connection of its own. ready is closed once it does, or when it is
// certain that it does not for now.
func (db *DB) listen(ctx context.Context, ready chan struct{}) {
	open := sync.OnceFunc(func() { close(ready) })
	defer open()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, db.options.Poll) {
		err := db.hear(ctx, func() {
			open()
			wait = 50 * time.Millisecond
			db.feed.hint() // of what was said while nobody listened
		})
		if ctx.Err() != nil {
			return
		}
		open()
		db.log.Warn("the database does not tell of changes now; the log is looked at every few seconds", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// hear listens until the connection ends.
func (db *DB) hear(ctx context.Context, begun func()) error {
	connecting, cancel := context.WithTimeout(ctx, db.options.Timeout)
	defer cancel()
	c, err := pgx.ConnectConfig(connecting, db.config.Copy())
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(closing)
	}()
	if _, err := c.Exec(connecting, `LISTEN `+pgx.Identifier{db.channel()}.Sanitize()); err != nil {
		return err
	}
	begun()
	for {
		waiting, cancel := context.WithTimeout(ctx, db.options.Poll)
		n, err := c.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			db.heard(n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && !c.IsClosed():
			// A connection may be gone without a word.
			asking, cancel := context.WithTimeout(ctx, db.options.Timeout)
			err := c.Ping(asking)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// heard takes in a note of another process.
func (db *DB) heard(payload string) {
	var n note
	if err := json.Unmarshal([]byte(payload), &n); err != nil {
		db.log.Warn("a notification that cannot be read", "error", err)
		return
	}
	if n.From == db.feed.name {
		return
	}
	if len(n.Runs)+len(n.Chats) > 0 {
		db.forget(setOf(n.Runs), setOf(n.Chats))
	}
	db.hub.Changed(n.Changes)
	if n.Events {
		db.feed.hint()
	}
}

func setOf(ids []string) map[string]bool {
	return maps.Collect(func(yield func(string, bool) bool) {
		for _, id := range ids {
			if !yield(id, true) {
				return
			}
		}
	})
}

// forget drops from memory what was erased, and tells those who show it.
func (db *DB) forget(runs, chats map[string]bool) {
	db.wire.queue.Erase(runs)
	db.hub.Erased(func(e *orchestrator.Event) bool { return runs[e.RunID] || chats[e.ConversationID] })
	for id := range chats {
		db.hub.Changed([]orchestrator.Change{{ConversationID: id}})
	}
	for id := range runs {
		db.hub.Changed([]orchestrator.Change{{RunID: id}})
	}
}
