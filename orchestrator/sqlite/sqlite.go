// Package sqlite keeps everything Parley knows in one SQLite file: it is the orchestrator's Store.
//
//	Write, Enqueue ──> queue ──> writer (one goroutine, one connection) ── commit ──> hub ──> followers
//	                                                                                 └─────> done, in order
//	Run, Items, Search, … <── pool of reading connections; also followers that are behind the hub's tail
//
// What it guarantees:
//
//   - What was acknowledged is on disk (synchronous=FULL, files synced before the row that names them), and nobody is
//     told of an event before that. What could not be stored is never acknowledged.
//   - The writer takes all that waits, up to a bound, into one transaction. A batch that fails fails alone.
//   - Events are numbered in the order in which they are stored. A number is never given twice, also after an erase.
//   - A follower is a cursor. It never delays the writer or another follower, and what it holds is bounded: near the end
//     of the log it shares the events in memory with all others, further behind it reads pages from the file.
//   - When the disk is full, or the file cannot be written for another reason, the store refuses writes with a sentence
//     for people, reads go on, and writing goes on by itself once it is possible again.
//   - One process has a directory open at a time. Nothing is ever deleted because it looks damaged.
//
// Times are kept to the millisecond.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/mattn/go-sqlite3"

	"parley/orchestrator"
	"parley/orchestrator/tail"
)

// Options are the parts of a DB that have a default.
type Options struct {
	Logger *slog.Logger     // nil = discard
	Now    func() time.Time // nil = time.Now
	Sync   string           // PRAGMA synchronous; "" = FULL. Anything less is for benchmarks: it may lose what was acknowledged

	busy time.Duration // 0 = busyTimeout
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
	d.Sync = cmp.Or(d.Sync, "FULL")
	d.busy = cmp.Or(d.busy, busyTimeout)
	return &d
}

// DB is an open store.
type DB struct {
	dir     string
	path    string
	options *Options
	log     *slog.Logger
	now     func() time.Time
	read    *sql.DB
	hub     *tail.Hub
	writer  *writer
	blobs   *blobs
	lock    *flock.Flock

	closing  sync.Once
	closeErr error

	received   *received
	background sync.WaitGroup     // what reads on after Open
	stop       context.CancelFunc // of background
}

var _ orchestrator.Store = (*DB)(nil)

const (
	fileName    = "parley.db"
	lockName    = "parley.db.lock" // locked while a process has the directory open
	openName    = "parley.db.open" // there while the database is open: found at Open, the last process did not close it
	ballastName = "parley.db.ballast"
)

// Open opens the store in a directory, which is made when it is absent, and brings an older one up to date.
func Open(ctx context.Context, dir string, o *Options) (_ *DB, err error) {
	o = o.defaults()
	db := &DB{dir: dir, path: filepath.Join(dir, fileName), options: o, log: o.Logger, now: o.Now, received: newReceived()}
	if v, n, _ := sqlite3.Version(); n < minVersion {
		return nil, fmt.Errorf("this program was built with SQLite %s, which is too old", v)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	db.lock = flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	switch ok, err := db.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the data directory: %w", err)
	case !ok:
		return nil, fmt.Errorf("another Parley has %s open", dir)
	}
	defer func() {
		if err != nil {
			db.lock.Unlock()
		}
	}()
	if err := db.restore(ctx); err != nil {
		return nil, err
	}
	if err := db.prepare(ctx); err != nil {
		return nil, err
	}
	if db.blobs, err = openBlobs(filepath.Join(dir, "blobs")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, openName), nil, 0o600); err != nil {
		return nil, err
	}
	c, err := dial(o.dsn(db.path, forWriting))
	if err != nil {
		return nil, unreadable(db.path, err)
	}
	// What a savepoint needs to go back stays in memory: in a file it costs more than what it guards.
	if err := c.pragma(`PRAGMA temp_store = MEMORY`); err != nil {
		c.close()
		return nil, unreadable(db.path, err)
	}
	head, err := lastSeq(c)
	if err != nil {
		c.close()
		return nil, unreadable(db.path, err)
	}
	db.read = pool(o.dsn(db.path, forReading), max(4, 2*runtime.GOMAXPROCS(0)))
	db.hub = tail.New(head)
	if db.writer, err = startWriter(db, c, head); err != nil {
		c.close()
		db.read.Close()
		return nil, unreadable(db.path, err)
	}
	var reading context.Context
	reading, db.stop = context.WithCancel(context.WithoutCancel(ctx))
	db.background.Go(func() { db.received.load(reading, db) })
	return db, nil
}

// lastSeq is the highest number ever given to an event.
func lastSeq(c *conn) (int64, error) {
	seq, _, err := c.integer(`SELECT max(seq) FROM events`)
	if err != nil {
		return 0, err
	}
	erased, _, err := c.integer(`SELECT value FROM counters WHERE name = ?`, seqCounter)
	return max(seq, erased), err
}

// seqCounter keeps the number of the newest event while that event is erased.
const seqCounter = "events.seq"

// Close stores what is queued, empties the write-ahead log into the database and lets go of the directory. Follow and
// Changes end. It may be called twice.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.stop()
		db.background.Wait()
		clean, err := db.writer.close()
		db.hub.Close()
		err = errors.Join(err, db.read.Close())
		if clean && err == nil {
			if e := os.Remove(filepath.Join(db.dir, openName)); !errors.Is(e, fs.ErrNotExist) {
				err = e
			}
		}
		db.closeErr = errors.Join(err, db.lock.Unlock())
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
