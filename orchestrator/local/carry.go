package local

import (
	"context"
	"errors"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Rest is how Carry leaves a run.
type Rest struct {
	Ended bool      `json:"ended,omitempty"` // nothing follows
	Moved bool      `json:"moved,omitempty"` // somebody else claimed it, and wakes it once what he wanted is stored
	Wake  time.Time `json:"wake,omitzero"`   // when it has to be carried on at the latest; zero: when it is woken
}

// errLetGo ends what is done for a run that this process is not to carry on any more.
var errLetGo = errors.New("the run is let go")

// Carry carries a run on, for a Host, until it has ended or waits for somebody or for a time. It may be called for any run
// at any time, by several processes at once: the last to begin carries the run, the others find that it moved. When ctx
// ends, the run is let go as if this process had died; what is stored of it is whole. An error means that the run cannot
// be carried on now, and Carry is to be called again later.
func (d *Driver) Carry(ctx context.Context, id string) (Rest, error) {
	r, err := d.claimed(ctx, id)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound): // it was erased
		return Rest{Ended: true}, nil
	case err != nil:
		return Rest{}, err
	}
	alone := make(chan struct{}, 1)
	d.mu.Lock()
	if other := d.live[id]; other != nil {
		other.kill(orchestrator.ErrMoved)
	}
	d.live[id] = r
	r.carried, r.alone = true, alone
	d.mu.Unlock()
	defer d.release(r)
	defer context.AfterFunc(ctx, func() { r.kill(errLetGo) })()

	r.mu.Lock()
	c := r.change()
	d.mu.Lock()
	unstored := d.unstored[id]
	d.mu.Unlock()
	if unstored { // also, the store takes no more of the run before something of it was written
		c.log(&engine.Faulted{Class: engine.Noted, Fault: notStored})
	}
	err = r.proceed(ctx, c)
	r.mu.Unlock()
	if err == nil && unstored {
		d.mu.Lock()
		delete(d.unstored, id)
		d.mu.Unlock()
	}
	for err == nil && d.busy(r) {
		<-alone // whoever lets go of the run ends with r.ctx, which ends with ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	if err == nil {
		err = context.Cause(r.ctx)
	}
	switch {
	case errors.Is(err, orchestrator.ErrMoved):
		return Rest{Moved: true}, nil
	case err == nil && r.state.Ended:
		return Rest{Ended: true}, nil
	case err == nil:
		return Rest{Wake: r.due()}, nil
	case !errors.Is(err, errLetGo) && !errors.Is(err, errPanicked) && d.ctx.Err() == nil:
		d.log.Error("a run stands still until its events can be stored and read", "run", id, "err", err)
		d.mu.Lock()
		d.unstored[id] = true
		d.mu.Unlock()
	}
	return Rest{}, err
}

// busy reports whether something goes on for a run beside Carry itself.
func (d *Driver) busy(r *run) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.holders > 1
}

// lookAgain is how often the claims of the runs that are carried are looked at, should nobody tell of them.
const lookAgain = 5 * time.Second

// watch lets go of runs that others claimed, as soon as the store tells of it.
func (d *Driver) watch() {
	changes := make(chan string, 256)
	d.start(func() {
		defer close(changes)
		for c := range d.store.Changes(d.ctx) {
			if c.RunID == "" {
				continue
			}
			select {
			case changes <- c.RunID:
			default: // it is looked at again
			}
		}
	})
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case id, ok := <-changes:
			if !ok {
				return
			}
			d.look(id)
		case <-tick.C:
			d.mu.Lock()
			ids := make([]string, 0, len(d.live))
			for id := range d.live {
				ids = append(ids, id)
			}
			d.mu.Unlock()
			for _, id := range ids {
				d.look(id)
			}
		case <-d.ctx.Done():
			return
		}
	}
}

// look lets go of a run if it is carried here and somebody else has claimed it.
func (d *Driver) look(id string) {
	d.mu.Lock()
	r := d.live[id]
	d.mu.Unlock()
	if r == nil {
		return
	}
	claim, err := d.shared.Claimed(d.ctx, id)
	if err == nil && claim != r.claim {
		r.kill(orchestrator.ErrMoved)
	}
}
