package app

import (
	"context"
	"errors"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/orchestrator"
)

// learned keeps what an agent proved to speak, unless its card or its address changed meanwhile, or a person chose.
func (r *registry) learned(g *orchestrator.Agent, v a2aclient.Verdict) {
	r.amend(g, func(found *orchestrator.Agent) bool {
		was := *found
		if was.Known == orchestrator.KnownByPerson {
			return false
		}
		found.Dialect, found.Known = dialectOf(found.Interface), orchestrator.KnownByCard
		if v.By != a2aclient.ByAnswer {
			found.Dialect, found.Known = v.Dialect.String(), orchestrator.KnownByAnswer
		}
		return found.Dialect != was.Dialect || found.Known != was.Known
	})
}

// heard keeps how the last contact with an agent went, and since when it goes so.
func (r *registry) heard(g *orchestrator.Agent, f *orchestrator.Fault) {
	if f != nil {
		r.suspect(g.ID)
	}
	r.amend(g, func(found *orchestrator.Agent) bool {
		was := found.Health
		found.Health = orchestrator.AgentHealth{Checked: time.Now(), Latency: was.Latency, Fault: f}
		return was.Checked.IsZero() || !alike(was.Fault, f)
	})
}

// alike reports whether two outcomes of a call are shown as the same.
func alike(a, b *orchestrator.Fault) bool {
	return a == b || a != nil && b != nil && a.Kind == b.Kind && a.Where == b.Where && a.What == b.What
}

// amend stores what a call found out about an agent, unless its card or its address changed meanwhile. It waits for no
// disk.
func (r *registry) amend(g *orchestrator.Agent, change func(found *orchestrator.Agent) bool) {
	_ = r.enqueue(g.ID, &orchestrator.Batch{}, func(found *orchestrator.Agent) error {
		if found.Trust != orchestrator.TrustApproved || found.CardHash != g.CardHash || found.Interface != g.Interface || !change(found) {
			return errUnchanged
		}
		return nil
	}, func(err error) {
		if err != nil {
			r.log.Warn("what was found out about an agent could not be stored", "agent", g.ID, "err", err)
		}
	})
}

var errUnchanged = errors.New("there is nothing to store")

// edit stores an agent as change makes it of what it is now, and what else is in b, and waits for the disk.
func (r *registry) edit(ctx context.Context, id string, b *orchestrator.Batch, change func(g *orchestrator.Agent) error) error {
	stored := make(chan error, 1)
	if err := r.enqueue(id, b, change, func(err error) { stored <- err }); err != nil {
		return err
	}
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enqueue stores an agent as change makes it of what it is now; done is told how that went. What was changed before and is
// not on disk yet is changed further: of two changes at the same time none is lost, least of all that it was removed.
func (r *registry) enqueue(id string, b *orchestrator.Batch, change func(g *orchestrator.Agent) error, done func(error)) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	r.mu.Lock()
	now := r.amended[id]
	r.mu.Unlock()
	if now == nil {
		var err error
		if now, err = r.store.Agent(context.Background(), id); err != nil {
			return noAgent(context.Background(), r.store, id, err)
		}
	}
	g := *now
	if err := change(&g); err != nil {
		return err
	}
	r.mu.Lock()
	if r.amended == nil {
		r.amended = map[string]*orchestrator.Agent{}
	}
	r.amended[id] = &g
	r.mu.Unlock()
	b.Agents = []*orchestrator.Agent{&g}
	r.store.Enqueue(b, func(_ []*a2a.Entry, err error) { // at once, when the store is closed
		r.mu.Lock()
		if r.amended[id] == &g {
			delete(r.amended, id)
		}
		r.mu.Unlock()
		done(err)
	})
	return nil
}
