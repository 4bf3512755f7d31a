package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// minVersion is the oldest server that is trusted: the oldest that is still looked after.
const minVersion = 14_00_00

// prepare sees to it that the schema is the one this program knows. Of several processes that start at once, one changes
// it and the others wait. A database that is not fit is left exactly as it was found.
func (db *DB) prepare(ctx context.Context) error {
	steps, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	return db.migrate(ctx, steps)
}

func (db *DB) migrate(ctx context.Context, steps fs.FS) error {
	have, err := db.look(ctx)
	if err != nil {
		return err
	}
	known, err := newest(steps)
	if err != nil {
		return err
	}
	switch {
	case have == known:
		return nil
	case have > known:
		return fmt.Errorf("the database was written by a newer Parley (its schema is %d, this program knows %d): use that one; "+
			"nothing was changed", have, known)
	}
	sum := fnv.New64a()
	sum.Write([]byte("parley schema " + db.schema))
	turn, err := lock.NewPostgresSessionLocker(lock.WithLockID(int64(sum.Sum64())), lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	p := stdlib.OpenDB(*db.config.Copy())
	defer p.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, p, steps,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.log), goose.WithSessionLocker(turn))
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("change the schema of the database: %w", err)
	}
	return nil
}

// newest is the number of the last migration.
func newest(steps fs.FS) (int64, error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return 0, err
	}
	var n int64
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		n = max(n, v)
	}
	return n, nil
}

// look returns the version of the schema, 0 when there is none yet, without changing anything.
func (db *DB) look(ctx context.Context) (version int64, err error) {
	c, err := pgx.ConnectConfig(ctx, db.config.Copy())
	if err != nil {
		return 0, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var number int
	var encoding, fsync string
	var schema, table *string
	if err := c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
		current_setting('server_encoding'), current_setting('fsync'), current_schema(), to_regclass(current_schema() || '.`+goose.DefaultTablename+`')::text`).
		Scan(&db.version, &number, &encoding, &fsync, &schema, &table); err != nil {
		return 0, err
	}
	switch {
	case number < minVersion:
		return 0, fmt.Errorf("the server is PostgreSQL %s; Parley needs %d or newer", db.version, minVersion/10000)
	case encoding != "UTF8":
		return 0, fmt.Errorf("the database has the encoding %s; Parley needs one with UTF8", encoding)
	case schema == nil:
		return 0, errors.New("the schema that the address names (search_path) is not there: make it first")
	}
	if fsync != "on" {
		db.log.Warn("the database server runs with fsync off: what is acknowledged may be lost when its machine stops")
	}
	db.schema = *schema
	if table == nil {
		return 0, nil
	}
	err = c.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+goose.DefaultTablename).Scan(&version)
	return version, err
}
