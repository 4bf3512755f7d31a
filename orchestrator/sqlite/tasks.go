package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

var _ orchestrator.Ledger = (*DB)(nil)

const (
	taskLimit = 50
	taskMost  = 500
)

// owner is whose tasks a part of the list of runs is.
type owner struct{ scope, principal string }

// owners returns whose tasks there are. They are found by leaps through the one index of the list of runs, which is why
// a list across all of them needs no index of its own, and commits none.
func (db *DB) owners(ctx context.Context) ([]owner, error) {
	var all []owner
	var o owner
	for {
		err := db.read.QueryRowContext(ctx, `SELECT scope, principal FROM runs INDEXED BY runs_list
			WHERE state <> '' AND (scope, principal) > (?, ?) ORDER BY scope, principal LIMIT 1`, o.scope, o.principal).
			Scan(&o.scope, &o.principal)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return all, nil
		case err != nil:
			return nil, err
		case strings.HasPrefix(o.scope, orchestrator.DemoScope):
			o = owner{strings.TrimSuffix(orchestrator.DemoScope, "/") + "0", ""} // the character after the slash: behind them all
			continue
		}
		all = append(all, o)
	}
}

// Callers returns the principals that have tasks here, by name.
func (db *DB) Callers(ctx context.Context) ([]string, error) {
	all, err := db.owners(ctx)
	var names []string
	for _, o := range all {
		names = append(names, o.principal)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// ListTasks returns tasks of everybody, newest status first.
func (db *DB) ListTasks(ctx context.Context, q orchestrator.TaskQuery) ([]*orchestrator.Run, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = taskLimit
	}
	limit = min(limit, taskMost)
	where := strings.Builder{}
	where.WriteString(`WHERE r.scope = ? AND r.principal = ? AND r.state <> ''`)
	args := []any{nil, nil}
	and := func(condition string, arg ...any) {
		where.WriteString(` AND ` + condition)
		args = append(args, arg...)
	}
	if len(q.States) > 0 {
		and(`r.state IN (?` + strings.Repeat(`, ?`, len(q.States)-1) + `)`)
		for _, s := range q.States {
			args = append(args, string(s))
		}
	}
	if q.AgentID != "" {
		and(`(r.recipient = ? OR EXISTS (SELECT 1 FROM steps s WHERE s.run = r.key AND s.agent = ?))`, q.AgentID, q.AgentID)
	}
	if !q.From.IsZero() {
		and(`r.updated >= ?`, column.CeilMilli(q.From))
	}
	if !q.To.IsZero() {
		and(`r.updated < ?`, column.CeilMilli(q.To))
	}
	if q.Before != nil {
		and(`(r.updated, r.id) < (?, ?)`, column.Milli(q.Before.Updated), q.Before.ID)
	}
	query := runColumns + `FROM runs r INDEXED BY runs_list ` + runJoin + where.String() + ` ORDER BY r.updated DESC, r.id DESC LIMIT ?`
	owners, err := db.owners(ctx)
	if err != nil {
		return nil, err
	}
	var all []*orchestrator.Run
	for _, o := range owners {
		if q.Principal != "" && o.principal != q.Principal || q.Outside && o.principal == orchestrator.LocalPrincipal {
			continue
		}
		args[0], args[1] = o.scope, o.principal
		some, err := list(ctx, db, scanRun, query, append(args, limit)...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b *orchestrator.Run) int {
		if c := b.Updated.Compare(a.Updated); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return all[:min(limit, len(all))], nil
}

// ClosedAsks returns the asks of the local person that are not open any more, newest first.
func (db *DB) ClosedAsks(ctx context.Context, before *orchestrator.Ask, limit int) ([]*orchestrator.Ask, error) {
	where, args := `WHERE a.state <> 'open' AND a.principal = ?`, []any{orchestrator.LocalPrincipal}
	if before != nil {
		where += ` AND (a.closed, a.id) < (?, ?)`
		args = append(args, column.Milli(before.Closed), before.ID)
	}
	return list(ctx, db, scanAsk, askColumns+where+` ORDER BY a.closed DESC, a.id DESC LIMIT ?`, append(args, min(max(limit, 1), taskMost))...)
}
