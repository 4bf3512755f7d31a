package local

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Stop is orchestrator.Runner's.
func (d *Driver) Stop(ctx context.Context, id string) error {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	if row.Principal != orchestrator.LocalPrincipal {
		return orchestrator.ErrNotFound
	}
	return d.stopRun(ctx, id)
}

// stopRun stops a run, whosever it is.
func (d *Driver) stopRun(ctx context.Context, id string) error {
	if d.host != nil {
		_, err := d.stopShared(ctx, id)
		return err
	}
	r, err := d.open(ctx, id)
	if err != nil {
		return err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop(ctx)
}

// stop logs that somebody wants the run to end, and sees to it. A second stop while the first is under way is the first.
func (r *run) stop(ctx context.Context) error {
	if r.state.Ended || r.state.Stopping || r.flow != nil && r.flow.Stops > 1 {
		return nil // a plan is stopped twice by who does not want to wait for what is undone
	}
	c := r.change()
	c.log(&engine.Stopping{})
	if err := r.proceed(ctx, c); err != nil {
		return err
	}
	switch st := r.state.Active(); {
	case r.state.Ended:
		r.turn()
	case st != nil && st.State == orchestrator.StepSending && st.Task == "" && r.d.host == nil:
		r.background(func() { r.giveUp(st.ID) })
	}
	return nil
}

// giveUp ends a run that somebody stopped before its agent had said anything, when the agent still says nothing.
func (r *run) giveUp(step string) {
	select {
	case <-time.After(r.d.grace):
	case <-r.ctx.Done():
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.state.Step(step)
	if r.state.Ended || !r.state.Stopping || st == nil || st.State != orchestrator.StepSending || st.Task != "" {
		return
	}
	c := r.change()
	c.log(&engine.Faulted{Step: step, Class: engine.Silent, Fault: &orchestrator.Fault{
		Kind: "stopped-unanswered", Where: orchestrator.WhereAgent,
		What: "Stopped before the agent had answered. It may still have received the message.",
	}})
	if err := r.proceed(r.ctx, c); err == nil {
		r.turn()
	}
}

// cancelChild carries out engine.Stop and logs what the agent said to it.
func (r *run) cancelChild(cmd *engine.Stop, through chan<- struct{}) {
	defer close(through)
	r.mu.Lock()
	ctx := r.calling()
	r.mu.Unlock()
	agent, err := r.d.ports.Agent(ctx, cmd.Agent)
	var t *a2a.Task
	if err == nil {
		t, err = r.d.ports.Cancel(ctx, agent, cmd)
	}
	if errors.Is(err, a2a.ErrTaskNotCancelable) { // it may have ended by itself
		if now, e := r.d.ports.Get(ctx, agent, cmd.Task); e == nil && now.Status.State.Terminal() {
			t, err = now, nil
		}
	}
	if err == nil && t.Status.State.Terminal() {
		r.linger()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state.Ended || r.ctx.Err() != nil:
	case err == nil:
		r.take(r.ctx, nil, t)
		if r.state.Ended {
			r.turn()
		}
	default:
		r.stopErr = err
		c := r.change()
		c.log(&engine.Faulted{Step: cmd.Step, Class: engine.Cancel, Fault: notStopped(err)})
		if e := r.proceed(r.ctx, c); e == nil && r.state.Ended {
			r.turn()
		}
	}
}

// linger leaves the stream of a canceled task the time to say so itself, with all that came before.
func (r *run) linger() {
	r.mu.Lock()
	reading := r.working && !r.queued && !r.state.Ended
	if r.ended == nil {
		r.ended = make(chan struct{})
	}
	ended := r.ended
	r.mu.Unlock()
	if !reading {
		return
	}
	select {
	case <-ended:
	case <-time.After(min(r.d.grace, 2*time.Second)):
	case <-r.ctx.Done():
	}
}

const cancelRefused = "cancel-refused"

// notStopped tells why an agent goes on.
func notStopped(err error) *orchestrator.Fault {
	var e *a2a.Error
	if errors.As(err, &e) {
		f := &orchestrator.Fault{
			Kind: cancelRefused, Where: orchestrator.WhereAgent,
			What: "The agent refused to stop. It goes on.", Raw: e.Message,
		}
		return f
	}
	f := &orchestrator.Fault{
		Kind: "cancel-unreachable", Where: orchestrator.WhereNetwork, Retry: true,
		What: "The agent could not be asked to stop. It may go on.", Do: "Try to stop it again.",
	}
	var cause *orchestrator.Fault
	if errors.As(err, &cause) {
		f.Where, f.Raw = cause.Where, cause.What
	}
	return f
}

var errForgotten = errors.New("the run was forgotten")

// Forget lets go of the runs of a conversation, and has erase remove it: their agents are asked to cancel, whatever they say
// to it, and from then on nothing more of the runs is stored. A run that cannot be read is not going on. When the conversation
// was not erased after all, its runs are taken up again, by reading what their agents did meanwhile.
func (d *Driver) Forget(ctx context.Context, conversation string, erase func() error) (err error) {
	gone := map[string]bool{}
	defer func() { d.remember(gone, err) }()
	for more := true; more; {
		runs, err := d.store.RunsOf(ctx, conversation)
		if err != nil {
			return err
		}
		more = false // a plan may have begun calls since they were listed; forgotten, it begins none
		for _, row := range runs {
			if gone[row.ID] {
				continue
			}
			gone[row.ID], more = true, true
			d.news.forget(row.ID)
			r, err := d.open(ctx, row.ID)
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				d.log.Warn("a run that is to be erased cannot be read", "run", row.ID, "err", err)
				continue
			}
			r.forget()
			d.release(r)
		}
	}
	return erase()
}

// remember is the end of Forget. Those that are there no more need not be known any longer; those that still are, as erasing
// them failed with err, go on.
func (d *Driver) remember(runs map[string]bool, err error) {
	for id := range runs {
		d.news.remember(id)
	}
	if err == nil {
		return
	}
	d.start(func() {
		for id := range runs {
			if err := d.resume(d.ctx, id, nil); err != nil && !errors.Is(err, orchestrator.ErrNotFound) && d.ctx.Err() == nil {
				d.revive(id, err)
			}
		}
	})
}

func (r *run) forget() {
	r.mu.Lock()
	if st := r.state.Active(); st != nil && st.Task != "" && !r.state.Ended {
		ctx := context.WithoutCancel(r.calling())
		stop := &engine.Stop{Step: st.ID, Agent: st.Agent, Task: st.Task}
		run := r.row.ID
		r.d.start(func() {
			defer func() { // the run is gone: there is nothing to end
				if v := recover(); v != nil {
					r.d.log.Error("canceling a forgotten task panicked", "run", run, "panic", v, "stack", string(debug.Stack()))
				}
			}()
			if agent, err := r.d.ports.Agent(ctx, stop.Agent); err == nil {
				_, err = r.d.ports.Cancel(ctx, agent, stop)
				r.d.log.Debug("canceled a forgotten task", "agent", agent.ID, "err", err)
			}
		})
	}
	r.kill(errForgotten)
	r.d.evict(r)
	r.d.unkeep(r)
	r.d.recount(r.row.ID, r.row.Principal, countsNot)
	working, through := r.working, r.through
	r.mu.Unlock()
	if working {
		<-through
	}
}
