package local

import (
	"fmt"

	"parley/orchestrator"
)

// maxCalls is how many calls of the plans of one principal go on at a time. The bounds of a plan are its own: plans that
// use others in for-each, or many plans side by side, would multiply them.
const maxCalls = 10_000

// mayCall returns a Fault when a principal has as many calls as may go on at a time.
func (d *Driver) mayCall(principal string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls[principal] < d.maxCalls {
		return nil
	}
	return &orchestrator.Fault{
		Kind: "calls", Where: orchestrator.WhereUs, What: fmt.Sprintf("More than %d steps go on at a time.", d.maxCalls),
		Do: "Bound `for-each` with `max-parallel`, or wait until others have ended.",
	}
}

// called counts a call that is made ready to begin, or was read to go on, until it is out of memory.
func (d *Driver) called(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.call {
		return
	}
	r.call = true
	d.calls[r.row.Principal]++
}

// uncalled is called's other half. d.mu is held.
func (d *Driver) uncalled(r *run) {
	if !r.call {
		return
	}
	if d.calls[r.row.Principal]--; d.calls[r.row.Principal] == 0 {
		delete(d.calls, r.row.Principal)
	}
}
