package local

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Resume counts every run that has not ended, and has them taken up, by reading what their agents did meanwhile. It
// returns when all are counted: what is asked of one that is not taken up yet takes it up. One that cannot be read does not
// keep the others from it: it is tried again and again. One that only waits for somebody is left alone: it is read when it
// is answered.
func (d *Driver) Resume(ctx context.Context) error {
	if d.host != nil {
		return nil // it looks after them
	}
	var rows []*orchestrator.Run
	for _, scope := range []string{orchestrator.OwnAgent, gatewayScope, stepScope} {
		for row, err := range d.store.OpenRuns(ctx, scope) {
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	rests := resting(rows)
	var open []*orchestrator.Run
	at := make(map[string]a2a.TaskState, len(rows))
	for _, row := range rows {
		if !rests[row.ID] {
			open = append(open, row)
		}
		if strings.HasPrefix(row.Scope, stepScope) {
			at[row.ID] = row.State
		} else if rests[row.ID] || row.State.Interrupted() {
			d.recount(row.ID, row.Principal, countsInterrupted)
		} else {
			d.recount(row.ID, row.Principal, countsRunning)
		}
	}
	pages := make(chan []*orchestrator.Run)
	for range max(2, runtime.GOMAXPROCS(0)) {
		d.start(func() {
			for {
				select {
				case page, more := <-pages:
					if !more {
						return
					}
					d.takeUp(page, at)
				case <-d.ctx.Done():
					return
				}
			}
		})
	}
	d.start(func() {
		defer close(pages)
		for page := range slices.Chunk(open, takenUp) {
			select {
			case pages <- page:
			case <-d.ctx.Done():
				return
			}
		}
	})
	return nil
}

// takenUp is how many runs are read at once at a start.
const takenUp = 128

// takeUp takes up runs whose rows were read at the start; at says where the calls of plans stood then. What became of a
// call since, it tells its plan itself. Those that nobody holds are made ours first and read then, all at once, so that
// nothing is read which somebody else goes on from.
func (d *Driver) takeUp(rows []*orchestrator.Run, at map[string]a2a.TaskState) {
	var ours []*run
	var ids []string
	byID := make(map[string]*orchestrator.Run, len(rows))
	for _, row := range rows {
		if r := d.claimUnread(row.ID); r != nil {
			ours, ids = append(ours, r), append(ids, row.ID)
			byID[row.ID] = row
		} else if err := d.resume(d.ctx, row.ID, nil); err != nil && d.ctx.Err() == nil {
			d.revive(row.ID, err)
		}
	}
	logs, err := d.store.ReadRuns(d.ctx, ids)
	for _, r := range ours {
		if err == nil { // else each is tried again by itself
			if e := r.load(d.ctx, byID[r.row.ID], logs[r.row.ID]); e != nil {
				r.kill(e)
			} else if r.flow != nil {
				r.flow.stood = at
			}
		} else {
			r.kill(err)
		}
		r.mu.Unlock()
	}
	for _, r := range ours {
		r.mu.Lock()
		err := context.Cause(r.ctx)
		if err == nil {
			err = r.proceed(d.ctx, r.change())
			r.queued = r.working
		}
		r.mu.Unlock()
		if err != nil {
			d.evict(r)
		}
		d.release(r)
		if err != nil && d.ctx.Err() == nil {
			d.revive(r.row.ID, err)
		}
	}
}

// What is asked of agents after a start is asked in turns: so many at a time, so that thousands of open runs neither flood
// their agents nor use up our connections. Who is slow to answer keeps the others waiting for no longer than askingTime.
const (
	askedAtOnce = 256
	askingTime  = 5 * time.Second
)

// ask waits for the turn of a run that was taken up at the start. It waits no more once the run wants something else than to
// know what became of its task: somebody is waiting then. r.mu is held.
func (r *run) ask() {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	r.interrupt = cancel
	turn := false
	r.unlocked(func() {
		select {
		case r.d.asking <- struct{}{}:
			turn = true
		case <-ctx.Done():
		}
	})
	if r.queued, r.interrupt = false, nil; !turn {
		return
	}
	end := sync.OnceFunc(func() { <-r.d.asking })
	slow := time.AfterFunc(askingTime, end)
	r.answered = func() { slow.Stop(); end() }
}

// hasAnswered ends the turn of ask. r.mu is held.
func (r *run) hasAnswered() {
	if r.answered != nil {
		r.answered()
		r.answered = nil
	}
}

// claimUnread returns a run that nobody holds, held and locked and not read; nil when somebody holds it.
func (d *Driver) claimUnread(id string) *run {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[id] != nil {
		return nil
	}
	r := d.newRun(id)
	r.mu.Lock()
	d.live[id] = r
	return r
}

// resume takes up one run; note, when there is one, is logged with it, unless it has ended meanwhile: then nothing follows.
func (d *Driver) resume(ctx context.Context, id string, note *orchestrator.Fault) error {
	r, err := d.open(ctx, id)
	if err != nil {
		return err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.change()
	if note != nil && !r.state.Ended {
		c.log(&engine.Faulted{Class: engine.Noted, Fault: note})
	}
	return r.proceed(ctx, c)
}

// rest is what a run waits for that waits for nothing but answers: no agent of it goes on by itself, no time is to come.
// It is kept in the run's row, which every change writes.
type rest struct {
	Asks string `json:"asks,omitempty"` // ids, a space behind each, with those of the calls of a plan; "": it does not rest
	Own  int    `json:"own,omitempty"`  // how many of them are of the run itself
}

// restOf reads what the row of a run says of it.
func restOf(row *orchestrator.Run) rest {
	var s stored
	if json.Unmarshal(row.Engine, &s) != nil {
		return rest{} // nothing is known of it
	}
	return s.Rest
}

// rests says what the run rests on, as it stands. r.mu is held.
func (r *run) rests() rest {
	if r.state.Ended || !r.row.State.Interrupted() {
		return rest{}
	}
	if f := r.flow; f != nil {
		for _, cmd := range f.Next() {
			if _, ok := cmd.(*engine.Watch); !ok {
				return rest{}
			}
		}
		if f.unknown || len(f.replying) > 0 || len(f.deciding) > 0 {
			return rest{}
		}
		return rest{Asks: f.shown, Own: len(f.Asks)}
	}
	if len(r.state.Next()) > 0 {
		return rest{}
	}
	var asks strings.Builder
	for i := range r.state.Asks {
		asks.WriteString(r.state.Asks[i].ID + " ")
	}
	return rest{Asks: asks.String(), Own: len(r.state.Asks)}
}

// resting returns the open runs that rest. A plan does when it knows all that its calls ask, and all of them rest.
func resting(rows []*orchestrator.Run) map[string]bool {
	on := map[string][]string{} // asks, by run
	own := map[string]int{}
	calls := map[string][]string{} // open ones, by the plan
	for _, row := range rows {
		if r := restOf(row); r.Asks != "" {
			on[row.ID], own[row.ID] = strings.Fields(r.Asks), r.Own
		}
		if plan, ok := strings.CutPrefix(row.Scope, stepScope); ok {
			calls[plan] = append(calls[plan], row.ID)
		}
	}
	known := map[string]bool{}
	var rests func(id string) bool
	rests = func(id string) bool {
		if is, ok := known[id]; ok {
			return is
		}
		known[id] = false
		asks := own[id]
		is := len(on[id]) > 0
		for _, call := range calls[id] {
			is = rests(call) && is
			for _, ask := range on[call] {
				asks++
				is = is && slices.Contains(on[id], ask)
			}
		}
		known[id] = is && asks == len(on[id])
		return known[id]
	}
	for _, row := range rows {
		rests(row.ID)
	}
	return known
}
