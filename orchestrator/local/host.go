package local

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Host decides which of several processes carries which run on, and when. The processes have one store, which has to be
// an orchestrator.Shared; each of them takes messages, answers and stops for any run. A driver with a host never carries a
// run on by itself: it stores what is to be done and wakes the run; the host sees to it that Carry is called for it.
type Host interface {
	// Wake sees to it that some process carries the run on soon. What it is to be carried on for is stored. A wake that is
	// repeated costs little; one that is lost costs time, not the run: a host looks after open runs by itself.
	Wake(ctx context.Context, run string) error
}

// wakeTime is how long a run is tried to be woken; after that it is left to the host to find it.
const wakeTime = time.Minute

// wake wakes a run in the background. Who stored something for it does not wait for that.
func (d *Driver) wake(id string) {
	d.mu.Lock()
	pending := d.waking[id]
	if pending != nil {
		*pending = true // once more: what was stored since may have come too late for the first
	} else {
		d.waking[id] = new(bool)
	}
	d.mu.Unlock()
	if pending != nil {
		return
	}
	if !d.start(func() { d.wakeNow(id) }) {
		d.mu.Lock()
		delete(d.waking, id)
		d.mu.Unlock()
	}
}

func (d *Driver) wakeNow(id string) {
	// A driver that is closing makes one attempt more: what was stored last shall not wait for the host to find it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), wakeTime)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		try, done := context.WithTimeout(ctx, 5*time.Second)
		err := d.host.Wake(try, id)
		done()
		d.mu.Lock()
		again := d.waking[id]
		if err == nil && *again {
			*again = false
			d.mu.Unlock()
			continue
		}
		if err == nil || d.ctx.Err() != nil || ctx.Err() != nil {
			delete(d.waking, id)
			d.mu.Unlock()
			if err != nil {
				d.log.Warn("a run could not be woken; it goes on when its host finds it", "run", id, "err", err)
			}
			return
		}
		d.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-d.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// claim opens a run for a change made here: nobody else writes it until it is released or claimed by another. Changes made
// in this process take turns.
func (d *Driver) claim(ctx context.Context, id string) (*run, error) {
	at := "claim " + id // no run has such an id
	done, err := d.name(ctx, at)
	if err != nil {
		return nil, err
	}
	r, err := d.claimed(ctx, id)
	if err != nil {
		done()
		return nil, err
	}
	r.turnAt = at
	return r, nil
}

// claimed claims a run and reads it. Whoever carried it on, here or elsewhere, lets go.
func (d *Driver) claimed(ctx context.Context, id string) (*run, error) {
	r := d.newRun(id)
	if err := r.broken(); err != nil {
		r.kill(nil)
		return nil, err
	}
	if _, err := d.store.Run(ctx, id); err != nil { // what is not there is not claimed
		r.kill(nil)
		return nil, err
	}
	claim, err := d.shared.Claim(ctx, id)
	if err != nil {
		r.kill(nil)
		return nil, err
	}
	r.claim = claim
	d.mu.Lock()
	if other := d.live[id]; other != nil {
		other.kill(orchestrator.ErrMoved)
	}
	d.mu.Unlock()
	r.mu.Lock()
	err = r.load(ctx, nil, nil)
	r.mu.Unlock()
	if err != nil {
		r.kill(nil)
		return nil, err
	}
	return r, nil
}

// peek opens a run for looking at it only.
func (d *Driver) peek(ctx context.Context, id string) (*run, error) {
	if d.host == nil {
		return d.open(ctx, id)
	}
	r := d.newRun(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx, nil, nil); err != nil {
		r.kill(nil)
		return nil, err
	}
	return r, nil
}

// unmoved does f again when somebody else claimed the run in the middle of it.
func (d *Driver) unmoved(ctx context.Context, f func() error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := f()
		if d.host == nil || !errors.Is(err, orchestrator.ErrMoved) {
			return err
		}
		select {
		case <-time.After(pause + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claims are those of a batch that r writes; nil without a host, and for a run that is only beginning.
func (r *run) claims() map[string]int64 {
	if r.claim == 0 {
		return nil
	}
	return map[string]int64{r.row.ID: r.claim}
}

// takeUp logs that the delivery of an intent begins that was logged elsewhere. When somebody has stopped the run since,
// nothing is delivered.
func (r *run) takeUp(ctx context.Context, cmd *engine.Send) (deliver bool, err error) {
	c := r.change()
	if r.state.Stopping && cmd.Task == "" {
		c.log(&engine.Faulted{Step: cmd.Step, Class: engine.Unsent, Fault: &orchestrator.Fault{
			Kind: "stopped-unsent", Where: orchestrator.WhereUs, What: "Stopped before the message was sent.",
		}})
		return false, r.proceed(ctx, c)
	}
	c.taken(cmd)
	if err := c.write(ctx); err != nil {
		return false, err
	}
	r.sent = cmd.ID()
	return true, nil
}

// taken logs that this process delivers an intent.
func (c *change) taken(cmd *engine.Send) {
	b := &engine.Taken{Send: cmd.ID()}
	c.append(b.Kind(), engine.Marshal(b), nil)
	c.r.state.Apply(b)
	c.r.taken = cmd.ID()
}

// standing is where a run stands for somebody who wants to stop it.
type standing struct {
	ended, stopping bool
	sending         bool  // a message is being delivered and not answered yet
	seq             int64 // of its newest event
}

func (d *Driver) standing(ctx context.Context, id string) (standing, error) {
	r, err := d.peek(ctx, id)
	if err != nil {
		return standing{}, err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := standing{ended: r.state.Ended, stopping: r.state.Stopping, seq: r.row.LastSeq}
	if st := r.state.Active(); st != nil && st.State == orchestrator.StepSending && st.Task == "" {
		cmd, ok := r.next().(*engine.Send)
		s.sending = ok && r.taken == cmd.ID()
	}
	return s, nil
}

// beforeStop says where a run stands that is to be stopped. While a message is being delivered it waits, for the grace of a
// stop at most, until that is answered: who claims the run before that breaks the delivery off, and nobody knows then which
// task there is to cancel.
func (d *Driver) beforeStop(ctx context.Context, id string) (standing, error) {
	s, err := d.standing(ctx, id)
	if err != nil || s.stopping || !s.sending {
		return s, err
	}
	wait, cancel := context.WithTimeout(ctx, d.grace)
	defer cancel()
	for _, err := range d.store.FollowRun(wait, id, s.seq) {
		if err != nil {
			break
		}
		if s, err = d.standing(ctx, id); err != nil || !s.sending {
			break
		}
	}
	return s, ctx.Err()
}

// stopShared is Stop where others may carry the run on.
func (d *Driver) stopShared(ctx context.Context, id string) (standing, error) {
	s, err := d.beforeStop(ctx, id)
	if err != nil || s.ended || s.stopping { // a claim would only disturb who carries it
		return s, err
	}
	err = d.unmoved(ctx, func() error {
		r, err := d.open(ctx, id)
		if err != nil {
			return err
		}
		defer d.release(r)
		r.mu.Lock()
		defer r.mu.Unlock()
		s.ended, s.seq = r.state.Ended, r.row.LastSeq
		return r.stop(ctx)
	})
	return s, err
}

// cancel is Tasks.Cancel where the agent is asked by another process: what it said to that is in the log.
func (t *Tasks) cancel(ctx context.Context, id string) error {
	s, err := t.d.stopShared(ctx, id)
	switch {
	case err != nil:
		return wireError(err)
	case s.ended:
		row, err := t.d.store.Run(ctx, id)
		switch {
		case err != nil:
			return wireError(err)
		case row.State != a2a.TaskStateCanceled:
			return a2a.ErrTaskNotCancelable
		}
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, t.d.grace+t.d.ports.CancelWait)
	defer cancel()
	for events, err := range t.d.store.FollowRun(wait, id, s.seq) {
		if err != nil {
			break
		}
		for _, e := range events {
			b, err := engine.Decode(e)
			if err != nil {
				return wireError(err)
			}
			switch b := b.(type) {
			case *engine.Report:
				if b.Ends() {
					return nil
				}
			case *engine.Faulted:
				if b.Class == engine.Cancel {
					return refusal(b.Fault)
				}
			}
		}
	}
	return ctx.Err()
}

// refusal is the error of a cancel that came to nothing.
func refusal(f *orchestrator.Fault) error {
	if f.Kind == cancelRefused {
		return &a2a.Error{Kind: a2a.KindTaskNotCancelable, Message: "the agent refused to stop: " + cmp.Or(f.Raw, f.What), Err: f}
	}
	return wireError(f)
}

// recounted sees to it that what is known of a principal's open runs is no older than a second.
func (d *Driver) recounted(principal string) error {
	d.mu.Lock()
	c := d.counts[principal]
	fresh := c != nil && d.now().Sub(c.at) < time.Second
	d.mu.Unlock()
	if fresh {
		return nil
	}
	running, interrupted, err := d.shared.OpenCount(d.ctx, principal)
	if err != nil {
		return cmp.Or(d.closed(), err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[principal] = &count{running: running, interrupted: interrupted, at: d.now()}
	return nil
}

// OpenRuns yields every run that has not ended, whosever it is.
func (d *Driver) OpenRuns(ctx context.Context) iter.Seq2[*orchestrator.Run, error] {
	return func(yield func(*orchestrator.Run, error) bool) {
		for _, scope := range []string{orchestrator.OwnAgent, gatewayScope, stepScope} {
			for row, err := range d.store.OpenRuns(ctx, scope) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}
