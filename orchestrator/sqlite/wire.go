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
	wireQueued = 128       // records waiting to be stored, and so the most that one transaction takes along
	wireWaits  = 8 << 20   // bytes waiting to be stored
	wireDelay  = 100 * time.Millisecond
	wirePage   = 64  // records removed at a time to make room
	wireErased = 256 // erased runs that are remembered
)

var _ orchestrator.WireLog = (*DB)(nil)

// wireQueue holds records until the writer has time for them. They are masked a while later, all that came meanwhile at
// once and by nobody who is in a hurry.
type wireQueue struct {
	mu      sync.Mutex
	waiting []*orchestrator.WireRecord
	rows    []*wireRow // masked: what the writer takes
	bytes   int        // of both
	queued  int        // both, and what is being masked
	dropped int
	timer   *time.Timer
	stopped bool
	most    int64    // stored in all
	erased  []string // runs that were erased lately: nothing more is kept of them
	masking sync.Mutex
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
	size := len(r.Request) + len(r.Response)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	if q.queued >= wireQueued || q.bytes+size > wireWaits {
		q.dropped++
		return
	}
	if len(q.waiting) == 0 {
		if q.timer == nil {
			q.timer = time.AfterFunc(wireDelay, func() {
				q.mask()
				db.writer.nudge()
			})
		} else {
			q.timer.Reset(wireDelay)
		}
	}
	q.waiting = append(q.waiting, r)
	q.queued++
	q.bytes += size
}

// mask makes rows of the records that wait.
func (q *wireQueue) mask() {
	q.masking.Lock()
	defer q.masking.Unlock()
	q.mu.Lock()
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	rows := make([]*wireRow, len(waiting))
	for i, r := range waiting {
		rows[i] = wireRowOf(r)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, r := range waiting {
		q.bytes -= len(r.Request) + len(r.Response)
		if r.RunID != "" && slices.Contains(q.erased, r.RunID) {
			q.queued--
			continue
		}
		q.bytes += rows[i].size
		q.rows = append(q.rows, rows[i])
	}
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
			int64(r.Status), r.Took.Microseconds(), r.Events[0], r.Events[1], string(maskBody([]byte(r.Err))), header, request, response,
		},
	}}
}

func cut(body []byte) []byte { return body[:min(len(body), wireBody):min(len(body), wireBody)] }

// erase drops the records of runs that are being erased. An exchange may end, and be recorded, after its run is gone: it
// is remembered for a while which those are.
func (q *wireQueue) erase(runs map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.erased = slices.AppendSeq(q.erased, maps.Keys(runs))
	q.erased = q.erased[max(0, len(q.erased)-wireErased):]
	q.rows = slices.DeleteFunc(q.rows, func(r *wireRow) bool {
		if runs[r.run] {
			q.bytes -= r.size
			q.queued--
		}
		return runs[r.run]
	})
}

// ready reports whether there are records to store.
func (q *wireQueue) ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.rows) > 0
}

// empty reports whether no record waits.
func (q *wireQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued == 0
}

// take returns the records to store, and how many were dropped since the last time.
func (q *wireQueue) take() (rows []*wireRow, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows, q.rows = q.rows, nil
	for _, r := range rows {
		q.bytes -= r.size
	}
	q.queued -= len(rows)
	dropped, q.dropped = q.dropped, 0
	return rows, dropped
}

// stop takes no more records; those that wait can be stored.
func (q *wireQueue) stop() {
	q.mu.Lock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.mask()
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
	for {
		stored, _, err := w.c.integer(`SELECT value FROM counters WHERE name = 'wire.bytes'`)
		if err != nil || stored <= w.wire.most {
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
		and(`w.run = (SELECT key FROM runs WHERE id = ?)`, q.RunID)
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
		and(`(w.status = 0 OR w.status >= 400 OR w.error <> '')`)
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
	return id, stored, db.writer.wire.most, err
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
	r.RunID, r.At, r.Took = run.String, fromMilli(at), time.Duration(took)*time.Microsecond
	return &r, unmarshal(header, &r.Header)
}
