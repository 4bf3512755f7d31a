package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/wirelog"
)

// Erase removes a conversation and all that belongs to it. The server gives its place on the disk to others when it
// tidies up (VACUUM). Receipts stay, so that a message that is sent again is not acted on again.
func (db *DB) Erase(ctx context.Context, conversation string) error {
	conversation = text(conversation)
	return db.erase(ctx, func(ctx context.Context, c *pgx.Conn) (chats, runs []string, err error) {
		var found bool
		if err := c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM conversations WHERE id = $1) OR EXISTS (
			SELECT 1 FROM events WHERE conversation = $1 AND conversation <> '')`, conversation).Scan(&found); err != nil {
			return nil, nil, err
		}
		if !found {
			return nil, nil, orchestrator.ErrNotFound
		}
		runs, err = ids(ctx, c, runsOf, []string{conversation})
		return []string{conversation}, runs, err
	})
}

const runsOf = `SELECT id FROM runs WHERE conversation = ANY ($1) AND conversation <> ''`

func ids(ctx context.Context, c *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// erase removes what choose chooses, in a transaction of its own.
func (db *DB) erase(ctx context.Context, choose func(ctx context.Context, c *pgx.Conn) (chats, runs []string, err error)) error {
	var chats, runs []string
	return db.writer.waitFor(ctx, &op{
		do: func(ctx context.Context, c *pgx.Conn) (err error) {
			if chats, runs, err = choose(ctx, c); err != nil || len(chats)+len(runs) == 0 {
				return err
			}
			return remove(ctx, c, chats, runs)
		},
		note:  func() *note { return &note{Chats: chats, Runs: runs} },
		after: func() { db.forget(setOf(runs), setOf(chats)) },
	})
}

// remove deletes the rows of conversations and runs. Blobs go that no other event names.
func remove(ctx context.Context, c *pgx.Conn, chats, runs []string) error {
	var b pgx.Batch
	// The numbers of what is erased are not given again.
	b.Queue(`INSERT INTO counters (name, value) SELECT 'events.seq', seq FROM (` + newestEvent + `) AS newest (seq)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`)
	var blobs [][]byte
	b.Queue(`DELETE FROM events WHERE run = ANY ($1) OR conversation = ANY ($2) RETURNING blob`, runs, chats).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var blob []byte
				if err := rows.Scan(&blob); err != nil {
					return err
				}
				if blob != nil {
					blobs = append(blobs, blob)
				}
			}
			return rows.Err()
		})
	b.Queue(`DELETE FROM wire WHERE run = ANY ($1)`, runs)
	b.Queue(`DELETE FROM wire WHERE task <> '' AND task IN (SELECT child_task FROM steps WHERE run = ANY ($1))`, runs)
	for _, query := range []string{
		`DELETE FROM steps WHERE run = ANY ($1)`, `DELETE FROM asks WHERE run = ANY ($1)`, `DELETE FROM push WHERE task = ANY ($1)`,
		`DELETE FROM claims WHERE run = ANY ($1)`, `DELETE FROM runs WHERE id = ANY ($1)`,
	} {
		b.Queue(query, runs)
	}
	for _, query := range []string{
		`DELETE FROM items WHERE conversation = ANY ($1)`, `DELETE FROM contexts WHERE owner = ANY ($1)`,
		`DELETE FROM conversations WHERE id = ANY ($1)`,
	} {
		b.Queue(query, chats)
	}
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	_, err := c.Exec(ctx, `DELETE FROM blobs WHERE hash = ANY ($1) AND NOT EXISTS (SELECT 1 FROM events WHERE blob = hash)`, blobs)
	return err
}

// expirePage is how many runs one transaction of Expire removes at most, so that others get their turn.
const expirePage = 200

const (
	oldConversations = `SELECT id FROM conversations WHERE NOT pinned AND updated < $1 AND NOT EXISTS (
		SELECT 1 FROM runs WHERE conversation = conversations.id AND open)`
	// What a call of a plan gave is read as long as the plan goes on.
	oldRuns = `SELECT id FROM runs WHERE conversation = '' AND NOT open AND updated < $1 AND NOT (scope LIKE 'step/%' AND EXISTS (
		SELECT 1 FROM runs AS plan WHERE plan.id = substr(runs.scope, 6) AND plan.open))`
)

// Expire removes conversations that were not touched for as long as the retention setting says, but for pinned ones and
// those with an open run, and ended runs of outside callers likewise; besides that, receipts and wire records that are
// past their age. Runs and conversations count as removed. Several processes may do it at the same time.
func (db *DB) Expire(ctx context.Context, now time.Time) (removed int, err error) {
	setting, err := db.Setting(ctx, orchestrator.RetentionDays)
	if err != nil {
		return 0, err
	}
	if days, _ := strconv.Atoi(setting); days > 0 {
		before := column.Milli(now.AddDate(0, 0, -days))
		// Conversations go one at a time, because one may be large; runs of outside callers are small.
		n, err := db.expire(ctx, before, 1, oldConversations,
			func(ctx context.Context, c *pgx.Conn, still []string) (chats, runs []string, err error) {
				runs, err = ids(ctx, c, runsOf, still)
				return still, runs, err
			})
		if removed += n; err != nil {
			return removed, err
		}
		n, err = db.expire(ctx, before, expirePage, oldRuns,
			func(_ context.Context, _ *pgx.Conn, still []string) (chats, runs []string, err error) {
				return nil, still, nil
			})
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, errors.Join(
		db.deleteOld(ctx, `DELETE FROM receipts WHERE ctid = ANY (ARRAY(SELECT ctid FROM receipts WHERE at < $1 LIMIT 1000))`,
			column.Milli(now.Add(-orchestrator.ReceiptAge))),
		// Wire records are stored in the order of their time: the old ones come first.
		db.deleteOld(ctx, `DELETE FROM wire WHERE id IN (SELECT id FROM wire ORDER BY id LIMIT 1000) AND at < $1`,
			column.Milli(now.Add(-wirelog.MaxAge))),
		db.deleteOld(ctx, `DELETE FROM commits WHERE ctid = ANY (ARRAY(SELECT ctid FROM commits WHERE at < $1 LIMIT 10000))`,
			column.Milli(db.now().Add(-commitAge))),
		// What a process that ended between a blob and its event left behind.
		db.deleteOld(ctx, `DELETE FROM blobs WHERE hash IN (SELECT hash FROM blobs WHERE at < $1 AND NOT EXISTS (
			SELECT 1 FROM events WHERE blob = hash) LIMIT 100)`, column.Milli(db.now().Add(-orphanAge))),
	)
}

// commitAge is how long it is known of a transaction that it was committed: far longer than anybody waits to ask.
const commitAge = 24 * time.Hour

// orphanAge is how old a blob that no event names must be before it is taken for one that was left behind. Younger ones
// may be waiting for their event.
const orphanAge = time.Hour

// expire erases what a query finds, some at a time, and returns how many. In the transaction it is looked at again
// whether it still holds.
func (db *DB) expire(ctx context.Context, before int64, some int, query string,
	choose func(ctx context.Context, c *pgx.Conn, still []string) (chats, runs []string, err error),
) (removed int, err error) {
	old, err := list(ctx, db, scanString, query, before)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(old, some) {
		n := 0
		err := db.erase(ctx, func(ctx context.Context, c *pgx.Conn) (chats, runs []string, err error) {
			still, err := ids(ctx, c, query+` AND id = ANY ($2)`, before, part)
			if n = len(still); n == 0 || err != nil {
				return nil, nil, err
			}
			return choose(ctx, c, still)
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
	for {
		done, err := db.read.Exec(ctx, query, before)
		if err != nil || done.RowsAffected() == 0 {
			return explain(err)
		}
	}
}
