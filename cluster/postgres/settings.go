package postgres

import (
	"context"
	"errors"

	"parley/orchestrator"
)

// Setting returns a named value, "" when it is not set.
func (db *DB) Setting(ctx context.Context, name string) (value string, err error) {
	err = db.row(ctx, `SELECT value FROM settings WHERE name = $1`, name).Scan(&value)
	if errors.Is(err, orchestrator.ErrNotFound) {
		return "", nil
	}
	return value, err
}
