package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// keptBackups is how many copies from before a migration are kept.
const keptBackups = 3

// prepare sees to it that the file is there, sound, and of the schema this program knows. A file that is not fit is left
// exactly as it was found.
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
		return fmt.Errorf("%s was written by a newer Parley (its schema is %d, this program knows %d): use that one; "+
			"nothing was changed", db.path, have, known)
	}
	p := pool(db.options.dsn(db.path, forWriting), 1)
	defer p.Close()
	if have > 0 {
		if err := db.backup(ctx, p, have); err != nil {
			return fmt.Errorf("copy %s before its schema is changed: %w", db.path, err)
		}
	} else if err := create(db.path); err != nil {
		return err
	}
	all, err := migrations(steps)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, p, nil,
		goose.WithGoMigrations(all...), goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.log))
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("change the schema of %s: %w", db.path, err)
	}
	return nil
}

// migrations are the steps in the files, each of which SQLite reads as a whole: it knows best where a statement ends, and
// goose takes megabytes to find out. They only go up.
func migrations(steps fs.FS) ([]*goose.Migration, error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return nil, err
	}
	var all []*goose.Migration
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(steps, name)
		if err != nil {
			return nil, err
		}
		all = append(all, goose.NewGoMigration(v, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, string(text)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}}, nil))
	}
	return all, nil
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

// create makes an empty file that nobody else can read; SQLite gives its companions the same mode.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// look returns the schema version of the file, 0 when there is none yet, without changing a byte of it. After a process
// that did not close the database, the file is checked as a whole.
func (db *DB) look(ctx context.Context) (version int64, err error) {
	switch info, err := os.Stat(db.path); {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case info.Size() == 0:
		return 0, nil
	}
	p := pool(db.options.dsn(db.path, forLooking), 1)
	defer p.Close()
	var n int
	if err := p.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = ?`,
		goose.DefaultTablename).Scan(&n); err != nil {
		return 0, unreadable(db.path, err)
	}
	if n == 0 {
		// Either no database of ours, or the first start was cut off before its transaction.
		if err := p.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n); err != nil {
			return 0, unreadable(db.path, err)
		}
		if n > 0 {
			return 0, fmt.Errorf("%s is a database, but none of Parley's; nothing was changed", db.path)
		}
		return 0, nil
	}
	if err := p.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+goose.DefaultTablename).
		Scan(&version); err != nil {
		return 0, unreadable(db.path, err)
	}
	if _, err := os.Stat(filepath.Join(db.dir, openName)); err == nil {
		db.log.Info("the database was not closed the last time; checking it", "path", db.path)
		if err := quickCheck(ctx, p); err != nil {
			return 0, unreadable(db.path, err)
		}
	}
	return version, nil
}

// quickCheck reads the whole database and returns what is wrong with it.
func quickCheck(ctx context.Context, p *sql.DB) error {
	rows, err := p.QueryContext(ctx, `PRAGMA quick_check(1)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		if s != "ok" {
			return errors.New(s)
		}
	}
	return rows.Err()
}

// unreadable puts an error of SQLite into words for the person at the terminal.
func unreadable(path string, err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) {
		switch e.Code {
		case sqlite3.ErrBusy, sqlite3.ErrLocked:
			return fmt.Errorf("%s is locked by another program: %w", path, err)
		case sqlite3.ErrNotADB:
			return fmt.Errorf("%s is not a database; nothing was changed: %w", path, err)
		case sqlite3.ErrCantOpen, sqlite3.ErrPerm, sqlite3.ErrReadonly, sqlite3.ErrAuth:
			return fmt.Errorf("%s cannot be opened: %w", path, err)
		case sqlite3.ErrFull:
			return fmt.Errorf("the disk that holds %s is full: %w", path, err)
		}
	}
	return fmt.Errorf("%s is damaged; it was left as it is. Copies from before upgrades are in %s: %w",
		path, filepath.Join(filepath.Dir(path), backupDir), err)
}

const backupDir = "backups"

// backup writes a checked copy into the backup directory and keeps the newest few.
func (db *DB) backup(ctx context.Context, p *sql.DB, version int64) error {
	dir := filepath.Join(db.dir, backupDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("parley-%s-v%d.db", db.now().UTC().Format("20060102T150405.000"), version)
	if err := db.copyTo(ctx, p, filepath.Join(dir, name)); err != nil {
		return err
	}
	return prune(dir)
}

// copyTo writes a checked copy of the database to path: all of it or nothing.
func (db *DB) copyTo(ctx context.Context, p *sql.DB, path string) (err error) {
	part := path + ".part"
	os.Remove(part) // of an earlier start that was cut off
	if err := create(part); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	if _, err := p.ExecContext(ctx, `VACUUM INTO ?`, part); err != nil {
		return err
	}
	copied := pool(db.options.dsn(part, forLooking), 1)
	err = quickCheck(ctx, copied)
	copied.Close()
	if err != nil {
		return fmt.Errorf("the copy is not sound: %w", err)
	}
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// prune removes all but the newest backups. Their names sort by time.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "parley-") && strings.HasSuffix(e.Name(), ".db") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for len(names) > keptBackups {
		if err := os.Remove(filepath.Join(dir, names[0])); err != nil {
			return err
		}
		names = names[1:]
	}
	return nil
}
