package orchestratortest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
)

var _ orchestrator.Ledger = (*MemoryStore)(nil)

func (m *MemoryStore) ListTasks(_ context.Context, q orchestrator.TaskQuery) ([]*orchestrator.Run, error) {
	m.mu.Lock()
	steps := map[string]bool{}
	for run, all := range m.steps {
		for _, s := range all {
			if s.AgentID == q.AgentID {
				steps[run] = true
			}
		}
	}
	m.mu.Unlock()
	all := m.selectRuns(func(r *orchestrator.Run) bool {
		return r.State != a2a.TaskStateUnspecified && !strings.HasPrefix(r.Scope, orchestrator.DemoScope) &&
			(len(q.States) == 0 || slices.Contains(q.States, r.State)) && (q.AgentID == "" || r.To == q.AgentID || steps[r.ID]) &&
			(q.Principal == "" || r.Principal == q.Principal) && (!q.Outside || r.Principal != orchestrator.LocalPrincipal) &&
			(q.From.IsZero() || !r.Updated.Before(q.From)) && (q.To.IsZero() || r.Updated.Before(q.To))
	})
	slices.SortFunc(all, newer)
	if q.Before != nil {
		all = slices.DeleteFunc(all, func(r *orchestrator.Run) bool { return newer(q.Before, r) >= 0 })
	}
	return all[:min(cmp.Or(q.Limit, 50), len(all))], nil
}

func (m *MemoryStore) Callers(context.Context) ([]string, error) {
	var names []string
	for _, r := range m.selectRuns(func(r *orchestrator.Run) bool { return !strings.HasPrefix(r.Scope, orchestrator.DemoScope) }) {
		names = append(names, r.Principal)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (m *MemoryStore) ClosedAsks(_ context.Context, before *orchestrator.Ask, limit int) ([]*orchestrator.Ask, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newer := func(a, b *orchestrator.Ask) int {
		return cmp.Or(b.Closed.Compare(a.Closed), strings.Compare(b.ID, a.ID))
	}
	var all []*orchestrator.Ask
	for _, a := range m.asks {
		if a.State != orchestrator.AskOpen && a.Principal == orchestrator.LocalPrincipal && (before == nil || newer(before, &a) < 0) {
			all = append(all, &a)
		}
	}
	slices.SortFunc(all, newer)
	return all[:min(limit, len(all))], nil
}
