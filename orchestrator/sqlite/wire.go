package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/wirelog"
)

// wirePage is how many records are removed at a time to make room.
const wirePage = 64

var _ orchestrator.WireLog = (*DB)(nil)

// RecordWire queues a record, or drops it.
func (db *DB) RecordWire(r *orchestrator.WireRecord) { db.writer.wire.Put(r) }

// recordWire stores some of the records that wait, in the open transaction. What goes wrong with them is no reason to
// fail what the transaction is about.
func (w *writer) recordWire() error {
	rows, dropped := w.wire.Take()
	if dropped > 0 {
		w.db.log.Debug("wire records were dropped", "count", dropped)
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := w.c.exec(`SAVEPOINT wire`); err != nil {
		return err
	}
	err := w.storeWire(rows)
	if err != nil && !fatal(err) {
		w.db.log.Warn("store wire records", "error", err)
		_, err = w.c.exec(`ROLLBACK TO wire`)
	}
	if err == nil {
		_, err = w.c.exec(`RELEASE wire`)
	}
	return err
}

const insertWire = `INSERT INTO wire (size, run, task, at, inbound, peer, method, dialect, url, status, took, first, last, error,
	header, request, response) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (w *writer) storeWire(rows []*wirelog.Record) error {
	for _, r := range rows {
		if err := w.put(&statement{query: insertWire, args: []any{
			int64(r.Size), runID(r.RunID), r.TaskID, column.Milli(r.At), r.Inbound, r.Peer, r.Method, r.Dialect, r.URL, int64(r.Status),
			r.Took.Microseconds(), r.Events[0], r.Events[1], r.Err, r.Header, r.Request, r.Response,
		}}); err != nil {
			return err
		}
	}
	for {
		stored, _, err := w.c.integer(`SELECT value FROM counters WHERE name = 'wire.bytes'`)
		if err != nil || stored <= w.wireBytes {
			return err
		}
		if _, err = w.c.exec(`DELETE FROM wire WHERE id IN (SELECT id FROM wire ORDER BY id LIMIT ?)`, int64(wirePage)); err != nil {
			return err
		}
	}
}

// restWire stores records in a transaction of their own.
func (w *writer) restWire() bool {
	w.commit([]*op{{do: func(*conn) error { return nil }}})
	return w.sick.Load() == nil
}

const (
	wireLimit  = 50
	wireMost   = 500
	wireSearch = 5000 // records that are searched for a text, and for names
)

// WireRecords returns records, newest first.
func (db *DB) WireRecords(ctx context.Context, q orchestrator.WireQuery) ([]*orchestrator.WireRecord, error) {
	var where strings.Builder
	var args []any
	and := func(condition string, arg ...any) {
		where.WriteString(` AND ` + condition)
		args = append(args, arg...)
	}
	if q.Before > 0 {
		and(`w.id < ?`, q.Before)
	}
	if q.RunID != "" {
		runs, err := json.Marshal(append(slices.Clip(q.Calls), q.RunID))
		if err != nil {
			return nil, err
		}
		and(`w.run IN (SELECT key FROM runs WHERE id IN (SELECT value FROM json_each(?)))`, string(runs))
	}
	if q.TaskID != "" {
		and(`w.task = ?`, q.TaskID)
		and(`w.task <> ?`, "")
	}
	if q.Peer != "" {
		and(`w.peer = ?`, q.Peer)
	}
	if q.Method != "" {
		and(`w.method = ?`, q.Method)
	}
	switch q.Way {
	case orchestrator.WireOut, orchestrator.WireIn:
		and(`w.inbound = ?`, q.Way == orchestrator.WireIn)
	case orchestrator.WirePush:
		and(`w.method = ?`, orchestrator.WirePushMethod)
	}
	if q.Failed {
		and(`(w.status = 0 OR w.status >= 400 OR w.error <> '') AND w.error <> '` + orchestrator.WireRefused + `'`)
	}
	if q.Text != "" {
		like := "%" + likeEscape.Replace(q.Text) + "%"
		and(`w.id > (SELECT coalesce(max(id), 0) FROM wire) - ?`, int64(wireSearch))
		and(`(w.url LIKE ? ESCAPE '\' OR w.error LIKE ? ESCAPE '\' OR CAST(w.request AS TEXT) LIKE ? ESCAPE '\'
			OR CAST(w.response AS TEXT) LIKE ? ESCAPE '\')`, like, like, like, like)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = wireLimit
	}
	return listUntil(ctx, db, scanWire, wireColumns(q.Bare)+`WHERE true`+where.String()+` ORDER BY w.id DESC LIMIT ?`,
		append(args, min(limit, wireMost))...)
}

var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// WireRecord returns one record.
func (db *DB) WireRecord(ctx context.Context, id int64) (*orchestrator.WireRecord, error) {
	r, err := scanWire(db.read.QueryRowContext(ctx, wireColumns(false)+`WHERE w.id = ?`, id))
	return r, missing(err)
}

// WireHead returns the newest ID, and how much is stored.
func (db *DB) WireHead(ctx context.Context) (id, stored, most int64, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT (SELECT coalesce(max(id), 0) FROM wire),
		(SELECT value FROM counters WHERE name = 'wire.bytes')`).Scan(&id, &stored)
	return id, stored, db.writer.wireBytes, err
}

// WireNames returns the peers and the methods of the newest records.
func (db *DB) WireNames(ctx context.Context) (peers, methods []string, err error) {
	name := func(row scanner) (s string, err error) { return s, row.Scan(&s) }
	distinct := func(column string) ([]string, error) {
		return list(ctx, db, name, `SELECT DISTINCT `+column+` FROM wire WHERE id > (SELECT coalesce(max(id), 0) FROM wire) - ?
			AND `+column+` <> '' ORDER BY 1`, int64(wireSearch))
	}
	if peers, err = distinct(`peer`); err == nil {
		methods, err = distinct(`method`)
	}
	return peers, methods, err
}

func wireColumns(bare bool) string {
	bodies := `w.header, w.request, w.response`
	if bare {
		bodies = `NULL, NULL, NULL`
	}
	return `SELECT w.id, r.id, w.task, w.at, w.inbound, w.peer, w.method, w.dialect, w.url, w.status, w.took, w.first, w.last,
		w.error, coalesce(length(w.request), 0), coalesce(length(w.response), 0), ` + bodies + `
		FROM wire w LEFT JOIN runs r ON r.key = w.run `
}

func scanWire(row scanner) (*orchestrator.WireRecord, error) {
	var (
		r        orchestrator.WireRecord
		run      sql.NullString
		at, took int64
		header   []byte
	)
	err := row.Scan(&r.ID, &run, &r.TaskID, &at, &r.Inbound, &r.Peer, &r.Method, &r.Dialect, &r.URL, &r.Status, &took,
		&r.Events[0], &r.Events[1], &r.Err, &r.Sizes[0], &r.Sizes[1], &header, &r.Request, &r.Response)
	if err != nil {
		return nil, err
	}
	r.RunID, r.At, r.Took = run.String, column.Time(at), time.Duration(took)*time.Microsecond
	return &r, column.Read(header, &r.Header)
}
