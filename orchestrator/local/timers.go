package local

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// timers wakes runs at times. The times are those of the wall clock, and it is looked at again every lookClock at the
// latest: a machine that slept, or whose clock was set, is late by no more than that. A run that waits costs its entry.
type timers struct {
	mu      sync.Mutex
	queue   timerQueue
	at      map[string]*timer // by run: the soonest
	changed chan struct{}     // told of a sooner one
	running bool
}

const lookClock = 30 * time.Second

type timer struct {
	run   string
	at    time.Time
	index int
}

// set wakes a run at a time, in the place of the one that was set before.
func (t *timers) set(d *Driver, run string, at time.Time) {
	if d.host != nil {
		return // it is told by Rest.Wake
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at, t.changed = map[string]*timer{}, make(chan struct{}, 1)
	}
	if old := t.at[run]; old != nil {
		if old.at.Equal(at) {
			return
		}
		old.at = at
		heap.Fix(&t.queue, old.index)
	} else {
		e := &timer{run: run, at: at}
		t.at[run] = e
		heap.Push(&t.queue, e)
	}
	if !t.running {
		t.running = d.start(func() { t.serve(d) })
		return
	}
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// serve wakes runs until nobody waits.
func (t *timers) serve(d *Driver) {
	for {
		t.mu.Lock()
		now := d.now()
		var due []string
		for len(t.queue) > 0 && !t.queue[0].at.After(now) {
			e := heap.Pop(&t.queue).(*timer)
			delete(t.at, e.run)
			due = append(due, e.run)
		}
		wait := lookClock
		if len(t.queue) > 0 {
			wait = min(wait, t.queue[0].at.Sub(now))
		}
		if t.running = len(t.queue) > 0 && d.ctx.Err() == nil; !t.running {
			t.mu.Unlock()
			d.wakeDue(due)
			return
		}
		t.mu.Unlock()
		d.wakeDue(due)
		clock := time.NewTimer(wait)
		select {
		case <-clock.C:
		case <-t.changed:
		case <-d.ctx.Done():
		}
		clock.Stop()
	}
}

func (d *Driver) wakeDue(runs []string) {
	for _, run := range runs {
		d.start(func() {
			if err := d.due(d.ctx, run); err != nil && !errors.Is(err, orchestrator.ErrNotFound) && d.ctx.Err() == nil {
				d.revive(run, err)
			}
		})
	}
}

// due tells a run that a time has come.
func (d *Driver) due(ctx context.Context, id string) error {
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
	if r.state.Ended || r.flow == nil {
		return nil
	}
	return r.advance(ctx, r.change())
}

// ring logs that the time has come that the plan waits for, if it has.
func (c *change) ring() {
	for _, cmd := range c.r.flow.Next() {
		if t, ok := cmd.(*engine.Timer); ok && t.At <= c.at.UnixMilli() {
			c.log(&engine.Due{At: c.at.UnixMilli()})
			return
		}
	}
}

// due returns when a run that waits has to be carried on at the latest; zero: not before somebody wakes it. r.mu is held.
func (r *run) due() time.Time {
	if r.flow == nil {
		return time.Time{}
	}
	for _, cmd := range r.flow.Next() {
		if t, ok := cmd.(*engine.Timer); ok {
			return time.UnixMilli(t.At)
		}
	}
	return time.Time{}
}

// timerQueue is a heap, the soonest first.
type timerQueue []*timer

func (q timerQueue) Len() int           { return len(q) }
func (q timerQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q timerQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *timerQueue) Push(x any) {
	e := x.(*timer)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *timerQueue) Pop() any {
	e := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return e
}
