package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

var _ orchestrator.Pushes = (*DB)(nil)

// PutPush stores p in place of the one of its task and id. It returns ErrTooMany, and stores nothing, when the task would
// then have more than most.
func (db *DB) PutPush(ctx context.Context, p *orchestrator.StoredPush, most int) error {
	b := &batch{}
	b.add(`INSERT OR REPLACE INTO push (uid, scope, principal, task, id, body, created, seq, state)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE (SELECT count(*) FROM push WHERE task = ?4 AND id <> ?5) < ?10`,
		p.UID, p.Scope, p.Principal, p.Task, p.ID, p.Body, column.Milli(p.Created), p.Seq, p.State, int64(most),
	).then = func(_ *writer, r driver.Result) error {
		if n, err := r.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return orchestrator.ErrTooMany
	}
	return db.writer.waitFor(ctx, &op{batch: b})
}

const pushColumns = `SELECT uid, scope, principal, task, id, body, created, seq, state, attempts, next, status, error FROM push `

func scanPush(row scanner) (*orchestrator.StoredPush, error) {
	var p orchestrator.StoredPush
	var created, next int64
	err := row.Scan(&p.UID, &p.Scope, &p.Principal, &p.Task, &p.ID, &p.Body, &created, &p.Seq, &p.State, &p.Attempts, &next,
		&p.Status, &p.Error)
	p.Created, p.Next = column.Time(created), column.Time(next)
	return &p, err
}

// Pushes returns the webhooks of a task.
func (db *DB) Pushes(ctx context.Context, task string) ([]*orchestrator.StoredPush, error) {
	return list(ctx, db, scanPush, pushColumns+`WHERE task = ?`, task)
}

// DeletePush removes one webhook of a task, if it is there.
func (db *DB) DeletePush(ctx context.Context, task, id string) error {
	b := &batch{}
	b.add(`DELETE FROM push WHERE task = ? AND id = ?`, task, id)
	return db.writer.waitFor(ctx, &op{batch: b})
}

// MovePushes stores how far webhooks have been told; those that are not there are left out.
func (db *DB) MovePushes(ctx context.Context, all []orchestrator.PushMove) error {
	b := &batch{}
	for _, p := range all {
		b.add(`UPDATE push SET seq = ?, state = ?, attempts = ?, next = ?, status = ?, error = ? WHERE uid = ?`,
			p.Seq, p.State, int64(p.Attempts), column.Milli(p.Next), int64(p.Status), p.Error, p.UID)
	}
	return db.writer.waitFor(ctx, &op{batch: b})
}

// pushPage is how many rows OpenPushes reads at a time, so that a slow reader keeps no snapshot of the database open.
const pushPage = 256

// OpenPushes yields the webhooks that may still be told something, oldest first.
func (db *DB) OpenPushes(ctx context.Context) iter.Seq2[*orchestrator.StoredPush, error] {
	return func(yield func(*orchestrator.StoredPush, error) bool) {
		last := ""
		for {
			page, err := list(ctx, db, scanPush,
				pushColumns+`INDEXED BY push_open WHERE state <> 'done' AND uid > ? ORDER BY uid LIMIT ?`, last, int64(pushPage))
			if err != nil {
				yield(nil, err)
				return
			}
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
				last = p.UID
			}
			if len(page) < pushPage {
				return
			}
		}
	}
}
