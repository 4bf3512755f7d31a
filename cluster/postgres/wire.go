package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/wirelog"
)

// wireWriter stores wire records beside the log: they take no turn, and nothing waits for them.
type wireWriter struct {
	db    *DB
	queue *wirelog.Queue
	most  int64 // bytes stored in all
	wake  chan struct{}
	added int64 // bytes since old records last made room
}

// wireSlack is how many bytes one process adds before it looks whether old records have to make room.
const wireSlack = 4 << 20

// RecordWire queues a record, or drops it.
func (db *DB) RecordWire(r *orchestrator.WireRecord) { db.wire.queue.Put(r) }

func (w *wireWriter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run is the wire writer's goroutine. What is left when it ends is stored at last.
func (w *wireWriter) run(ctx context.Context) {
	w.added = min(w.most, wireSlack) // look once at the start
	for {
		select {
		case <-w.wake:
			w.store()
		case <-ctx.Done():
			w.store()
			return
		}
	}
}

const insertWire = `INSERT INTO wire (size, run, task, at, inbound, peer, method, dialect, url, status, took, first, last, error,
	header, request, response) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`

func (w *wireWriter) store() {
	rows, dropped := w.queue.Take()
	if dropped > 0 {
		w.db.log.Debug("wire records were dropped", "count", dropped)
	}
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	var b pgx.Batch
	for _, r := range rows {
		b.Queue(insertWire, clean([]any{
			int64(r.Size), r.RunID, r.TaskID, column.Milli(r.At), r.Inbound, r.Peer, r.Method, r.Dialect, r.URL, int64(r.Status),
			r.Took.Microseconds(), r.Events[0], r.Events[1], r.Err, r.Header, r.Request, r.Response,
		})...)
		w.added += int64(r.Size)
	}
	err := w.db.read.SendBatch(ctx, &b).Close()
	if slack := min(w.most/8, wireSlack); err == nil && w.added > slack {
		_, err = w.db.read.Exec(ctx, `DELETE FROM wire WHERE id <= (SELECT max(id) FROM (
			SELECT id, sum(size) OVER (ORDER BY id DESC) AS total FROM wire) AS sums WHERE total > $1)`, w.most-slack)
		w.added = 0
	}
	if err != nil {
		w.db.log.Warn("store wire records", "error", err)
	}
}

const (
	wireLimit  = 50
	wireMost   = 500
	wireSearch = 5000 // records that are searched for a text, and for names
)

// WireRecords returns records, newest first.
func (db *DB) WireRecords(ctx context.Context, q orchestrator.WireQuery) ([]*orchestrator.WireRecord, error) {
	var w where
	w.and(`true`)
	if q.Before > 0 {
		w.and(`id < $`, q.Before)
	}
	if q.RunID != "" {
		w.and(`run = ANY($) AND run <> ''`, append(slices.Clip(q.Calls), q.RunID))
	}
	if q.TaskID != "" {
		w.and(`task = $ AND task <> ''`, q.TaskID)
	}
	if q.Peer != "" {
		w.and(`peer = $`, q.Peer)
	}
	if q.Method != "" {
		w.and(`method = $`, q.Method)
	}
	switch q.Way {
	case orchestrator.WireOut, orchestrator.WireIn:
		w.and(`inbound = $`, q.Way == orchestrator.WireIn)
	case orchestrator.WirePush:
		w.and(`method = $`, orchestrator.WirePushMethod)
	}
	if q.Failed {
		w.and(`(status = 0 OR status >= 400 OR error <> '') AND error <> '` + orchestrator.WireRefused + `'`)
	}
	if q.Text != "" {
		w.and(`id > (SELECT coalesce(max(id), 0) FROM wire) - $`, int64(wireSearch))
		// Bodies are bytes, and may be of no script at all.
		has := func(what string) string {
			return `position(lower(encode(convert_to($::text, 'UTF8'), 'escape')) IN lower(` + what + `)) > 0`
		}
		w.and(`(position(lower($::text) IN lower(url)) > 0 OR position(lower($::text) IN lower(error)) > 0`, q.Text, q.Text)
		w.write(` OR `+has(`encode(request, 'escape')`)+` OR `+has(`encode(response, 'escape')`)+`)`, q.Text, q.Text)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = wireLimit
	}
	w.write(` ORDER BY id DESC LIMIT $`, min(limit, wireMost))
	return list(ctx, db, scanWire, wireColumns(q.Bare)+w.sql.String(), w.args...)
}

// WireRecord returns one record.
func (db *DB) WireRecord(ctx context.Context, id int64) (*orchestrator.WireRecord, error) {
	return scanWire(db.row(ctx, wireColumns(false)+` WHERE id = $1`, id))
}

// WireHead returns the newest ID, and how much is stored.
func (db *DB) WireHead(ctx context.Context) (id, stored, most int64, err error) {
	err = db.row(ctx, `SELECT coalesce(max(id), 0), coalesce(sum(size), 0)::bigint FROM wire`).Scan(&id, &stored)
	return id, stored, db.wire.most, err
}

// WireNames returns the peers and the methods of the newest records.
func (db *DB) WireNames(ctx context.Context) (peers, methods []string, err error) {
	distinct := func(column string) ([]string, error) {
		return list(ctx, db, scanString, `SELECT DISTINCT `+column+` COLLATE "C" FROM wire
			WHERE id > (SELECT coalesce(max(id), 0) FROM wire) - $1 AND `+column+` <> '' ORDER BY 1`, int64(wireSearch))
	}
	if peers, err = distinct(`peer`); err == nil {
		methods, err = distinct(`method`)
	}
	return peers, methods, err
}

func wireColumns(bare bool) string {
	bodies := `header, request, response`
	if bare {
		bodies = `NULL::bytea, NULL::bytea, NULL::bytea`
	}
	return `SELECT id, run, task, at, inbound, peer, method, dialect, url, status, took, first, last, error,
		coalesce(length(request), 0), coalesce(length(response), 0), ` + bodies + ` FROM wire`
}

func scanWire(row scanner) (*orchestrator.WireRecord, error) {
	var (
		r        orchestrator.WireRecord
		at, took int64
		header   []byte
	)
	err := row.Scan(&r.ID, &r.RunID, &r.TaskID, &at, &r.Inbound, &r.Peer, &r.Method, &r.Dialect, &r.URL, &r.Status, &took,
		&r.Events[0], &r.Events[1], &r.Err, &r.Sizes[0], &r.Sizes[1], &header, &r.Request, &r.Response)
	if err != nil {
		return nil, err
	}
	r.At, r.Took = column.Time(at), time.Duration(took)*time.Microsecond
	return &r, column.Read(header, &r.Header)
}
