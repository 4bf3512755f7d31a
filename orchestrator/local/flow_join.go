package local

import (
	"errors"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// The end of a call and what follows from it in its plan are one commit where both are at hand: the call's last events, the
// plan's Over of it, what the plan decides then, and the intents of the calls it begins next. It is the whole of it or
// nothing: after a crash a call either goes on, and is read to its end once more, or its plan has heard of it and has begun
// what comes next.
//
// The locks: who holds a plan may wait for its calls, never the other way round. The call that ends holds its own lock and
// only tries the plan's; when somebody has that, when the plan is not in memory, or with a Host, the end is stored by itself
// and the plan told by news, which is how every plan hears that was read since. Both locks are held until the commit, so
// memory stays one step ahead of what is stored, or equal to it. When the plan cannot decide, the end is stored by itself
// all the same: it is a fact; when the commit fails, both runs are thrown away and read again.

// joined stores the end of a call together with what follows from it in its plan, and reports whether that is done, or has
// failed for good. r.mu is held.
func (c *change) joined() bool {
	r, d := c.r, c.r.d
	p := d.plan(r.parent)
	if p == nil {
		return false
	}
	defer d.release(p)
	defer p.mu.Unlock()
	if r.flush(); r.ctx.Err() != nil {
		return false
	}
	whole := false
	defer func() {
		if !whole { // it panicked
			p.kill(errPanicked)
			d.evict(p)
			d.unkeep(p)
		}
	}()
	told := r.told
	h := r.newest()
	if h == nil {
		whole = true
		return false
	}
	if c.within = r.conversation(); c.within {
		c.endItems()
	}
	pc := p.change()
	pc.over, p.flow.ending = c, r.fold
	pc.hear(*h)
	err := p.advance(d.ctx, pc)
	p.flow.ending, whole = nil, true
	if err == nil {
		return true
	}
	if !errors.Is(err, orchestrator.ErrNotFound) && d.ctx.Err() == nil {
		d.revive(p.row.ID, err)
	}
	if c.sealed {
		r.kill(err)
		return true
	}
	c.within, r.told = false, told
	return false
}

// agentKnows reports whether the run was a call of that agent, which has a context for it.
func (r *run) agentKnows(agent string) bool {
	st := r.state.Step(engine.FirstStep)
	return st != nil && st.Agent == agent && st.Context != ""
}

// plan returns a run with a plan, held and locked, when it is in memory, goes on, knows of all its calls, and nobody else
// has it locked; else nil.
func (d *Driver) plan(id string) *run {
	if d.host != nil || d.news.forgot(id) {
		return nil
	}
	d.mu.Lock()
	p := d.live[id]
	if p == nil || !p.mu.TryLock() {
		d.mu.Unlock()
		return nil
	}
	p.holders++
	d.mu.Unlock()
	if p.flow == nil || p.flow.unknown || p.state.Ended || p.ctx.Err() != nil {
		p.mu.Unlock()
		d.release(p)
		return nil
	}
	return p
}
