package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
)

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// rows runs a query on a connection for reading.
func (db *DB) rows(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	rows, err := db.read.Query(ctx, query, clean(args)...)
	return rows, explain(err)
}

// row is rows for a single row.
func (db *DB) row(ctx context.Context, query string, args ...any) scanner {
	return explained{db.read.QueryRow(ctx, query, clean(args)...)}
}

// explained is a row whose errors are explained; a missing one is ErrNotFound.
type explained struct{ row pgx.Row }

func (r explained) Scan(dest ...any) error { return missing(explain(r.row.Scan(dest...))) }

// missing turns the driver's word for no row into ours.
func missing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return orchestrator.ErrNotFound
	}
	return err
}

// list reads all rows of a query.
func list[T any](ctx context.Context, db *DB, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.rows(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		x, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, explain(rows.Err())
}

func scanString(row scanner) (s string, err error) { return s, row.Scan(&s) }
