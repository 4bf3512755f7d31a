package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

// PutPush stores p in place of the one of its task and id. It returns ErrTooMany, and stores nothing, when the task would
// then have more than most.
func (db *DB) PutPush(ctx context.Context, p *orchestrator.StoredPush, most int) error {
	b := &batch{}
	b.add(`INSERT INTO push (uid, scope, principal, task, id, body, created, seq, state)
		SELECT $1, $2, $3, $4::text, $5::text, $6, $7, $8, $9 WHERE (SELECT count(*) FROM push WHERE task = $4 AND id <> $5) < $10
		ON CONFLICT (task, id) DO UPDATE SET uid = excluded.uid, scope = excluded.scope, principal = excluded.principal,
			body = excluded.body, created = excluded.created, seq = excluded.seq, state = excluded.state, attempts = 0, next = 0,
			status = 0, error = '' RETURNING uid`,
		p.UID, p.Scope, p.Principal, p.Task, p.ID, p.Body, column.Milli(p.Created), p.Seq, p.State, most,
	).then = func(row pgx.Row) error {
		var uid string
		err := row.Scan(&uid)
		if errors.Is(err, pgx.ErrNoRows) {
			return orchestrator.ErrTooMany
		}
		return err
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
	return list(ctx, db, scanPush, pushColumns+`WHERE task = $1 ORDER BY id`, task)
}

// DeletePush removes one webhook of a task, if it is there.
func (db *DB) DeletePush(ctx context.Context, task, id string) error {
	b := &batch{}
	b.add(`DELETE FROM push WHERE task = $1 AND id = $2`, task, id)
	return db.writer.waitFor(ctx, &op{batch: b})
}

// MovePushes stores how far webhooks have been told; those that are not there, or came further in another process, are
// left out.
func (db *DB) MovePushes(ctx context.Context, all []orchestrator.PushMove) error {
	b := &batch{}
	for _, p := range all {
		b.add(`UPDATE push SET seq = $1, state = $2, attempts = $3, next = $4, status = $5, error = $6 WHERE uid = $7 AND seq <= $1`,
			p.Seq, p.State, p.Attempts, column.Milli(p.Next), p.Status, p.Error, p.UID)
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
			page, err := list(ctx, db, scanPush, pushColumns+`WHERE state <> 'done' AND uid > $1 ORDER BY uid LIMIT $2`, last, pushPage)
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
