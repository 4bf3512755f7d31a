package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

// The first round trip begins a transaction and asks for its number, by which it can be told later what became of it.
const (
	begin = `BEGIN ISOLATION LEVEL READ COMMITTED`
	xid   = `SELECT pg_current_xact_id()::text`
)

// turn waits until no other writer is in its transaction. What follows sees all that they committed.
const turn = `SELECT pg_advisory_xact_lock(hashtextextended('parley ' || current_schema(), 0))`

// insertEvents gives the events the numbers behind the newest one.
const insertEvents = `WITH stored AS (
	INSERT INTO events (seq, run, conversation, kind, at, body, blob)
	SELECT newest.seq + e.ord, e.run, e.conversation, e.kind, e.at, e.body, e.blob
	FROM (` + newestEvent + `) AS newest (seq),
		unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[])
		WITH ORDINALITY AS e (run, conversation, kind, at, body, blob, ord)
	RETURNING seq) SELECT min(seq) FROM stored`

// newestEvent is the highest number ever given to an event.
const newestEvent = `SELECT greatest((SELECT max(seq) FROM events), (SELECT value FROM counters WHERE name = 'events.seq'), 0)`

const insertCommit = `INSERT INTO commits (name, at) VALUES ($1, $2)`

const insertReceipts = `INSERT INTO receipts (scope, principal, message, digest, run, after, at)
	SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::text[], $6::bigint[], $7::bigint[])`

// connect sees to it that there is a connection.
func (w *writer) connect(ctx context.Context) error {
	if w.c != nil && !w.c.IsClosed() {
		return nil
	}
	w.drop()
	c, err := pgx.ConnectConfig(ctx, w.db.config.Copy())
	if err != nil {
		return err
	}
	// Whoever set the database up may have meant other programs by it.
	if _, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`); err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	if _, err := c.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, false)`, w.db.options.Timeout.String()); err != nil {
		// Where it may not be set, a process that is stopped in the middle of an erase holds the others up.
		w.db.log.Warn("idle_in_transaction_session_timeout", "error", err)
	}
	w.c = c
	return nil
}

// drop lets go of a connection that is of no use any more.
func (w *writer) drop() {
	if w.c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.c.Close(ctx) // there is nobody at the other end
	w.c = nil
}

// rollback ends a transaction that is not to be.
func (w *writer) rollback() {
	if w.c == nil || w.c.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	if _, err := w.c.Exec(ctx, `ROLLBACK`); err != nil {
		w.drop()
	}
}

// try runs one transaction. An op that was refused without a trace has its err set; any other failure is returned, and
// then it is not known to be stored.
func (w *writer) try(ops []*op) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	if ops[0].do == nil {
		if ops = w.pick(ops); len(ops) == 0 {
			return nil
		}
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	var first pgx.Batch
	first.Queue(begin)
	first.Queue(xid).QueryRow(func(row pgx.Row) error { return row.Scan(&w.xid) })
	w.pid = w.c.PgConn().PID()
	if err := w.c.SendBatch(ctx, &first).Close(); err != nil {
		w.xid = "" // nothing was done in it
		return err
	}
	w.name = newName()
	if ops[0].do != nil {
		return w.alone(ctx, ops[0])
	}
	var b pgx.Batch
	b.Queue(turn)
	b.Queue(insertCommit, w.name, w.db.now().UnixMilli())
	queueClaims(&b, ops)
	queueReceipts(&b, ops)
	var seq int64
	if queueEvents(&b, ops, &seq) {
		w.events = []*orchestrator.Event{}
	}
	for _, s := range rowsOf(ops) {
		q := b.Queue(s.query, s.args...)
		if s.then != nil {
			q.QueryRow(s.then)
		}
	}
	n := &note{Events: w.events != nil}
	for _, o := range ops {
		n.Changes = append(n.Changes, o.batch.changes...)
	}
	n.queue(&b, w.db)
	b.Queue(`COMMIT`)
	if err := w.c.SendBatch(ctx, &b).Close(); err != nil {
		w.events = nil
		return err
	}
	w.number(ops, func() int64 { seq++; return seq - 1 })
	return nil
}

// alone runs a transaction of one op, which does what it likes in it.
func (w *writer) alone(ctx context.Context, o *op) error {
	o.err = nil
	if _, err := w.c.Exec(ctx, turn); err != nil {
		return err
	}
	if err := o.do(ctx, w.c); err != nil {
		return err
	}
	var b pgx.Batch
	b.Queue(insertCommit, w.name, w.db.now().UnixMilli())
	if o.note != nil {
		o.note().queue(&b, w.db)
	}
	b.Queue(`COMMIT`)
	return w.c.SendBatch(ctx, &b).Close()
}

// pick returns the ops that are worth a try. The others have their err set.
func (w *writer) pick(ops []*op) (picked []*op) {
	type message struct{ scope, principal, id string }
	var received map[message]bool
	for _, o := range ops {
		o.err, o.entries = nil, nil
		o.batch.given = o.batch.given[:0]
		if o.err = w.check(o); o.err != nil {
			continue
		}
		if o.err = errors.Join(o.batch.fault, o.known); o.err == nil && o.batch.receipt != nil {
			r := o.batch.receipt
			m := message{r.Scope, r.Principal, r.MessageID}
			if received[m] {
				o.err = orchestrator.ErrDuplicate
			} else if received == nil {
				received = map[message]bool{}
			}
			received[m] = true
		}
		if o.err != nil {
			w.note(o)
			continue
		}
		w.clear(o)
		picked = append(picked, o)
	}
	return picked
}

// check refuses an op that follows one that failed. A caller that waits knows what failed and may go on.
func (w *writer) check(o *op) error {
	if o.wait || w.failed.Empty() {
		return nil
	}
	return w.failed.Check(o.batch.runs)
}

// clear lets runs go on after a Write that succeeds, or a claim: who claims reads anew.
func (w *writer) clear(o *op) {
	if o.wait && !w.failed.Empty() {
		w.failed.Clear(o.batch.runs)
	}
}

// note remembers that an op failed. A duplicate that its caller waited for had nothing in flight behind it.
func (w *writer) note(o *op) {
	if o.err == nil || o.batch == nil || o.batch.claim != "" || o.wait && errors.Is(o.err, orchestrator.ErrDuplicate) {
		return
	}
	w.failed.Note(o.batch.runs, o.err)
}

func queueClaims(b *pgx.Batch, ops []*op) {
	var runs []string
	var epochs []int64
	for _, o := range ops {
		for run, epoch := range o.batch.claims {
			runs, epochs = append(runs, text(run)), append(epochs, epoch)
		}
	}
	if len(runs) > 0 {
		b.Queue(`SELECT check_claims($1, $2)`, runs, epochs)
	}
}

func queueReceipts(b *pgx.Batch, ops []*op) {
	var scopes, principals, runs []string
	var messages, digests [][]byte
	var after, at []int64
	for _, o := range ops {
		if r := o.batch.receipt; r != nil {
			scopes, principals, runs = append(scopes, text(r.Scope)), append(principals, text(r.Principal)), append(runs, text(r.RunID))
			messages, digests = append(messages, []byte(r.MessageID)), append(digests, r.Digest[:])
			after, at = append(after, r.After), append(at, column.Milli(r.At))
		}
	}
	if len(scopes) > 0 {
		b.Queue(insertReceipts, scopes, principals, messages, digests, runs, after, at)
	}
}

// queueEvents appends the events, and reports whether there are any. seq is where the number of the first is put.
func queueEvents(b *pgx.Batch, ops []*op, seq *int64) bool {
	var runs, conversations, kinds []string
	var at []int64
	var bodies, blobs [][]byte
	for _, o := range ops {
		for i := range o.batch.events {
			e := &o.batch.events[i]
			runs, conversations = append(runs, text(e.RunID)), append(conversations, text(e.ConversationID))
			kinds, at, blobs = append(kinds, string(e.Kind)), append(at, e.at), append(blobs, e.blob)
			body := e.JSON
			if e.blob != nil {
				body = nil
			} else if body == nil {
				body = []byte{}
			}
			bodies = append(bodies, body)
		}
	}
	if len(runs) > 0 {
		b.Queue(insertEvents, runs, conversations, kinds, at, bodies, blobs).
			QueryRow(func(row pgx.Row) error { return row.Scan(seq) })
	}
	return len(runs) > 0
}

// number makes the events of a group that is stored.
func (w *writer) number(ops []*op, next func() int64) {
	w.events = nil
	for _, o := range ops {
		if o.done != nil && !o.wait {
			o.entries = make([]*a2a.Entry, 0, len(o.batch.events))
		}
		for i := range o.batch.events {
			e := &o.batch.events[i]
			w.seq = next()
			entry := a2a.NewEntry(w.seq, column.Time(e.at), e.JSON, e.Event)
			w.events = append(w.events, &orchestrator.Event{
				Entry: entry, RunID: e.RunID, ConversationID: e.ConversationID, Kind: e.Kind,
			})
			if o.entries != nil {
				o.entries = append(o.entries, entry)
			}
		}
		for _, id := range o.batch.given {
			w.item = max(w.item, id)
		}
	}
}

// mend finds out which ops of a group are at fault, or puts back what they need, and reports whether it is worth another
// try.
func (w *writer) mend(ops []*op, err error) bool {
	var e *pgconn.PgError
	if w.c == nil || !errors.As(err, &e) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	switch {
	case e.Code == codeDeadlock, e.Code == codeSerial:
		return true
	case e.Code == codeMoved:
		return w.moved(ctx, ops) == nil
	case e.Code == codeUnique && e.ConstraintName == "receipts_pkey":
		return w.duplicates(ctx, ops) == nil
	case e.Code == codeForeign && e.ConstraintName == "events_blob_fkey":
		// An erase took it away: nothing else named it then.
		for _, o := range ops {
			for i := range o.batch.events {
				if e := &o.batch.events[i]; e.blob != nil {
					if _, err := w.c.Exec(ctx, insertBlob, e.blob, e.JSON, w.db.now().UnixMilli()); err != nil {
						return false
					}
				}
			}
		}
		return true
	}
	return false
}

// moved marks the ops that go by an old claim.
func (w *writer) moved(ctx context.Context, ops []*op) error {
	var runs []string
	for _, o := range ops {
		for run := range o.batch.claims {
			runs = append(runs, text(run))
		}
	}
	newest := map[string]int64{}
	rows, err := w.c.Query(ctx, `SELECT run, epoch FROM claims WHERE run = ANY ($1)`, runs)
	if err != nil {
		return err
	}
	var run string
	var epoch int64
	if _, err := pgx.ForEachRow(rows, []any{&run, &epoch}, func() error { newest[run] = epoch; return nil }); err != nil {
		return err
	}
	for _, o := range ops {
		for run, epoch := range o.batch.claims {
			if newest[text(run)] != epoch {
				o.known = orchestrator.ErrMoved
			}
		}
	}
	return nil
}

// duplicates marks the ops whose message was received before.
func (w *writer) duplicates(ctx context.Context, ops []*op) error {
	for _, o := range ops {
		r := o.batch.receipt
		if r == nil {
			continue
		}
		var there bool
		if err := w.c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM receipts WHERE scope = $1 AND principal = $2 AND message = $3)`,
			text(r.Scope), text(r.Principal), []byte(r.MessageID)).Scan(&there); err != nil {
			return err
		}
		if there {
			o.known = orchestrator.ErrDuplicate
		}
	}
	return nil
}

// settle asks the server, as often as it takes, what became of the transaction that was under way when the connection
// broke. A failure is that the store is being closed before there is an answer.
func (w *writer) settle(ops []*op, cause error) (stored bool, failure error) {
	w.fail(cause)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		stored, known := w.ask(ops, cause)
		if w.c != nil && w.c.IsClosed() {
			w.drop()
		}
		if known {
			w.sick.Store(nil)
			w.db.log.Info("the store takes writes again", "stored", stored)
			return stored, nil
		}
		select {
		case <-w.closing:
			return false, cause
		case <-time.After(wait):
		}
	}
}

func (w *writer) ask(ops []*op, cause error) (stored, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), w.db.options.Timeout)
	defer cancel()
	if w.connect(ctx) != nil {
		return false, false
	}
	var status *string
	switch err := w.c.QueryRow(ctx, `SELECT pg_xact_status($1::text::xid8)`, w.xid).Scan(&status); {
	case code(err) == "22023": // a server that took over has never heard of it
		return false, true
	case err == nil && status != nil && *status == "in progress":
		// The server has not noticed that we are gone. What it may still do without us is not wanted any more; where it is
		// committing already, that goes first.
		_, _ = w.c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE pid = $1::bigint AND backend_xid = $2::text::xid8::xid`, int64(w.pid), w.xid)
		return false, false
	case err != nil:
		return false, false
	case status == nil || *status != "committed":
		return false, true
	}
	// After a crash the number may have been given again, to a transaction of anybody.
	var ours bool
	if err := w.c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM commits WHERE name = $1)`, w.name).Scan(&ours); err != nil {
		return false, false
	} else if !ours {
		return false, true
	}
	if ops[0].do != nil {
		return true, true
	}
	seqs, err := w.numbers(ctx, `SELECT seq FROM events WHERE seq > $1 AND xmin = $2::text::xid8::xid ORDER BY seq`, w.seq)
	if err != nil {
		return false, false
	}
	items, err := w.numbers(ctx, `SELECT id FROM items WHERE id > $1 AND xmin = $2::text::xid8::xid ORDER BY id`, w.item)
	if err != nil {
		return false, false
	}
	for _, o := range ops {
		for _, it := range o.batch.items {
			items = slices.DeleteFunc(items, func(id int64) bool { return id == it.ID }) // replaced, not given
		}
	}
	next := func(from *[]int64) (n int64) {
		if len(*from) > 0 {
			n, *from = (*from)[0], (*from)[1:]
		}
		return n
	}
	var took []*op
	for _, o := range ops {
		if o.err != nil {
			continue
		}
		took = append(took, o)
		if o.batch.claim != "" {
			o.err = explain(cause) // which number it was given is not known; nobody goes by it
		}
		o.batch.given = o.batch.given[:0]
		for _, it := range o.batch.items {
			id := it.ID
			if id == 0 {
				id = next(&items)
			}
			o.batch.given = append(o.batch.given, id)
		}
	}
	w.number(took, func() int64 { return next(&seqs) })
	return true, true
}

func (w *writer) numbers(ctx context.Context, query string, after int64) ([]int64, error) {
	rows, err := w.c.Query(ctx, query, after, w.xid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// newName makes a name that nobody else has.
func newName() string { return rand.Text() }
