package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

// batch is a Batch made ready by its caller, so that the writer has little left to do.
type batch struct {
	events  []event
	receipt []any
	rows    []statement
	items   []*orchestrator.Item // as the caller has them, and
	given   []int64              // the IDs they were given
	changes []orchestrator.Change
	size    int    // in bytes, about
	release func() // lets go of the blobs
	fault   error  // it cannot be written
}

// event is an event without its place.
type event struct {
	orchestrator.NewEvent
	at   int64
	blob *hash
}

// statement is one row to write.
type statement struct {
	query string
	args  []any                                  // may hold a runID or conversationID for its key
	last  string                                 // not "": of several with this name in one transaction the last is enough
	then  func(w *writer, r driver.Result) error // follows in the same transaction
}

// Write commits b and returns when it is on disk.
func (db *DB) Write(ctx context.Context, b *orchestrator.Batch) error {
	return db.writer.waitFor(ctx, &op{batch: db.ready(b)})
}

// Enqueue queues b. An event over BlobSize is in its file when Enqueue returns.
func (db *DB) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	db.writer.push(&op{batch: db.ready(b), done: done})
}

// ready turns b into statements and puts its large bodies into files. A batch that cannot be written is queued too, so
// that its caller hears of it in turn.
func (db *DB) ready(b *orchestrator.Batch) *batch {
	r := &batch{events: make([]event, len(b.Events))}
	for i := range b.Events {
		if err := r.event(db, i, b.Events[i]); err != nil {
			r.fault = explain(err)
		}
	}
	if x := b.Receipt; x != nil {
		at := x.At
		if at.IsZero() {
			at = db.now()
		}
		r.receipt = []any{x.Scope, x.Principal, x.MessageID, bytes.Clone(x.Digest[:]), x.RunID, x.After, at.UnixMilli()}
	}
	for _, x := range b.Agents {
		r.agent(x)
	}
	for _, x := range b.Grants {
		r.add(`INSERT OR REPLACE INTO grants (agent, origin, given) VALUES (?, ?, ?)`, x.AgentID, x.Origin, column.Milli(x.Given))
		r.change(orchestrator.Change{AgentID: x.AgentID})
	}
	for _, x := range b.Conversations {
		r.conversation(x)
	}
	for _, m := range b.Marks {
		r.mark(m)
	}
	for _, x := range b.Runs {
		r.run(x)
	}
	for _, x := range b.Steps {
		r.step(x)
	}
	for _, x := range b.Contexts {
		r.add(`INSERT OR REPLACE INTO contexts (owner, agent, context, task, last_task) VALUES (?, ?, ?, ?, ?)`,
			x.Key, x.AgentID, x.ContextID, x.TaskID, x.LastTask)
	}
	for _, x := range b.Asks {
		r.ask(x)
	}
	for _, x := range b.Items {
		r.item(x)
	}
	for _, x := range b.Tokens {
		r.token(x)
	}
	for _, x := range b.Workflows {
		r.workflow(x)
	}
	for name, value := range b.Settings {
		r.add(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, value)
		r.change(orchestrator.Change{Setting: name})
	}
	return r
}

func (b *batch) event(db *DB, i int, e orchestrator.NewEvent) error {
	if e.At.IsZero() {
		e.At = db.now()
	}
	b.events[i] = event{NewEvent: e, at: e.At.UnixMilli()}
	b.size += len(e.JSON) + 64
	if len(e.JSON) <= orchestrator.BlobSize {
		return nil
	}
	h, err := db.blobs.put(e.JSON)
	if err != nil {
		return fmt.Errorf("store a large event: %w", err)
	}
	b.events[i].blob = &h
	release := b.release
	b.release = func() {
		db.blobs.release(h)
		if release != nil {
			release()
		}
	}
	return nil
}

const insertReceipt = `INSERT INTO receipts (scope, principal, message, digest, run, after, at)
	VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

func (b *batch) add(query string, args ...any) *statement {
	b.rows = append(b.rows, statement{query: query, args: args})
	b.size += 256
	return &b.rows[len(b.rows)-1]
}

func (b *batch) change(c orchestrator.Change) { b.changes = append(b.changes, c) }

// json is v as it is stored.
func (b *batch) json(v any) []byte {
	j, err := column.JSON(v)
	if err != nil {
		b.fault = err
	}
	return j
}
