// Package postgres keeps everything Parley knows in a PostgreSQL database that several processes share: it is the
// orchestrator's Store where one machine is not enough.
//
//	Write, Enqueue ──> queue ──> writer (one goroutine, one connection) ── commit ──> feed ──> hub ──> followers
//	                                                    │                              ▲
//	                                                  NOTIFY ──> the other processes ──┘ read what they follow
//	Run, Items, Search, … <── pool of reading connections; also followers that are behind the hub's tail
//
// What it guarantees, beside what every Store does:
//
//   - What was acknowledged is committed, with synchronous_commit on. Where the connection breaks during a commit, the
//     server is asked what became of it before anybody is told: no batch is reported as failed that was stored.
//   - A transaction of a writer is two round trips. All that holds others up, from the lock to the commit, is sent in the
//     second one as a whole, so that a process that stands still holds up nobody.
//   - Writers of all processes take turns (an advisory lock until the end of the transaction). So events are numbered in
//     the order in which they become visible, without a gap: whoever sees number N has all before it. A number is never
//     given twice, also after an erase.
//   - The claim of a run is checked in the transaction of the batch that goes by it.
//   - A notification is a hint. A follower reads on by the number it has; after a lost connection, and every few seconds,
//     the log is looked at without a hint.
//   - When the database cannot be reached or takes no writes, the store refuses writes with a sentence for people, what
//     can still be read is read, and writing goes on by itself once it is possible again.
//
// One schema holds one Parley; where the address names none, that is the public one. Texts keep every character but two:
// NUL and broken UTF-8 become U+FFFD, because the database takes neither. Times are kept to the millisecond.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/orchestrator"
	"parley/orchestrator/tail"
	"parley/orchestrator/wirelog"
)

// Options are the parts of a DB that have a default.
type Options struct {
	Logger  *slog.Logger     // nil = discard
	Now     func() time.Time // nil = time.Now
	Timeout time.Duration    // of one exchange with the server, the wait for other writers included; 0 = 15 s
	Poll    time.Duration    // how often the log is looked at without a hint; 0 = 5 s

	wireBytes int64 // of wire records in all; 0 = wirelog.MaxBytes
}

// defaults returns a copy of o in which all is set.
func (o *Options) defaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Timeout = cmp.Or(d.Timeout, 15*time.Second)
	d.Poll = cmp.Or(d.Poll, 5*time.Second)
	d.wireBytes = cmp.Or(d.wireBytes, wirelog.MaxBytes)
	return &d
}

// DB is an open store.
type DB struct {
	options *Options
	log     *slog.Logger
	now     func() time.Time
	config  *pgx.ConnConfig // of the writer and the listener
	schema  string
	version string // of the server
	read    *pgxpool.Pool
	hub     *tail.Hub
	feed    *feed
	writer  *writer
	wire    *wireWriter

	closing    sync.Once
	closeErr   error
	stopped    context.Context    // of background
	stop       context.CancelFunc // of stopped
	background sync.WaitGroup
}

var (
	_ orchestrator.Store   = (*DB)(nil)
	_ orchestrator.Shared  = (*DB)(nil)
	_ orchestrator.WireLog = (*DB)(nil)
	_ orchestrator.Ledger  = (*DB)(nil)
	_ orchestrator.Pushes  = (*DB)(nil)
	_ orchestrator.Leader  = (*DB)(nil)
)

// Open opens the store at an address (postgres://user@host/database?sslmode=verify-full, or key=value pairs; all that
// pgx and libpq know) and brings an older schema up to date. A newer one is refused.
func Open(ctx context.Context, address string, o *Options) (_ *DB, err error) {
	o = o.defaults()
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the database cannot be read: %w", err)
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "parley"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = o.Timeout
	}
	db := &DB{options: o, log: o.Logger, now: o.Now, config: config.ConnConfig.Copy()}
	if err := db.prepare(ctx); err != nil {
		return nil, explain(err)
	}
	if db.read, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, explain(err)
	}
	defer func() {
		if err != nil {
			db.read.Close()
		}
	}()
	head, err := db.Head(ctx)
	if err != nil {
		return nil, err
	}
	db.hub = tail.New(head)
	db.feed = newFeed(db)
	db.stopped, db.stop = context.WithCancel(context.WithoutCancel(ctx))
	db.wire = &wireWriter{db: db, most: o.wireBytes, wake: make(chan struct{}, 1)}
	db.wire.queue = wirelog.NewQueue(db.wire.nudge)
	listening := make(chan struct{})
	db.background.Go(func() { db.listen(db.stopped, listening) })
	db.background.Go(func() { db.feed.run(db.stopped) })
	db.background.Go(func() { db.wire.run(db.stopped) })
	db.writer = startWriter(db)
	select { // so that no hint is missed of what is written from now on
	case <-listening:
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), db.Close())
	}
	return db, nil
}

// Version names the server, e.g. "PostgreSQL 15.8".
func (db *DB) Version() string { return "PostgreSQL " + db.version }

// Close stores what is queued and lets go of the database. Follow and Changes end. It may be called twice.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.wire.queue.Stop()
		db.closeErr = db.writer.close()
		db.stop()
		db.background.Wait()
		db.hub.Close()
		db.read.Close()
	})
	return db.closeErr
}

// Healthy returns nil, or why nothing can be written now.
func (db *DB) Healthy() error {
	if e := db.writer.sick.Load(); e != nil {
		return e
	}
	return nil
}

// Changes yields hints of what changed, in any process, until ctx is done or the store is closed.
func (db *DB) Changes(ctx context.Context) iter.Seq[orchestrator.Change] { return db.hub.Changes(ctx) }
