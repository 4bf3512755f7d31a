package engine

import (
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// advance draws every conclusion that needs nothing more from the world.
func (f *Flow) advance() {
	if f.Ended || f.Final || len(f.Nodes) == 0 || f.Preview != PreviewNone && f.Closing == a2a.TaskStateUnspecified {
		return
	}
	for moved := true; moved; {
		moved = false
		for i := range f.Nodes {
			n, st := &f.Graph.Nodes[i], &f.Nodes[i]
			switch st.State {
			case NodeWaiting:
				moved = f.turn(i, n, st) || moved
			case NodeRunning:
				moved = f.conclude(n, st) || moved
			}
		}
		if f.Closing == a2a.TaskStateUnspecified {
			moved = f.spare() || moved
		}
	}
	f.finish()
}

// turn looks whether a node's turn has come.
func (f *Flow) turn(i int, n *Node, st *FlowNode) bool {
	if f.Closing != a2a.TaskStateUnspecified {
		return false
	}
	done, excused, settled := 0, 0, 0
	for _, j := range f.nodes().needs[i] {
		need, at := &f.Graph.Nodes[j], &f.Nodes[j]
		if !at.State.Settled() {
			continue
		}
		settled++
		switch {
		case at.State == NodeDone:
			done++
		case at.State == NodeFailed && need.OnError == OnErrorSkip:
			excused++
		}
	}
	if n.Join == JoinAll || f.Rules < 3 {
		done += excused
	}
	all := settled == len(n.Needs)
	var go_, skip bool
	switch n.Join {
	case JoinAny:
		go_, skip = done > 0 || len(n.Needs) == 0, all
	case JoinQuorum:
		go_, skip = done >= n.Quorum, all
	case JoinCollect:
		go_ = all
	default:
		go_, skip = done == len(n.Needs), all
	}
	switch {
	case go_:
		st.State, st.Round = NodeReady, 1
	case skip && excused > 0 && f.Rules > 2: // there would have been enough
		f.failNode(n, st, &orchestrator.Fault{
			Kind: "join", Where: orchestrator.WhereUs, What: fmt.Sprintf("Too few of the steps that %s needs are done: %d of %d.", n.ID, done, len(n.Needs)),
			Do: "See why the others failed, and run the plan again.",
		})
	case skip:
		f.settle(st, NodeSkipped)
	default:
		return false
	}
	return true
}

// conclude looks what has become of a running node.
func (f *Flow) conclude(n *Node, st *FlowNode) bool {
	failed, waiting, begun := 0, 0, 0
	for j := range st.Items {
		switch st.Items[j].State {
		case ItemFailed:
			failed++
		case ItemWaiting:
			waiting++
		case ItemBegun:
			begun++
		}
	}
	switch {
	case waiting > 0 && f.Calls >= f.Graph.maxCalls() && !st.Stopping:
		f.failNode(n, st, &orchestrator.Fault{
			Kind: "budget", Where: orchestrator.WhereUs, What: fmt.Sprintf("The plan has made the %d calls it may make.", f.Graph.maxCalls()),
			Do: "Allow it more, or divide it.",
		})
		return true
	case waiting > 0 && f.spent() && !st.Stopping:
		f.failNode(n, st, &orchestrator.Fault{
			Kind: "budget", Where: orchestrator.WhereUs, Do: "Allow it more.",
			What: fmt.Sprintf("The agents report costs of %v; the plan may spend %v.", f.Used.Cost, f.Graph.Budget.Cost),
		})
		return true
	case failed > 0 && !st.Stopping && n.OnError != OnErrorSkip: // the other items are not wanted any more
		st.stop()
		return true
	case st.Stopping && st.idle():
		st.settled(f)
		return true
	case waiting+begun > 0:
		return false
	case failed > 0:
		f.settle(st, NodeFailed)
		return true
	case n.Loop > st.Round:
		st.State, st.Round = NodeReady, st.Round+1
		return true
	}
	f.settle(st, NodeDone)
	return true
}

// spent reports whether the calls have cost what they may.
func (f *Flow) spent() bool { return f.Graph.Budget.Cost > 0 && f.Used.Cost >= f.Graph.Budget.Cost }

// settled ends a node whose runs were stopped, or one of which failed.
func (st *FlowNode) settled(f *Flow) {
	if st.Fault == nil {
		f.settle(st, NodeCanceled)
		return
	}
	f.settle(st, NodeFailed)
}

// spare stops what nobody needs any more: a node all of whose dependants, of which there are some, have had their turn
// without it.
func (f *Flow) spare() bool {
	moved := false
	for i := range f.Nodes {
		n, st := &f.Graph.Nodes[i], &f.Nodes[i]
		if st.State.Settled() || st.Stopping || f.Rules > 1 && st.Again > 0 || !f.unneeded(i) { // who has it tried again wants it
			continue
		}
		moved = true
		if st.stop(); st.idle() {
			f.drop(n.ID)
			f.settle(st, NodeCanceled)
		}
	}
	return moved
}

// unneeded reports whether some node needed that one, and none does any more.
func (f *Flow) unneeded(i int) bool {
	dependants := f.nodes().dependants[i]
	for _, j := range dependants {
		if f.Nodes[j].State == NodeWaiting {
			return false
		}
	}
	return len(dependants) > 0
}

// drop forgets the asks of a node.
func (f *Flow) drop(id string) {
	kept := f.Asks[:0:0]
	for _, a := range f.Asks {
		if a.Step != id {
			kept = append(kept, a)
		}
	}
	f.Asks = kept
}

// finish looks whether the run is to close, or has closed.
func (f *Flow) finish() {
	if f.Closing == a2a.TaskStateUnspecified {
		open := false
		for i := range f.Nodes {
			n, st := &f.Graph.Nodes[i], &f.Nodes[i]
			if st.State == NodeFailed && n.OnError != OnErrorSkip {
				f.close(a2a.TaskStateFailed, st.Fault)
				f.advance()
				return
			}
			open = open || !st.State.Settled()
		}
		if open {
			return
		}
		f.Closing = a2a.TaskStateCompleted
	}
	for i := range f.Nodes {
		if !f.Nodes[i].State.Settled() {
			return
		}
	}
	if f.Closing == a2a.TaskStateCanceled && !f.undone() {
		return
	}
	f.Final = true
}

// undone undoes what was done, the last first and one at a time, and reports whether that is over. What cannot be undone
// is left, and does not keep the rest from it.
func (f *Flow) undone() bool {
	var next *FlowNode
	for i := range f.Nodes {
		n, st := &f.Graph.Nodes[i], &f.Nodes[i]
		if st.State != NodeDone || !n.Undo {
			continue
		}
		switch u := st.Undo; {
		case u != nil && (u.State == ItemBegun || u.State == ItemWaiting):
			return false
		case u == nil && (next == nil || st.Order > next.Order):
			next = st
		}
	}
	if next == nil || f.Stops > 1 || f.Calls >= f.Graph.maxCalls() {
		return true
	}
	next.Undo = &FlowItem{Attempt: 1}
	return false
}

// Waits reports whether nothing of the run goes on but what waits for somebody. interrupted says whether a run that was
// begun does; what waits for a time is not waiting for somebody.
func (f *Flow) Waits(interrupted func(run string) bool) bool {
	asking := len(f.Asks) > 0
	for i := range f.Nodes {
		st := &f.Nodes[i]
		if st.State == NodeReady || st.Wants {
			return false
		}
		for j := range st.Items {
			switch it := &st.Items[j]; {
			case st.State != NodeRunning:
			case it.State == ItemBegun && !interrupted(it.Run), it.State == ItemWaiting && !st.Stopping && st.room(&f.Graph.Nodes[i]):
				return false
			case it.State == ItemBegun:
				asking = true
			}
		}
		if u := st.Undo; u != nil && (u.State == ItemWaiting || u.State == ItemBegun && !interrupted(u.Run)) {
			return false
		} else if u != nil && u.State == ItemBegun {
			asking = true
		}
	}
	return asking
}

// room reports whether one more item of the node may be begun.
func (st *FlowNode) room(n *Node) bool {
	running := 0
	for j := range st.Items {
		if st.Items[j].State == ItemBegun {
			running++
		}
	}
	return n.Parallel == 0 || running < n.Parallel
}

// Goes reports whether that run was begun and is not known to have ended.
func (f *Flow) Goes(run string) bool {
	_, _, it := f.item(run)
	return it != nil
}
