package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

// batch is a Batch made ready by its caller, so that the writer has little left to do.
type batch struct {
	events  []event
	receipt *orchestrator.Receipt
	claims  map[string]int64
	rows    []statement
	items   []*orchestrator.Item // as the caller has them, and
	given   []int64              // the IDs they were given
	changes []orchestrator.Change
	claim   string // the run that it claims
	size    int    // in bytes, about
	fault   error  // it cannot be written
}

// event is an event without its place.
type event struct {
	orchestrator.NewEvent
	at   int64
	blob []byte // the hash
}

// statement is one row to write.
type statement struct {
	query string
	args  []any
	last  string                  // not "": of several with this name in one transaction the last is enough
	late  bool                    // it looks at other rows of the transaction, and follows them
	then  func(row pgx.Row) error // reads what it returns; runs again when the transaction does
}

// Write commits b and returns when it is on disk.
func (db *DB) Write(ctx context.Context, b *orchestrator.Batch) error {
	return db.writer.waitFor(ctx, &op{batch: db.ready(b)})
}

// Enqueue queues b. An event over BlobSize is in the database when Enqueue returns.
func (db *DB) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	db.writer.push(&op{batch: db.ready(b), done: done})
}

// ready turns b into statements and stores its large bodies. A batch that cannot be written is queued too, so that its
// caller hears of it in turn.
func (db *DB) ready(b *orchestrator.Batch) *batch {
	r := &batch{events: make([]event, len(b.Events)), claims: b.Claims}
	for i := range b.Events {
		if err := r.event(db, i, b.Events[i]); err != nil {
			r.fault = explain(err)
		}
	}
	if b.Receipt != nil {
		x := *b.Receipt
		if x.At.IsZero() {
			x.At = db.now()
		}
		r.receipt = &x
	}
	for _, x := range b.Agents {
		r.agent(x)
	}
	for _, x := range b.Grants {
		r.add(`INSERT INTO grants (agent, origin, given) VALUES ($1, $2, $3)
			ON CONFLICT (agent, origin) DO UPDATE SET given = excluded.given`, x.AgentID, x.Origin, column.Milli(x.Given))
		r.change(orchestrator.Change{AgentID: x.AgentID})
	}
	for _, x := range b.Runs {
		r.run(x)
	}
	for _, x := range b.Steps {
		r.step(x)
	}
	for _, x := range b.Contexts {
		r.add(`INSERT INTO contexts (owner, agent, context, task, last_task) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (owner, agent) DO UPDATE SET context = excluded.context, task = excluded.task,
				last_task = excluded.last_task`, x.Key, x.AgentID, x.ContextID, x.TaskID, x.LastTask)
	}
	for _, x := range b.Asks {
		r.ask(x)
	}
	for _, x := range b.Items {
		r.item(x)
	}
	for _, x := range b.Conversations {
		r.conversation(x, len(b.Runs) > 0)
	}
	for _, m := range b.Marks {
		r.mark(m)
	}
	for _, x := range b.Tokens {
		r.token(x)
	}
	for _, x := range b.Workflows {
		r.workflow(x)
	}
	for name, value := range b.Settings {
		r.add(`INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			name, value)
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
	sum := sha256.Sum256(e.JSON)
	b.events[i].blob = sum[:]
	ctx, cancel := context.WithTimeout(context.Background(), db.options.Timeout)
	defer cancel()
	if _, err := db.read.Exec(ctx, insertBlob, sum[:], e.JSON, db.now().UnixMilli()); err != nil {
		return fmt.Errorf("store a large event: %w", err)
	}
	return nil
}

const insertBlob = `INSERT INTO blobs (hash, body, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

// runs yields the runs that a batch has events of, or claims.
func (b *batch) runs(yield func(string) bool) {
	if b == nil || b.claim != "" && !yield(b.claim) {
		return
	}
	for i := range b.events {
		if !yield(b.events[i].RunID) {
			return
		}
	}
}

func (b *batch) add(query string, args ...any) *statement {
	b.rows = append(b.rows, statement{query: query, args: clean(args)})
	b.size += 256
	return &b.rows[len(b.rows)-1]
}

func (b *batch) change(c orchestrator.Change) { b.changes = append(b.changes, c) }

// clean makes texts out of arguments that the database takes.
func clean(args []any) []any {
	for i, a := range args {
		switch s := a.(type) {
		case string:
			args[i] = text(s)
		case *string:
			if s != nil {
				args[i] = text(*s)
			}
		}
	}
	return args
}

// text is s without what a text of the database cannot have.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = text(string(s))
	}
	return out
}

// json is v as it is stored.
func (b *batch) json(v any) []byte {
	j, err := column.JSON(v)
	if err != nil {
		b.fault = err
	}
	return j
}

// rows returns the statements of a transaction in their order: what is written once comes at the end, as it is then, and
// what looks at other rows after those.
func rowsOf(ops []*op) []*statement {
	var all, late []*statement
	var order []string
	last := map[string]*statement{}
	for _, o := range ops {
		for i := range o.batch.rows {
			s := &o.batch.rows[i]
			if s.last == "" {
				all = append(all, s)
				continue
			}
			if last[s.last] == nil {
				order = append(order, s.last)
			}
			last[s.last] = s
		}
	}
	for _, name := range order {
		if s := last[name]; s.late {
			late = append(late, s)
		} else {
			all = append(all, s)
		}
	}
	return slices.Concat(all, late)
}
