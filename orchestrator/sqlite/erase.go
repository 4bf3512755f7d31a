package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/wirelog"
)

// Erase removes a conversation and all that belongs to it. What was in its place on the disk is overwritten. Receipts
// stay, so that a message that is sent again is not acted on again.
func (db *DB) Erase(ctx context.Context, conversation string) error {
	found := false
	if err := db.erase(ctx, func(c *conn) (conversations, runs []int64, err error) {
		key, ok, err := c.integer(`SELECT key FROM conversations WHERE id = ?`, conversation)
		if found = ok; !ok || err != nil {
			return nil, nil, err
		}
		runs, err = c.integers(`SELECT key FROM runs WHERE conversation = ?`, key)
		return []int64{key}, runs, err
	}); err != nil {
		return err
	}
	if !found {
		return orchestrator.ErrNotFound
	}
	return nil
}

// erase removes what choose chooses, in a transaction of its own.
func (db *DB) erase(ctx context.Context, choose func(*conn) (conversations, runs []int64, err error)) error {
	e := &eraser{}
	return db.writer.waitFor(ctx, &op{
		limps: true,
		scrub: true,
		do: func(c *conn) error {
			*e = eraser{c: c, runs: map[string]bool{}, chats: map[string]bool{}}
			conversations, runs, err := choose(c)
			if err != nil {
				return err
			}
			for _, key := range runs {
				e.run(key)
			}
			for _, key := range conversations {
				e.conversation(key)
			}
			db.writer.wire.Erase(e.runs)
			e.exec(`INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)`, seqCounter, db.writer.seq)
			return e.err
		},
		after: func() { e.after(db) },
	})
}

// eraser deletes rows and remembers what is to be done once that is committed. After an error it does nothing more.
type eraser struct {
	c     *conn
	err   error
	blobs []hash
	runs  map[string]bool // ids
	chats map[string]bool // ids of conversations
}

func (e *eraser) exec(query string, args ...any) {
	if e.err == nil {
		_, e.err = e.c.exec(query, args...)
	}
}

// events deletes the events that a condition names.
func (e *eraser) events(where string, key int64) {
	if e.err != nil {
		return
	}
	e.err = e.c.query(func(vals []driver.Value) error {
		e.blobs = append(e.blobs, hash(vals[0].([]byte)))
		return nil
	}, `SELECT blob FROM events WHERE blob IS NOT NULL AND `+where, key)
	e.exec(`DELETE FROM events WHERE `+where, key)
}

// name remembers the id behind a key.
func (e *eraser) name(in map[string]bool, query string, key int64) {
	if e.err != nil {
		return
	}
	e.err = e.c.query(func(vals []driver.Value) error {
		in[vals[0].(string)] = true
		return nil
	}, query, key)
}

func (e *eraser) run(key int64) {
	e.name(e.runs, `SELECT id FROM runs WHERE key = ?`, key)
	e.events(`run = ?`, key)
	e.exec(`DELETE FROM wire WHERE run = ?`, key)
	e.exec(`DELETE FROM wire WHERE task <> '' AND task IN (SELECT child_task FROM steps WHERE run = ?)`, key)
	e.exec(`DELETE FROM steps WHERE run = ?`, key)
	e.exec(`DELETE FROM asks WHERE run = ?`, key)
	e.exec(`DELETE FROM push WHERE task = (SELECT id FROM runs WHERE key = ?)`, key)
	e.exec(`DELETE FROM runs WHERE key = ?`, key)
}

func (e *eraser) conversation(key int64) {
	e.name(e.chats, `SELECT id FROM conversations WHERE key = ?`, key)
	e.events(`conversation = ?`, key)
	e.exec(`DELETE FROM items_fts WHERE rowid IN (SELECT id FROM items WHERE conversation = ?)`, key)
	e.exec(`DELETE FROM items WHERE conversation = ?`, key)
	e.exec(`DELETE FROM contexts WHERE owner = (SELECT id FROM conversations WHERE key = ?)`, key)
	e.exec(`DELETE FROM conversations WHERE key = ?`, key)
}

// after does what follows the commit. A crash in between leaves files that the next sweep takes away.
func (e *eraser) after(db *DB) {
	w := db.writer
	warn := func(what string, err error) {
		if err != nil {
			db.log.Warn(what, "error", err)
		}
	}
	w.forget()
	w.index = untidy
	db.hub.Erased(func(ev *orchestrator.Event) bool { return e.runs[ev.RunID] || e.chats[ev.ConversationID] })
	for id := range e.chats {
		db.hub.Changed([]orchestrator.Change{{ConversationID: id}})
	}
	for id := range e.runs {
		db.hub.Changed([]orchestrator.Change{{RunID: id}})
	}
	for _, h := range e.blobs {
		named, err := w.names(h)
		if err == nil && !named {
			err = db.blobs.remove(h)
		}
		warn("erase a blob", err)
	}
	// What was erased is in the write-ahead log too.
	warn("empty the write-ahead log", w.checkpoint())
}

// names reports whether an event has its body in a blob.
func (w *writer) names(h hash) (bool, error) {
	_, ok, err := w.c.integer(`SELECT 1 FROM events WHERE blob = ? LIMIT 1`, h[:])
	return ok, err
}

// expirePage is how many rows one transaction of Expire removes at most, so that others get their turn.
const expirePage = 200

// Expire removes conversations that were not touched for as long as the retention setting says, but for pinned ones and
// those with an open run, and ended runs of outside callers likewise; besides that, receipts and wire records that are
// past their age. Runs and conversations count as removed.
func (db *DB) Expire(ctx context.Context, now time.Time) (removed int, err error) {
	setting, err := db.Setting(ctx, orchestrator.RetentionDays)
	if err != nil {
		return 0, err
	}
	if days, _ := strconv.Atoi(setting); days > 0 {
		before := column.Milli(now.AddDate(0, 0, -days))
		// Conversations go one at a time, because one may be large; runs of outside callers are small.
		conversations, err := db.expire(ctx, before, 1, `SELECT key FROM conversations c WHERE title IS NOT NULL
			AND pinned = 0 AND updated < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE conversation = c.key AND open = 1)`,
			func(c *conn, keys []int64) (conversations, runs []int64, err error) {
				for _, key := range keys {
					of, err := c.integers(`SELECT key FROM runs WHERE conversation = ?`, key)
					if err != nil {
						return nil, nil, err
					}
					runs = append(runs, of...)
				}
				return keys, runs, nil
			})
		removed += conversations
		if err != nil {
			return removed, err
		}
		runs, err := db.expire(ctx, before, expirePage, `SELECT key FROM runs WHERE conversation IS NULL AND open = 0
			AND updated < ? AND NOT (scope LIKE 'step/%' AND EXISTS (SELECT 1 FROM runs p WHERE p.id = substr(runs.scope, 6) AND p.open = 1))`,
			func(_ *conn, keys []int64) (conversations, runs []int64, err error) { return nil, keys, nil })
		removed += runs
		if err != nil {
			return removed, err
		}
	}
	err = errors.Join(
		// Receipts and wire records are stored in the order of their time: the old ones come first.
		db.deleteOld(ctx, `DELETE FROM receipts WHERE key IN (
			SELECT key FROM receipts ORDER BY key LIMIT 1000) AND at < ?`, column.Milli(now.Add(-orchestrator.ReceiptAge))),
		db.deleteOld(ctx, `DELETE FROM wire WHERE id IN (SELECT id FROM wire ORDER BY id LIMIT 1000) AND at < ?`,
			column.Milli(now.Add(-wirelog.MaxAge))),
		db.sweep(ctx, now),
	)
	return removed, err
}

// expire erases what a query finds, some at a time, and returns how many. The query looks for it on a connection for
// reading; the writer only looks whether it still holds.
func (db *DB) expire(ctx context.Context, before int64, some int, query string,
	choose func(c *conn, keys []int64) (conversations, runs []int64, err error),
) (removed int, err error) {
	keys, err := listUntil(ctx, db, func(row scanner) (key int64, err error) { return key, row.Scan(&key) }, query, before)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(keys, some) {
		wanted, _ := json.Marshal(part) // of numbers
		n := 0
		err := db.erase(ctx, func(c *conn) (conversations, runs []int64, err error) {
			still, err := c.integers(query+` AND key IN (SELECT value FROM json_each(?))`, before, string(wanted))
			if err != nil {
				return nil, nil, err
			}
			n = len(still)
			return choose(c, still)
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// deleteOld repeats a statement that deletes a page of rows, until there is none left.
func (db *DB) deleteOld(ctx context.Context, query string, before int64) error {
	for n := int64(1); n > 0; {
		if err := db.writer.waitFor(ctx, &op{limps: true, do: func(c *conn) (err error) {
			n, err = c.changed(query, before)
			return err
		}}); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes blobs that no event names.
func (db *DB) sweep(ctx context.Context, now time.Time) error {
	return db.blobs.sweep(now, func(h hash) (named bool, err error) {
		err = db.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM events WHERE blob = ?)`, h[:]).Scan(&named)
		return named, err
	})
}
