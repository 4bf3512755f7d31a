package local

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Resume takes up every run that has not ended, by reading what its agent did meanwhile. It returns once all of them are
// on their way, before any of them has got anywhere. One that cannot be read does not keep the others from it: it is tried
// again and again. One that only waits for somebody is counted and left alone: it is read when it is answered.
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
	open := make(chan *orchestrator.Run)
	var readers sync.WaitGroup
	for range max(4, runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for row := range open {
				if err := d.resumeAs(ctx, row.ID, row, nil); err != nil && ctx.Err() == nil {
					d.revive(row.ID, err)
				}
			}
		})
	}
	defer readers.Wait()
	defer close(open)
	for _, row := range rows {
		if rests[row.ID] {
			if !strings.HasPrefix(row.Scope, stepScope) {
				d.recount(row.ID, row.Principal, countsInterrupted)
			}
			continue
		}
		select {
		case open <- row:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// resume takes up one run; note, when there is one, is logged with it.
func (d *Driver) resume(ctx context.Context, id string, note *orchestrator.Fault) error {
	return d.resumeAs(ctx, id, nil, note)
}

// resumeAs is resume for a run whose row was read a moment ago; nil: it is read now.
func (d *Driver) resumeAs(ctx context.Context, id string, row *orchestrator.Run, note *orchestrator.Fault) error {
	r, err := d.openAs(ctx, id, row)
	if err != nil {
		return err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.change()
	if note != nil {
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
