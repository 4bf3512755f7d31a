package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// minVersion is the oldest SQLite that is trusted: 3.53.2 fixed a memory error in FTS5.
const minVersion = 3_053_002

// busyTimeout is how long a statement waits for another program that holds the file.
const busyTimeout = 5 * time.Second

// access says what a connection may do.
type access string

const (
	forWriting access = "rwc"
	forReading access = "rw" // with query_only: a reader of a WAL has to write its shared memory
	forLooking access = "ro" // changes not one byte of what is stored
)

// dsn holds every pragma, so that each connection of a pool has them all.
func (o *Options) dsn(path string, a access) string {
	q := url.Values{"mode": {string(a)}, "_busy_timeout": {strconv.FormatInt(o.busy.Milliseconds(), 10)}}
	q.Set("_mutex", "no") // a connection belongs to one goroutine at a time, whoever opens it
	switch a {
	case forWriting:
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", o.Sync)
		q.Set("_foreign_keys", "on")
		q.Set("_cache_size", "-8192")
		q.Set("_txlock", "immediate")
	case forLooking:
		// A database that was closed has all it has in its one file, and no other file need be made to read it.
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			q.Set("immutable", "1")
		}
	case forReading:
		q.Set("_query_only", "on")
		q.Set("_stmt_cache_size", "64")
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// connector opens connections without a registered driver name.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite3.SQLiteDriver{} }

// pool opens a pool of at most n connections.
func pool(dsn string, n int) *sql.DB {
	p := sql.OpenDB(connector{dsn})
	p.SetMaxOpenConns(n)
	p.SetMaxIdleConns(n)
	return p
}

// conn is a connection of its own with the statements it has prepared. It belongs to one goroutine.
type conn struct {
	c     *sqlite3.SQLiteConn
	stmts map[string]*sqlite3.SQLiteStmt
	args  []driver.NamedValue
}

func dial(dsn string) (*conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{c: c.(*sqlite3.SQLiteConn), stmts: map[string]*sqlite3.SQLiteStmt{}}, nil
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	clear(c.stmts)
	return c.c.Close()
}

func (c *conn) prepare(query string) (*sqlite3.SQLiteStmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, query)
	}
	c.stmts[query] = s.(*sqlite3.SQLiteStmt)
	return c.stmts[query], nil
}

func (c *conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs one statement. args are int64, string, []byte, bool or nil.
func (c *conn) exec(query string, args ...any) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), c.named(args))
}

// pragma runs a PRAGMA. It is compiled anew each time, because many of them act while they are compiled.
func (c *conn) pragma(query string) error {
	rows, err := c.c.Query(query, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for vals := make([]driver.Value, len(rows.Columns())); err == nil; {
		err = rows.Next(vals)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// changed runs one statement and returns how many rows it changed.
func (c *conn) changed(query string, args ...any) (int64, error) {
	r, err := c.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query calls row for each row; vals is valid during the call.
func (c *conn) query(row func(vals []driver.Value) error, query string, args ...any) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), c.named(args))
	if err != nil {
		return err
	}
	defer rows.Close()
	vals := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(vals); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(vals); err != nil {
			return err
		}
	}
}

// integer returns the first column of the first row; ok is false when there is none or it is NULL.
func (c *conn) integer(query string, args ...any) (n int64, ok bool, err error) {
	err = c.query(func(vals []driver.Value) error {
		if !ok {
			n, ok = vals[0].(int64)
		}
		return nil
	}, query, args...)
	return n, ok, err
}

// integers returns the first column of all rows.
func (c *conn) integers(query string, args ...any) (all []int64, err error) {
	err = c.query(func(vals []driver.Value) error {
		all = append(all, vals[0].(int64))
		return nil
	}, query, args...)
	return all, err
}
