package app

import (
	"context"
	"reflect"
	"strings"

	"parley/orchestrator"
)

// othersChanged reads anew what this process keeps in memory, where another may have changed it; the zero Change: there
// may be anything. What cannot be read now stays as it was known, and is read the next time.
func (a *App) othersChanged(ctx context.Context, c orchestrator.Change) {
	all := c == orchestrator.Change{}
	warn := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			a.log.Warn(what+" could not be read anew", "err", err)
		}
	}
	if all || c.TokenID != "" {
		warn("the tokens", a.tokens.refresh(ctx))
	}
	if all || strings.HasPrefix(c.Setting, "model.") {
		warn("the model", a.model.refresh(ctx))
	}
	switch {
	case all:
		agents, err := a.store.ListAgents(ctx)
		for _, g := range agents {
			warn("the grants of "+g.ID, a.grants.load(ctx, a.store, g.ID))
		}
		warn("the agents", err)
	case c.AgentID != "":
		warn("the grants of "+c.AgentID, a.grants.load(ctx, a.store, c.AgentID))
	}
}

// refresh takes in what is stored of the tokens that are known here.
func (t *tokens) refresh(ctx context.Context) error {
	all, err := t.store.ListTokens(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range all {
		c := t.byID[k.ID]
		if c == nil || !c.Revoked.IsZero() {
			continue
		}
		if k.Used.After(c.used) {
			c.used = k.Used
		}
		was, is := *c.Token, *k
		was.Used = is.Used
		if reflect.DeepEqual(was, is) {
			continue
		}
		used := c.used
		if c = t.put(k); used.After(c.used) {
			c.used = used
		}
	}
	return nil
}

// refresh takes in a model that was set up elsewhere.
func (m *model) refresh(ctx context.Context) error {
	s, err := m.stored(ctx)
	if err != nil {
		return err
	}
	m.mu.RLock()
	same := s == m.now
	m.mu.RUnlock()
	if !same {
		m.use(s)
	}
	return nil
}
