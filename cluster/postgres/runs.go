package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

const upsertRun = `INSERT INTO runs (id, scope, principal, conversation, context, recipient, state, open, updated,
		created, engine, workflow)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, principal = excluded.principal,
		conversation = excluded.conversation, context = excluded.context, recipient = excluded.recipient,
		state = excluded.state, open = excluded.open, updated = excluded.updated,
		created = excluded.created, engine = excluded.engine, workflow = excluded.workflow`

func (b *batch) run(r *orchestrator.Run) {
	open := r.State != a2a.TaskStateUnspecified && !r.State.Terminal()
	s := b.add(upsertRun, r.ID, r.Scope, r.Principal, r.ConversationID, r.ContextID, r.To,
		string(r.State), open, column.Milli(r.Updated), column.Milli(r.Created), []byte(r.Engine), r.Workflow)
	s.last = "run " + r.ID
	b.size += len(r.Engine)
	b.change(orchestrator.Change{RunID: r.ID, ConversationID: r.ConversationID})
}

const runColumns = `SELECT r.id, r.scope, r.principal, r.conversation, r.context, r.recipient, r.state, r.updated, r.created,
	r.engine, r.workflow, coalesce((SELECT max(seq) FROM events WHERE run = r.id), 0), r.ord FROM runs r `

func scanRun(row scanner) (*orchestrator.Run, error) {
	r, _, err := scanOrdered(row)
	return r, err
}

// scanOrdered returns a run with its place among all.
func scanOrdered(row scanner) (*orchestrator.Run, int64, error) {
	var (
		r                     orchestrator.Run
		updated, created, ord int64
		engine                []byte
	)
	err := row.Scan(&r.ID, &r.Scope, &r.Principal, &r.ConversationID, &r.ContextID, &r.To, &r.State, &updated, &created,
		&engine, &r.Workflow, &r.LastSeq, &ord)
	if err != nil {
		return nil, 0, err
	}
	r.Engine = engine
	r.Updated, r.Created = column.Time(updated), column.Time(created)
	return &r, ord, nil
}

// Run returns a run.
func (db *DB) Run(ctx context.Context, id string) (*orchestrator.Run, error) {
	return scanRun(db.row(ctx, runColumns+`WHERE r.id = $1`, id))
}

// where gathers conditions, whose arguments are written as $.
type where struct {
	sql  strings.Builder
	args []any
}

func (w *where) and(condition string, args ...any) {
	if w.sql.Len() == 0 {
		w.sql.WriteString(` WHERE `)
	} else {
		w.sql.WriteString(` AND `)
	}
	w.write(condition, args...)
}

func (w *where) write(s string, args ...any) {
	for _, a := range args {
		before, after, _ := strings.Cut(s, "$")
		w.args = append(w.args, a)
		fmt.Fprintf(&w.sql, "%s$%d", before, len(w.args))
		s = after
	}
	w.sql.WriteString(s)
}

// ListRuns returns a page of a principal's runs in a scope, newest status first, and how many there are in all.
func (db *DB) ListRuns(ctx context.Context, scope, principal string, r *a2a.ListRequest, before *orchestrator.Run, limit int) (page []*orchestrator.Run, total int, err error) {
	var w where
	w.and(`r.scope = $`, scope)
	w.and(`r.principal = $`, principal)
	w.and(`r.state <> ''`)
	if r.ContextID != "" {
		w.and(`r.context = $`, r.ContextID)
	}
	if r.Status != a2a.TaskStateUnspecified {
		w.and(`r.state = $`, string(r.Status))
	}
	if !r.StatusTimestampAfter.IsZero() {
		w.and(`r.updated >= $`, column.CeilMilli(r.StatusTimestampAfter))
	}
	// Both reads are of one moment, so that the total fits the page.
	var b pgx.Batch
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	b.Queue(`SELECT count(*) FROM runs r`+w.sql.String(), clean(w.args)...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	if before != nil {
		w.and(`(r.updated, r.id) < ($, $)`, column.Milli(before.Updated), before.ID)
	}
	w.write(` ORDER BY r.updated DESC, r.id DESC LIMIT $`, limit)
	b.Queue(runColumns+w.sql.String(), clean(w.args)...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			run, err := scanRun(rows)
			if err != nil {
				return err
			}
			page = append(page, run)
		}
		return rows.Err()
	})
	b.Queue(`COMMIT`)
	if err := db.read.SendBatch(ctx, &b).Close(); err != nil {
		return nil, 0, explain(err)
	}
	return page, total, nil
}

// OpenRuns yields the runs of a scope that have not ended, oldest first. It reads in pages, so that a slow reader keeps
// no snapshot of the database open.
func (db *DB) OpenRuns(ctx context.Context, scope string) iter.Seq2[*orchestrator.Run, error] {
	first, behind := scope, scope+"\x01"
	if strings.HasSuffix(scope, "/") {
		behind = strings.TrimSuffix(scope, "/") + "0" // the character after the slash
	}
	const page = 256
	type ordered struct {
		*orchestrator.Run
		ord int64
	}
	return func(yield func(*orchestrator.Run, error) bool) {
		for after := int64(0); ; {
			runs, err := list(ctx, db, func(row scanner) (o ordered, err error) {
				o.Run, o.ord, err = scanOrdered(row)
				return o, err
			}, runColumns+`WHERE r.open AND r.scope >= $1 AND r.scope < $2 AND r.ord > $3 ORDER BY r.ord LIMIT $4`,
				first, behind, after, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range runs {
				if !yield(r.Run, nil) {
					return
				}
				after = r.ord
			}
			if len(runs) < page {
				return
			}
		}
	}
}

// RunsOf returns the runs of a conversation that have not ended, oldest first.
func (db *DB) RunsOf(ctx context.Context, conversation string) ([]*orchestrator.Run, error) {
	return list(ctx, db, scanRun, runColumns+`WHERE r.conversation = $1 AND r.conversation <> '' AND r.open ORDER BY r.ord`, conversation)
}

// Received returns the receipt of a message.
func (db *DB) Received(ctx context.Context, scope, principal, messageID string) (*orchestrator.Receipt, error) {
	r := &orchestrator.Receipt{Scope: scope, Principal: principal, MessageID: messageID}
	var digest []byte
	var at int64
	err := db.row(ctx, `SELECT digest, run, after, at FROM receipts WHERE scope = $1 AND principal = $2 AND message = $3`,
		scope, principal, []byte(messageID)).Scan(&digest, &r.RunID, &r.After, &at)
	if err != nil {
		return nil, err
	}
	copy(r.Digest[:], digest)
	r.At = column.Time(at)
	return r, nil
}

func (b *batch) step(s *orchestrator.Step) {
	b.add(`INSERT INTO steps (run, id, agent, attempt, message, state, child_task, child_context, updated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (run, id) DO UPDATE SET agent = excluded.agent, attempt = excluded.attempt,
			message = excluded.message, state = excluded.state, child_task = excluded.child_task,
			child_context = excluded.child_context, updated = excluded.updated`,
		s.RunID, s.ID, s.AgentID, int64(s.Attempt), s.MessageID, string(s.State), s.ChildTask, s.ChildContext, column.Milli(s.Updated))
	b.change(orchestrator.Change{RunID: s.RunID})
}

// Steps returns the steps of a run in the order in which they were first stored.
func (db *DB) Steps(ctx context.Context, run string) ([]*orchestrator.Step, error) {
	return list(ctx, db, func(row scanner) (*orchestrator.Step, error) {
		s := &orchestrator.Step{RunID: run}
		var updated int64
		err := row.Scan(&s.ID, &s.AgentID, &s.Attempt, &s.MessageID, &s.State, &s.ChildTask, &s.ChildContext, &updated)
		s.Updated = column.Time(updated)
		return s, err
	}, `SELECT id, agent, attempt, message, state, child_task, child_context, updated FROM steps WHERE run = $1 ORDER BY ord`, run)
}

// Context returns what a conversation, or an outside caller's context, has with an agent.
func (db *DB) Context(ctx context.Context, key, agent string) (*orchestrator.ChildContext, error) {
	c := &orchestrator.ChildContext{Key: key, AgentID: agent}
	err := db.row(ctx, `SELECT context, task, last_task FROM contexts WHERE owner = $1 AND agent = $2`,
		key, agent).Scan(&c.ContextID, &c.TaskID, &c.LastTask)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b *batch) ask(a *orchestrator.Ask) {
	b.add(`INSERT INTO asks (id, run, step, conversation, principal, agent, kind, prompt, schema, choices, links, state,
			answer, opened, closed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (id) DO UPDATE SET run = excluded.run, step = excluded.step, conversation = excluded.conversation,
			principal = excluded.principal, agent = excluded.agent, kind = excluded.kind, prompt = excluded.prompt,
			schema = excluded.schema, choices = excluded.choices, links = excluded.links, state = excluded.state,
			answer = excluded.answer, opened = excluded.opened, closed = excluded.closed`,
		a.ID, a.RunID, a.StepID, a.ConversationID, a.Principal, a.AgentID, string(a.Kind), a.Prompt,
		[]byte(a.Schema), b.json(a.Choices), b.json(a.Links), string(a.State), []byte(a.Answer), column.Milli(a.Opened),
		column.Milli(a.Closed))
	b.size += len(a.Prompt) + len(a.Schema)
	b.change(orchestrator.Change{AskID: a.ID, RunID: a.RunID, ConversationID: a.ConversationID})
}

const askColumns = `SELECT id, run, step, conversation, principal, agent, kind, prompt, schema, choices, links, state, answer,
	opened, closed FROM asks `

func scanAsk(row scanner) (*orchestrator.Ask, error) {
	var (
		a                              orchestrator.Ask
		schema, choices, links, answer []byte
		opened, closed                 int64
	)
	err := row.Scan(&a.ID, &a.RunID, &a.StepID, &a.ConversationID, &a.Principal, &a.AgentID, &a.Kind, &a.Prompt, &schema,
		&choices, &links, &a.State, &answer, &opened, &closed)
	if err != nil {
		return nil, err
	}
	a.Schema, a.Answer = schema, answer
	a.Opened, a.Closed = column.Time(opened), column.Time(closed)
	return &a, errors.Join(column.Read(choices, &a.Choices), column.Read(links, &a.Links))
}

// Ask returns an ask.
func (db *DB) Ask(ctx context.Context, id string) (*orchestrator.Ask, error) {
	return scanAsk(db.row(ctx, askColumns+`WHERE id = $1`, id))
}

// OpenAsks returns the open asks of the local person, or of one run, oldest first.
func (db *DB) OpenAsks(ctx context.Context, run string) ([]*orchestrator.Ask, error) {
	if run == "" {
		return list(ctx, db, scanAsk, askColumns+`WHERE state = 'open' AND principal = $1 ORDER BY ord`, orchestrator.LocalPrincipal)
	}
	return list(ctx, db, scanAsk, askColumns+`WHERE state = 'open' AND run = $1 ORDER BY ord`, run)
}
