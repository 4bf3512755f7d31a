package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
)

// Claim makes the caller the only one whose batches may name a run. It waits for what was queued here before it.
func (db *DB) Claim(ctx context.Context, run string) (int64, error) {
	var epoch int64 // read only once it is there: a caller who gave up leaves it to the writer
	b := &batch{claim: run}
	b.add(`INSERT INTO claims (run, epoch) VALUES ($1, nextval('claim_numbers'))
		ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch RETURNING epoch`, run).
		then = func(row pgx.Row) error { return row.Scan(&epoch) }
	b.change(orchestrator.Change{RunID: run})
	if err := db.writer.waitFor(ctx, &op{batch: b}); err != nil {
		return 0, err
	}
	return epoch, nil
}

// Claimed returns the newest claim of a run, 0 when nobody ever claimed it.
func (db *DB) Claimed(ctx context.Context, run string) (epoch int64, err error) {
	err = db.row(ctx, `SELECT epoch FROM claims WHERE run = $1`, run).Scan(&epoch)
	if errors.Is(err, orchestrator.ErrNotFound) {
		err = nil
	}
	return epoch, err
}

// OpenCount returns how many runs of a principal have not ended: those that go on, and those that wait for somebody.
// Demo agents' own runs are not among them.
func (db *DB) OpenCount(ctx context.Context, principal string) (running, interrupted int, err error) {
	err = db.row(ctx, `SELECT count(*) FILTER (WHERE NOT state = ANY ($2)), count(*) FILTER (WHERE state = ANY ($2)) FROM runs
		WHERE open AND state <> '' AND principal = $1 AND NOT (scope >= $3 AND scope < $4)`, principal,
		[]string{string(a2a.TaskStateInputRequired), string(a2a.TaskStateAuthRequired)}, orchestrator.DemoScope, behindDemos).
		Scan(&running, &interrupted)
	return running, interrupted, err
}
