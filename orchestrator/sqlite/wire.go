package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/orchestrator"
)

// Bounds of what is kept of the wire. What does not fit into the queue, because events come first, is dropped.
const (
	wireBytes  = 256 << 20 // stored in all
	wireBody   = 256 << 10 // of one body; the rest of a longer one is left out
	wireQueued = 1024      // records waiting to be stored
	wireWaits  = 8 << 20   // bytes waiting to be stored
	wireGroup  = 32        // records that go along with one transaction
	wireDelay  = 100 * time.Millisecond
	wirePage   = 64  // records removed at a time to make room
	wireErased = 256 // erased runs that are remembered
)

var _ orchestrator.WireLog = (*DB)(nil)

// wireQueue holds records until the writer has time for them.
type wireQueue struct {
	mu      sync.Mutex
	records []*wireRow
	bytes   int
	dropped int
	since   time.Time // the first of records came
	timer   *time.Timer
	stopped bool
	most    int64    // stored in all
	erased  []string // runs that were erased lately: nothing more is kept of them
}

// wireRow is a record as it is stored.
type wireRow struct {
	statement
	run  string
	size int
}

// RecordWire queues a record, or drops it.
func (db *DB) RecordWire(r *orchestrator.WireRecord) {
	q := &db.writer.wire
	row := wireRowOf(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped || r.RunID != "" && slices.Contains(q.erased, r.RunID) {
		return
	}
	if len(q.records) >= wireQueued || q.bytes+row.size > wireWaits {
		q.dropped++
		return
	}
	if len(q.records) == 0 {
		q.since = time.Now()
		if q.timer == nil {
			q.timer = time.AfterFunc(wireDelay, db.writer.nudge)
		} else {
			q.timer.Reset(wireDelay)
		}
	}
	q.records = append(q.records, row)
	q.bytes += row.size
}

func wireRowOf(r *orchestrator.WireRecord) *wireRow {
	header := maskHeader(r.Header)
	request, response := cut(maskBody(r.Request)), cut(maskBody(r.Response))
	size := len(header) + len(request) + len(response) + len(r.URL) + 256
	return &wireRow{run: r.RunID, size: size, statement: statement{
		query: `INSERT INTO wire (size, run, task, at, inbound, peer, method, dialect, url, status, took, first, last, error,
			header, request, response) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		args: []any{
			int64(size), runID(r.RunID), r.TaskID, milli(r.At), r.Inbound, r.Peer, r.Method, r.Dialect, maskURL(r.URL),
			int64(r.Status), r.Took.Microseconds(), r.Events[0], r.Events[1], r.Err, header, request, response,
		},
	}}
}

func cut(body []byte) []byte { return body[:min(len(body), wireBody):min(len(body), wireBody)] }

// erase drops the records of runs that are being erased. An exchange may end, and be recorded, after its run is gone: it
// is remembered for a while which those are.
func (q *wireQueue) erase(runs map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.records = slices.DeleteFunc(q.records, func(r *wireRow) bool {
		if runs[r.run] {
			q.bytes -= r.size
		}
		return runs[r.run]
	})
	q.erased = slices.AppendSeq(q.erased, maps.Keys(runs))
	q.erased = q.erased[max(0, len(q.erased)-wireErased):]
}

// due reports whether records have waited that long.
func (q *wireQueue) due(wait time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.records) > 0 && time.Since(q.since) >= wait
}

// take returns the oldest records, and how many were dropped since the last time.
func (q *wireQueue) take() (rows []*wireRow, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.records), wireGroup)
	rows = q.records[:n:n]
	if q.records = q.records[n:]; len(q.records) == 0 {
		q.records = nil
	}
	for _, r := range rows {
		q.bytes -= r.size
	}
	dropped, q.dropped = q.dropped, 0
	return rows, dropped
}

func (q *wireQueue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
}

// recordWire stores some of the records that wait, in the open transaction. What goes wrong with them is no reason to
// fail what the transaction is about.
func (w *writer) recordWire() error {
	rows, dropped := w.wire.take()
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

func (w *writer) storeWire(rows []*wireRow) error {
	for _, r := range rows {
		if err := w.put(&r.statement); err != nil {
			return err
		}
	}
	stored, _, err := w.c.integer(`SELECT value FROM counters WHERE name = 'wire.bytes'`)
	if err != nil || stored <= w.wire.most {
		return err
	}
	_, err = w.c.exec(`DELETE FROM wire WHERE id IN (SELECT id FROM wire ORDER BY id LIMIT ?)`, int64(wirePage))
	return err
}

// restWire stores records in a transaction of their own.
func (w *writer) restWire() bool {
	w.commit([]*op{{do: func(*conn) error { return nil }}})
	return w.sick.Load() == nil
}

const (
	wireLimit = 50
	wireMost  = 500
)

// WireRecords returns records, newest first.
func (db *DB) WireRecords(ctx context.Context, q orchestrator.WireQuery) ([]*orchestrator.WireRecord, error) {
	var where strings.Builder
	var args []any
	and := func(condition string, arg any) {
		where.WriteString(` AND ` + condition)
		args = append(args, arg)
	}
	if q.Before > 0 {
		and(`w.id < ?`, q.Before)
	}
	if q.RunID != "" {
		and(`w.run = (SELECT key FROM runs WHERE id = ?)`, q.RunID)
	}
	if q.TaskID != "" {
		and(`w.task = ?`, q.TaskID)
		and(`w.task <> ?`, "")
	}
	if q.Peer != "" {
		and(`w.peer = ?`, q.Peer)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = wireLimit
	}
	return list(ctx, db, scanWire, `SELECT w.id, r.id, w.task, w.at, w.inbound, w.peer, w.method, w.dialect, w.url, w.status,
		w.took, w.first, w.last, w.error, w.header, w.request, w.response FROM wire w LEFT JOIN runs r ON r.key = w.run
		WHERE true`+where.String()+` ORDER BY w.id DESC LIMIT ?`, append(args, min(limit, wireMost))...)
}

func scanWire(row scanner) (*orchestrator.WireRecord, error) {
	var (
		r        orchestrator.WireRecord
		run      sql.NullString
		at, took int64
		header   []byte
	)
	err := row.Scan(&r.ID, &run, &r.TaskID, &at, &r.Inbound, &r.Peer, &r.Method, &r.Dialect, &r.URL, &r.Status, &took,
		&r.Events[0], &r.Events[1], &r.Err, &header, &r.Request, &r.Response)
	if err != nil {
		return nil, err
	}
	r.RunID, r.At, r.Took = run.String, fromMilli(at), time.Duration(took)*time.Microsecond
	return &r, unmarshal(header, &r.Header)
}
