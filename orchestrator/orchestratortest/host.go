package orchestratortest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"parley/orchestrator"
)

// Carrier is what a Host calls: Carry of a driver, which tells how it left the run.
type Carrier func(ctx context.Context, run string) (ended, moved bool, wake time.Time, err error)

// Host has runs carried on by one of several drivers of this process, whichever it happens to pick: for tests of what
// drivers owe a host. Its methods may be used before there are carriers.
type Host struct {
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	carriers []Carrier
	woken    map[string]chan struct{} // of the runs that are looked after
	picks    []int                    // which carrier was picked, in order
}

// NewHost returns a host without carriers.
func NewHost() *Host {
	h := &Host{woken: map[string]chan struct{}{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Add adds a carrier.
func (h *Host) Add(c Carrier) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.carriers = append(h.carriers, c)
}

// Find wakes all open runs of a store, as a host does that was not there for a while.
func (h *Host) Find(ctx context.Context, store orchestrator.Store) error {
	for _, scope := range []string{orchestrator.OwnAgent, "agents/", "step/"} {
		for row, err := range store.OpenRuns(ctx, scope) {
			if err != nil {
				return err
			}
			if err := h.Wake(ctx, row.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

var errHostClosed = errors.New("the host is closed")

// Wake has a run carried on.
func (h *Host) Wake(_ context.Context, run string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return errHostClosed
	}
	woken := h.woken[run]
	if woken == nil {
		woken = make(chan struct{}, 1)
		h.woken[run] = woken
		h.work.Go(func() { h.look(run, woken) })
	}
	select {
	case woken <- struct{}{}:
	default:
	}
	return nil
}

// look looks after a run until it has ended.
func (h *Host) look(run string, woken chan struct{}) {
	for {
		select {
		case <-woken:
		default:
		}
		ended, moved, wake, err := h.pick()(h.ctx, run)
		var again <-chan time.Time
		switch {
		case err != nil, moved:
			again = time.After(20 * time.Millisecond)
		case !wake.IsZero():
			again = time.After(time.Until(wake))
		}
		if ended && err == nil {
			h.mu.Lock()
			if len(woken) == 0 {
				delete(h.woken, run)
				h.mu.Unlock()
				return
			}
			h.mu.Unlock()
		}
		select {
		case <-woken:
		case <-again:
		case <-h.ctx.Done():
			return
		}
	}
}

func (h *Host) pick() Carrier {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := rand.N(len(h.carriers))
	h.picks = append(h.picks, i)
	return h.carriers[i]
}

// Picks returns how often each carrier was picked.
func (h *Host) Picks() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make([]int, len(h.carriers))
	for _, i := range h.picks {
		n[i]++
	}
	return n
}

// Close has the carriers let go of their runs, and waits for it.
func (h *Host) Close() {
	h.mu.Lock()
	h.stop()
	h.mu.Unlock()
	h.work.Wait()
}
