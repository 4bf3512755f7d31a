package app

import (
	"context"
	"slices"
	"sync"

	"parley/app/egress"
	"parley/orchestrator"
)

// grants answers from memory where an agent may be reached: it is asked before every request.
type grants struct {
	mu      sync.RWMutex
	origins map[string][]string // by agent id; the slices are never changed
}

func loadGrants(ctx context.Context, store orchestrator.Store) (*grants, error) {
	g := &grants{origins: map[string][]string{}}
	agents, err := store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if err := g.load(ctx, store, a.ID); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// load reads the grants of one agent again.
func (g *grants) load(ctx context.Context, store orchestrator.Store, agent string) error {
	all, err := store.Grants(ctx, agent)
	if err != nil {
		return err
	}
	origins := make([]string, len(all))
	for i, o := range all {
		origins[i] = o.Origin
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.origins[agent] = origins
	return nil
}

func (g *grants) of(_ context.Context, agent string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.origins[agent]
}

// agentAt returns an agent that may be reached at the origin of an address and that counts, "" when there is none.
func (g *grants) agentAt(address string, counts func(agent string) bool) string {
	origin, err := egress.Origin(address)
	if err != nil {
		return ""
	}
	g.mu.RLock()
	var there []string
	for id, origins := range g.origins {
		if slices.Contains(origins, origin) {
			there = append(there, id)
		}
	}
	g.mu.RUnlock()
	slices.Sort(there)
	if i := slices.IndexFunc(there, counts); i >= 0 { // it may read the agent: nothing is held while it does
		return there[i]
	}
	return ""
}
