package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

const upsertRun = `INSERT INTO runs (key, id, scope, principal, conversation, context, recipient, state, open, updated,
		created, engine, workflow)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (key) DO UPDATE SET scope = excluded.scope, principal = excluded.principal,
		conversation = excluded.conversation, context = excluded.context, recipient = excluded.recipient,
		state = excluded.state, open = excluded.open, updated = excluded.updated,
		created = excluded.created, engine = excluded.engine, workflow = excluded.workflow`

func (b *batch) run(r *orchestrator.Run) {
	open := r.State != a2a.TaskStateUnspecified && !r.State.Terminal()
	s := b.add(upsertRun, runID(r.ID), r.ID, r.Scope, r.Principal, conversationID(r.ConversationID), r.ContextID, r.To,
		string(r.State), open, column.Milli(r.Updated), column.Milli(r.Created), []byte(r.Engine), r.Workflow)
	s.last = "run " + r.ID
	b.size += len(r.Engine)
	b.change(orchestrator.Change{RunID: r.ID, ConversationID: r.ConversationID})
}

const runColumns = `SELECT r.id, r.scope, r.principal, c.id, r.context, r.recipient, r.state, r.updated, r.created, r.engine, r.workflow,
	coalesce((SELECT max(seq) FROM events WHERE run = r.key), 0) `

const (
	runJoin = `LEFT JOIN conversations c ON c.key = r.conversation `
	oneRun  = runColumns + `FROM runs r ` + runJoin
)

func scanRun(row scanner) (*orchestrator.Run, error) {
	var (
		r                orchestrator.Run
		conversation     sql.NullString
		updated, created int64
		engine           []byte
	)
	err := row.Scan(&r.ID, &r.Scope, &r.Principal, &conversation, &r.ContextID, &r.To, &r.State, &updated, &created,
		&engine, &r.Workflow, &r.LastSeq)
	if err != nil {
		return nil, missing(err)
	}
	r.ConversationID, r.Engine = conversation.String, engine
	r.Updated, r.Created = column.Time(updated), column.Time(created)
	return &r, nil
}

// Run returns a run.
func (db *DB) Run(ctx context.Context, id string) (*orchestrator.Run, error) {
	return scanRun(db.read.QueryRowContext(ctx, oneRun+`WHERE r.id = ? AND r.scope IS NOT NULL`, id))
}

// ListRuns returns a page of a principal's runs in a scope, newest status first, and how many there are in all.
func (db *DB) ListRuns(ctx context.Context, scope, principal string, r *a2a.ListRequest, before *orchestrator.Run, limit int) ([]*orchestrator.Run, int, error) {
	where := []string{`r.scope = ?`, `r.principal = ?`, `r.state <> ''`}
	args := []any{scope, principal}
	if r.ContextID != "" {
		where, args = append(where, `r.context = ?`), append(args, r.ContextID)
	}
	if r.Status != a2a.TaskStateUnspecified {
		where, args = append(where, `r.state = ?`), append(args, string(r.Status))
	}
	if !r.StatusTimestampAfter.IsZero() {
		where, args = append(where, `r.updated >= ?`), append(args, column.CeilMilli(r.StatusTimestampAfter))
	}
	filter, from := `WHERE `+strings.Join(where, ` AND `), `FROM runs r `
	// Both reads are of one moment, so that the total fits the page.
	tx, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, 0, err
	}
	defer tx.Rollback()
	var total int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) `+from+filter, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if before != nil {
		filter += ` AND (r.updated, r.id) < (?, ?)`
		args = append(args, column.Milli(before.Updated), before.ID)
	}
	rows, err := tx.QueryContext(ctx, runColumns+from+runJoin+filter+` ORDER BY r.updated DESC, r.id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	var page []*orchestrator.Run
	for rows.Next() {
		run, err := scanRun(rows)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, run)
	}
	return page, total, rows.Err()
}

// OpenRuns yields the runs of a scope that have not ended, oldest first.
func (db *DB) OpenRuns(ctx context.Context, scope string) iter.Seq2[*orchestrator.Run, error] {
	first, behind := scope, scope+"\x00"
	if strings.HasSuffix(scope, "/") {
		behind = strings.TrimSuffix(scope, "/") + "0" // the character after the slash
	}
	const page = 256
	return func(yield func(*orchestrator.Run, error) bool) {
		// In pages, so that a slow reader keeps no snapshot of the database open.
		keys, err := list(ctx, db, func(row scanner) (key int64, err error) { return key, row.Scan(&key) },
			`SELECT key FROM runs INDEXED BY runs_open WHERE open = 1 AND scope >= ? AND scope < ? ORDER BY key`, first, behind)
		if err != nil {
			yield(nil, err)
			return
		}
		for some := range slices.Chunk(keys, page) {
			wanted, _ := json.Marshal(some) // of numbers
			runs, err := list(ctx, db, scanRun, oneRun+`WHERE r.open = 1 AND r.key IN (SELECT value FROM json_each(?))
				ORDER BY r.key`, string(wanted))
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range runs {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// RunsOf returns the runs of a conversation that have not ended, oldest first.
func (db *DB) RunsOf(ctx context.Context, conversation string) ([]*orchestrator.Run, error) {
	return list(ctx, db, scanRun, oneRun+`WHERE r.conversation = (SELECT key FROM conversations WHERE id = ?)
		AND r.open = 1 ORDER BY r.key`, conversation)
}

func (b *batch) step(s *orchestrator.Step) {
	b.add(`INSERT INTO steps (run, id, agent, attempt, message, state, child_task, child_context, updated)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, id) DO UPDATE SET agent = excluded.agent, attempt = excluded.attempt,
			message = excluded.message, state = excluded.state, child_task = excluded.child_task,
			child_context = excluded.child_context, updated = excluded.updated`,
		runID(s.RunID), s.ID, s.AgentID, int64(s.Attempt), s.MessageID, string(s.State), s.ChildTask, s.ChildContext,
		column.Milli(s.Updated))
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
	}, `SELECT id, agent, attempt, message, state, child_task, child_context, updated FROM steps
		WHERE run = (SELECT key FROM runs WHERE id = ?) ORDER BY key`, run)
}

// Context returns what a conversation, or an outside caller's context, has with an agent.
func (db *DB) Context(ctx context.Context, key, agent string) (*orchestrator.ChildContext, error) {
	c := &orchestrator.ChildContext{Key: key, AgentID: agent}
	err := db.read.QueryRowContext(ctx, `SELECT context, task, last_task FROM contexts WHERE owner = ? AND agent = ?`,
		key, agent).Scan(&c.ContextID, &c.TaskID, &c.LastTask)
	if err != nil {
		return nil, missing(err)
	}
	return c, nil
}

func (b *batch) ask(a *orchestrator.Ask) {
	b.add(`INSERT INTO asks (id, run, step, conversation, principal, agent, kind, prompt, schema, choices, links, state,
			answer, opened, closed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET run = excluded.run, step = excluded.step, conversation = excluded.conversation,
			principal = excluded.principal, agent = excluded.agent, kind = excluded.kind, prompt = excluded.prompt,
			schema = excluded.schema, choices = excluded.choices, links = excluded.links, state = excluded.state,
			answer = excluded.answer, opened = excluded.opened, closed = excluded.closed`,
		a.ID, runID(a.RunID), a.StepID, conversationID(a.ConversationID), a.Principal, a.AgentID, string(a.Kind), a.Prompt,
		[]byte(a.Schema), b.json(a.Choices), b.json(a.Links), string(a.State), []byte(a.Answer), column.Milli(a.Opened),
		column.Milli(a.Closed))
	b.size += len(a.Prompt) + len(a.Schema)
	b.change(orchestrator.Change{AskID: a.ID, RunID: a.RunID, ConversationID: a.ConversationID})
}

const askColumns = `SELECT a.id, r.id, a.step, c.id, a.principal, a.agent, a.kind, a.prompt, a.schema, a.choices, a.links,
	a.state, a.answer, a.opened, a.closed FROM asks a JOIN runs r ON r.key = a.run
	LEFT JOIN conversations c ON c.key = a.conversation `

func scanAsk(row scanner) (*orchestrator.Ask, error) {
	var (
		a                              orchestrator.Ask
		conversation                   sql.NullString
		schema, choices, links, answer []byte
		opened, closed                 int64
	)
	err := row.Scan(&a.ID, &a.RunID, &a.StepID, &conversation, &a.Principal, &a.AgentID, &a.Kind, &a.Prompt, &schema,
		&choices, &links, &a.State, &answer, &opened, &closed)
	if err != nil {
		return nil, missing(err)
	}
	a.ConversationID, a.Schema, a.Answer = conversation.String, schema, answer
	a.Opened, a.Closed = column.Time(opened), column.Time(closed)
	return &a, errors.Join(column.Read(choices, &a.Choices), column.Read(links, &a.Links))
}

// Ask returns an ask.
func (db *DB) Ask(ctx context.Context, id string) (*orchestrator.Ask, error) {
	return scanAsk(db.read.QueryRowContext(ctx, askColumns+`WHERE a.id = ?`, id))
}

// OpenAsks returns the open asks of the local person, or of one run, oldest first.
func (db *DB) OpenAsks(ctx context.Context, run string) ([]*orchestrator.Ask, error) {
	if run == "" {
		return list(ctx, db, scanAsk, askColumns+`WHERE a.state = 'open' AND a.principal = ? ORDER BY a.key`,
			orchestrator.LocalPrincipal)
	}
	return list(ctx, db, scanAsk, askColumns+`WHERE a.state = 'open' AND a.run = (SELECT key FROM runs WHERE id = ?)
		ORDER BY a.key`, run)
}
