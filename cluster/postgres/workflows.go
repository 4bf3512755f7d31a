package postgres

import (
	"context"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

func (b *batch) workflow(w *orchestrator.Workflow) {
	source := w.Source
	if source == nil {
		source = []byte{}
	}
	b.add(`INSERT INTO workflows (id, name, description, source, exposed, demo, added, updated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, source = excluded.source,
			exposed = excluded.exposed, demo = excluded.demo, added = excluded.added, updated = excluded.updated`,
		w.ID, w.Name, w.Description, source, w.Exposed, w.Demo, column.Milli(w.Added), column.Milli(w.Updated))
	b.size += len(source)
	b.change(orchestrator.Change{WorkflowID: w.ID})
}

const workflowColumns = `SELECT id, name, description, source, exposed, demo, added, updated FROM workflows `

func scanWorkflow(row scanner) (*orchestrator.Workflow, error) {
	var w orchestrator.Workflow
	var added, updated int64
	err := row.Scan(&w.ID, &w.Name, &w.Description, &w.Source, &w.Exposed, &w.Demo, &added, &updated)
	if err != nil {
		return nil, err
	}
	w.Added, w.Updated = column.Time(added), column.Time(updated)
	return &w, nil
}

// Workflow returns a kept workflow.
func (db *DB) Workflow(ctx context.Context, id string) (*orchestrator.Workflow, error) {
	return scanWorkflow(db.row(ctx, workflowColumns+`WHERE id = $1`, id))
}

// ListWorkflows returns the kept workflows by name.
func (db *DB) ListWorkflows(ctx context.Context) ([]*orchestrator.Workflow, error) {
	return list(ctx, db, scanWorkflow, workflowColumns+`ORDER BY lower(name), id`)
}

// RemoveWorkflow forgets a workflow. Its runs stay, and go on.
func (db *DB) RemoveWorkflow(ctx context.Context, id string) error {
	b := &batch{}
	b.add(`DELETE FROM workflows WHERE id = $1`, id)
	b.change(orchestrator.Change{WorkflowID: id})
	return db.writer.waitFor(ctx, &op{batch: b})
}

// WorkflowRuns returns a page of the runs of a workflow, newest first.
func (db *DB) WorkflowRuns(ctx context.Context, id, after string, n int) ([]*orchestrator.Run, error) {
	const of = runColumns + `WHERE r.workflow = $1 AND r.workflow <> '' `
	if after == "" {
		return list(ctx, db, scanRun, of+`ORDER BY r.ord DESC LIMIT $2`, id, n)
	}
	return list(ctx, db, scanRun, of+`AND r.ord < (SELECT ord FROM runs WHERE id = $3) ORDER BY r.ord DESC LIMIT $2`, id, n, after)
}
