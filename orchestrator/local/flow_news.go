package local

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
	"parley/orchestrator/workflow"
)

// news is what became of calls, on its way to the runs they belong to. What is lost with the process is looked up in the
// store when the run is read again.
type news struct {
	mu    sync.Mutex
	boxes map[string][]heard // by run; there is one while somebody sees to it
	gone  map[string]bool    // runs that are being erased: they hear nothing
}

// forget makes a run hear nothing until it is remembered.
func (n *news) forget(run string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone == nil {
		n.gone = map[string]bool{}
	}
	n.gone[run] = true
}

// remember lets a run hear again, if it is there.
func (n *news) remember(run string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.gone, run)
}

// forgot reports whether a run is to be left alone.
func (n *news) forgot(run string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone[run]
}

// heard is what is known anew of a call: where it stands, or that it ended.
type heard struct {
	call  string
	state a2a.TaskState
	over  *engine.Over // nil while it goes on

	context orchestrator.ChildContext // of one that ended: what its agent has now
}

// report tells the plan that the run belongs to what it does not know yet. What is told is on the disk. r.mu is held.
func (r *run) report() {
	if h := r.newest(); h != nil {
		r.d.post(r.parent, *h)
	}
}

// reporting is report for what is on its way to the disk.
func (r *run) reporting(done func([]*a2a.Entry, error)) func([]*a2a.Entry, error) {
	h := r.newest()
	if h == nil {
		return done
	}
	return func(entries []*a2a.Entry, err error) {
		done(entries, err)
		if err == nil {
			r.d.post(r.parent, *h)
		}
	}
}

// newest returns what the plan does not know of the run; nil when it knows all that matters to it. r.mu is held.
func (r *run) newest() *heard {
	h := &heard{call: r.row.ID, state: r.row.State}
	switch {
	case r.told == toldOver:
		return nil
	case r.state.Ended:
		h.over = r.overAs()
		if st := r.state.Step(engine.FirstStep); st != nil {
			h.context = orchestrator.ChildContext{AgentID: st.Agent, ContextID: st.Context, LastTask: st.Task}
			if st.Task == "" && r.intent != nil && len(r.intent.References) > 0 {
				h.context.LastTask = r.intent.References[0]
			}
		}
		r.told = toldOver
	case r.told.Interrupted() || h.state.Interrupted():
		r.told = h.state // also another question than before
	default:
		return nil
	}
	return h
}

// toldOver is what a plan knows of a call that has ended.
const toldOver a2a.TaskState = "ended"

// What of a call's result stands in the log of the plan.
const (
	overText = 2000 // characters
	overData = 4 << 10
)

// uses takes in what an agent reports beside its task, which only a plan wants to know.
func (r *run) uses(e a2a.Event) {
	if s, ok := e.(*a2a.StatusUpdate); ok && r.parent != "" && s.Metadata != nil {
		if u := steps.UsageIn(s.Metadata); u != nil {
			r.used = u
		}
	}
}

// overAs says how the run ended, for the plan it belongs to. r.mu is held.
func (r *run) overAs() *engine.Over {
	o := &engine.Over{Run: r.row.ID, State: r.row.State, At: r.row.Updated.UnixMilli()}
	if st := r.state.Step(engine.FirstStep); st != nil {
		o.Task = st.Task
	}
	switch o.State {
	case a2a.TaskStateUnspecified:
		o.State = a2a.TaskStateCompleted
	case a2a.TaskStateFailed, a2a.TaskStateRejected:
		if o.Fault = r.state.Fault; o.Fault == nil {
			o.Fault = steps.AgentFailed(r.status)
		}
		o.Final = o.State == a2a.TaskStateRejected || !o.Fault.Retry || o.Fault.Final || o.Fault.MayHaveRun && !steps.FailedInside(o.Fault)
	case a2a.TaskStateCanceled:
		o.Fault = r.state.Fault
	}
	switch {
	case r.used != nil:
		o.Usage = r.used
	case r.flow != nil && r.flow.Used != orchestrator.Usage{}:
		used := r.flow.Used
		o.Usage = &used
	case r.flow == nil && r.fold != nil:
		o.Usage = steps.UsageOf(r.fold)
	}
	if r.fold == nil {
		return o
	}
	res := workflow.ResultOf(r.fold, engine.NodeDone)
	if o.Text = res.Text; len([]rune(o.Text)) > overText {
		o.Text = string([]rune(o.Text)[:overText]) + "…"
	}
	if res.Data != nil {
		if data := mustJSON(res.Data); len(data) <= overData {
			o.Data = data
		}
	}
	for i := range r.fold.Artifacts {
		a := &r.fold.Artifacts[i]
		d := orchestrator.ArtifactData{ArtifactID: a.ID, Name: a.Name, Description: a.Description}
		for j := range a.Parts {
			d.Parts = append(d.Parts, steps.PartInfo(&a.Parts[j]))
		}
		o.Artifacts = append(o.Artifacts, d)
	}
	return o
}

// post takes news to a run. It does not block.
func (d *Driver) post(run string, h heard) {
	if d.host != nil {
		d.wake(run) // who carries it on looks it up
		return
	}
	d.news.mu.Lock()
	defer d.news.mu.Unlock()
	if d.news.boxes == nil {
		d.news.boxes = map[string][]heard{}
	}
	box, busy := d.news.boxes[run]
	d.news.boxes[run] = append(box, h)
	if !busy && !d.start(func() { d.deliver(run) }) {
		delete(d.news.boxes, run)
	}
}

// deliver tells a run its news until there are none.
func (d *Driver) deliver(run string) {
	for {
		d.news.mu.Lock()
		box := d.news.boxes[run]
		if len(box) == 0 || d.ctx.Err() != nil {
			delete(d.news.boxes, run)
			d.news.mu.Unlock()
			return
		}
		d.news.boxes[run] = []heard{}
		d.news.mu.Unlock()
		if err := d.hear(d.ctx, run, box); err != nil && !errors.Is(err, orchestrator.ErrNotFound) && d.ctx.Err() == nil {
			d.revive(run, err)
		}
	}
}

// hear takes news of calls into a run with a plan, and carries it on.
func (d *Driver) hear(ctx context.Context, id string, box []heard) error {
	if d.news.forgot(id) {
		return nil
	}
	r, err := d.open(ctx, id)
	if err != nil {
		return err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flow == nil || r.state.Ended {
		return nil
	}
	c := r.change()
	for _, h := range box {
		c.hear(h)
	}
	return r.advance(ctx, c)
}

// hear takes in what became of a call.
func (c *change) hear(h heard) {
	f := c.r.flow
	if !f.Goes(h.call) {
		return
	}
	if h.over != nil {
		if h.context.ContextID != "" {
			f.known[h.context.AgentID] = &h.context
		}
		c.log(h.over)
		return
	}
	if f.calls[h.call].Interrupted() != h.state.Interrupted() {
		c.decided = true // the conversation may stand differently
	}
	f.calls[h.call] = h.state
	if !f.replying[h.call] {
		delete(f.replying, h.call) // what it asks now is another question
	}
}

// lookUp finds out what became of the calls of a run that was read.
func (c *change) lookUp(ctx context.Context) error {
	r, f := c.r, c.r.flow
	if !f.unknown {
		return nil
	}
	ids := make([]string, 0, len(f.calls))
	for id := range f.calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if at, ok := f.stood[id]; ok {
			f.calls[id] = at
			continue
		}
		row, err := r.d.store.Run(ctx, id)
		switch {
		case errors.Is(err, orchestrator.ErrNotFound):
			c.log(&engine.Over{Run: id, State: a2a.TaskStateFailed, Final: true, At: c.at.UnixMilli(), Fault: &orchestrator.Fault{
				Kind: "erased", Where: orchestrator.WhereUs, What: "What the step had begun is not there any more.",
			}})
		case err != nil:
			return err
		case row.State == a2a.TaskStateUnspecified || row.State.Terminal():
			k, err := r.d.peek(ctx, id)
			if err != nil {
				return err
			}
			k.mu.Lock()
			h := heard{call: id, state: k.row.State, over: k.overAs()}
			k.mu.Unlock()
			r.d.release(k)
			c.hear(h)
		default:
			f.calls[id] = row.State
		}
	}
	f.unknown, f.stood = false, nil
	return nil
}

// keptFlows is how many runs with plans stay in memory between the events of their calls.
const keptFlows = 256

// keep holds a run with a plan in memory, until many others were used after it or it has ended.
func (d *Driver) keep(r *run) {
	if d.host != nil {
		return
	}
	d.mu.Lock()
	var drop *run
	i := slices.Index(d.kept, r)
	switch {
	case i >= 0 && r.state.Ended:
		d.kept, drop = slices.Delete(d.kept, i, i+1), r
	case i >= 0:
		d.kept = append(slices.Delete(d.kept, i, i+1), r)
	case !r.state.Ended:
		r.holders++
		if d.kept = append(d.kept, r); len(d.kept) > keptFlows {
			drop = d.kept[0]
			d.kept = slices.Delete(d.kept, 0, 1)
		}
	}
	d.mu.Unlock()
	if drop != nil {
		d.release(drop)
	}
}

// unkeep lets go of a run that memory is of no use for any more.
func (d *Driver) unkeep(r *run) {
	d.mu.Lock()
	i := slices.Index(d.kept, r)
	if i >= 0 {
		d.kept = slices.Delete(d.kept, i, i+1)
	}
	d.mu.Unlock()
	if i >= 0 {
		d.release(r)
	}
}

// kickFlow starts what a plan wants done and nobody does yet. r.mu is held.
func (r *run) kickFlow() {
	d, f := r.d, r.flow
	if d.host != nil && !r.carried {
		d.wake(r.row.ID) // also when it has ended: its host is to know
		return
	}
	for _, cmd := range f.Next() {
		switch cmd := cmd.(type) {
		case *engine.Halt:
			if f.halted[cmd.Run] < cmd.N {
				f.halted[cmd.Run] = cmd.N
				if d.host == nil {
					d.start(func() { d.halt(cmd.Run) })
				} else {
					r.background(func() { d.halt(cmd.Run) }) // it is done before the run is left to wait
				}
			}
		case *engine.Timer:
			d.timers.set(d, r.row.ID, time.UnixMilli(cmd.At))
		case *engine.Decide:
			r.kickDecide(cmd)
		}
	}
	r.kickReplies()
	d.keep(r)
}

// halt carries out engine.Halt.
func (d *Driver) halt(call string) {
	for pause := time.Second; d.ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		err := d.stopRun(d.ctx, call)
		if err == nil || errors.Is(err, orchestrator.ErrNotFound) {
			return
		}
		d.log.Warn("a call of a plan could not be stopped; trying again", "run", call, "err", err)
		select {
		case <-time.After(pause):
		case <-d.ctx.Done():
		}
	}
}
