package local

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// maxReferences is how many of the tasks that a message refers to are looked for: each costs a look into the store.
const maxReferences = 100

// references turns the tasks that a message refers to into what the agent calls them: the agent was given the child tasks,
// never ours. A task that is not the sender's, or not this agent's, is left out, as if there were none (v1.0 section
// 3.4.3 leaves that to us; whoever may not see a task must not learn of it). So are those beyond the first maxReferences.
func (r *run) references(ctx context.Context, agent string, named []string) ([]string, error) {
	var out []string
	for _, id := range named[:min(len(named), maxReferences)] {
		row, err := r.d.store.Run(ctx, id)
		switch {
		case errors.Is(err, orchestrator.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case row.Principal != r.row.Principal || row.ID == r.row.ID:
			continue
		}
		child, err := r.d.child(ctx, row, agent)
		if err != nil {
			return nil, err
		}
		if child != "" && !slices.Contains(out, child) {
			out = append(out, child)
		}
	}
	return out, nil
}

// child returns what an agent calls its task of a run, "" when it has none.
func (d *Driver) child(ctx context.Context, row *orchestrator.Run, agent string) (string, error) {
	if row.Scope == orchestrator.OwnAgent {
		all, err := d.store.Steps(ctx, row.ID)
		if err != nil {
			return "", err
		}
		for _, s := range slices.Backward(all) {
			if s.AgentID == agent && s.ChildTask != "" {
				return s.ChildTask, nil
			}
		}
		return "", nil
	}
	if row.Scope != gatewayScope+agent {
		return "", nil
	}
	for events, err := range d.store.ReadRun(ctx, row.ID, 0) {
		if err != nil {
			return "", err
		}
		for _, e := range events {
			if e.Kind != orchestrator.EventSent {
				continue
			}
			var sent engine.Sent
			if err := json.Unmarshal(e.JSON, &sent); err != nil {
				return "", err
			}
			return sent.Task, nil
		}
	}
	return "", nil
}
