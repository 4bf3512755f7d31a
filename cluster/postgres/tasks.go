package postgres

import (
	"context"
	"strings"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

const (
	taskLimit = 50
	taskMost  = 500
)

// behindDemos is the scope behind those of the demo agents' own runs.
var behindDemos = strings.TrimSuffix(orchestrator.DemoScope, "/") + "0" // the character after the slash

// Callers returns the principals that have tasks here, by name.
func (db *DB) Callers(ctx context.Context) ([]string, error) {
	// By leaps through the index of the list of runs: there are few callers and many runs.
	return list(ctx, db, scanString, `WITH RECURSIVE owners (scope, principal) AS (
		(SELECT scope, principal FROM runs WHERE state <> '' ORDER BY scope, principal LIMIT 1)
		UNION ALL
		SELECT n.scope, n.principal FROM owners o CROSS JOIN LATERAL (SELECT scope, principal FROM runs
			WHERE state <> '' AND (scope, principal) > (o.scope, o.principal) ORDER BY scope, principal LIMIT 1) n
	) SELECT DISTINCT principal FROM owners WHERE NOT (scope >= $1 AND scope < $2) ORDER BY principal`,
		orchestrator.DemoScope, behindDemos)
}

// ListTasks returns tasks of everybody, newest status first.
func (db *DB) ListTasks(ctx context.Context, q orchestrator.TaskQuery) ([]*orchestrator.Run, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = taskLimit
	}
	var w where
	w.and(`r.state <> ''`)
	w.and(`NOT (r.scope >= $ AND r.scope < $)`, orchestrator.DemoScope, behindDemos)
	if len(q.States) > 0 {
		w.and(`r.state = ANY ($)`, texts(q.States))
	}
	if q.AgentID != "" {
		w.and(`(r.recipient = $ OR EXISTS (SELECT 1 FROM steps s WHERE s.run = r.id AND s.agent = $))`, q.AgentID, q.AgentID)
	}
	if q.Principal != "" {
		w.and(`r.principal = $`, q.Principal)
	}
	if q.Outside {
		w.and(`r.principal <> $`, orchestrator.LocalPrincipal)
	}
	if !q.From.IsZero() {
		w.and(`r.updated >= $`, column.CeilMilli(q.From))
	}
	if !q.To.IsZero() {
		w.and(`r.updated < $`, column.CeilMilli(q.To))
	}
	if q.Before != nil {
		w.and(`(r.updated, r.id) < ($, $)`, column.Milli(q.Before.Updated), q.Before.ID)
	}
	w.write(` ORDER BY r.updated DESC, r.id DESC LIMIT $`, min(limit, taskMost))
	return list(ctx, db, scanRun, runColumns+w.sql.String(), w.args...)
}

// ClosedAsks returns the asks of the local person that are not open any more, newest first.
func (db *DB) ClosedAsks(ctx context.Context, before *orchestrator.Ask, limit int) ([]*orchestrator.Ask, error) {
	var w where
	w.and(`state <> 'open'`)
	w.and(`principal = $`, orchestrator.LocalPrincipal)
	if before != nil {
		w.and(`(closed, id) < ($, $)`, column.Milli(before.Closed), before.ID)
	}
	w.write(` ORDER BY closed DESC, id DESC LIMIT $`, min(max(limit, 1), taskMost))
	return list(ctx, db, scanAsk, askColumns+w.sql.String(), w.args...)
}
