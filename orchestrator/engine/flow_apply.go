package engine

import (
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// Apply folds one event of the run into f. One that does not fit where the run stands changes nothing but the count.
func (f *Flow) Apply(b Body) {
	f.Events++
	if f.Ended {
		return
	}
	switch b := b.(type) {
	case *Planned:
		f.planned(b)
	case *Resolved:
		f.resolved(b)
	case *Begun:
		f.begun(b)
	case *Over:
		f.over(b)
	case *Due:
		f.due(b.At)
	case *Asked:
		f.asked(b)
	case *Answered:
		f.answered(b)
	case *Steered:
		f.steered(b)
	case *Stopping:
		f.Stops++
		f.close(a2a.TaskStateCanceled, nil)
		if f.Stops > 1 {
			f.again()
		}
	case *Faulted:
		switch {
		case b.Class == Refused:
			f.close(a2a.TaskStateFailed, b.Fault)
		case f.Final && f.Fault == nil:
			f.Fault = b.Fault // all was done, and what the plan gives could not be made of it
		}
	case *Report:
		if b.Ends() {
			f.Ended, f.Asks = true, nil
		}
	}
	f.advance()
}

// planned takes a plan, or what is added to one. An addition that is no plan is left out: whoever proposes it checks it.
func (f *Flow) planned(b *Planned) {
	if f.Closing != a2a.TaskStateUnspecified {
		return
	}
	if b.Node != "" {
		f.decided(b)
		return
	}
	first := len(f.Nodes) == 0
	if b.Graph == nil || !f.grow(b.Graph) || !first {
		return
	}
	if f.Began = b.At; b.Preview {
		f.Preview = PreviewWanted
	}
}

// grow adds nodes, when they and those that are there make a plan.
func (f *Flow) grow(more *Graph) bool {
	g := *more
	if len(f.Graph.Nodes) > 0 {
		g = f.Graph
		g.Nodes = append(g.Nodes[:len(g.Nodes):len(g.Nodes)], more.Nodes...)
	}
	if g.Check() != nil {
		return false
	}
	f.Graph = g
	f.Nodes = append(f.Nodes, make([]FlowNode, len(g.Nodes)-len(f.Nodes))...)
	return true
}

// decided takes what a node of kind plan decided. It is done with that; what was decided is done by the nodes it adds.
func (f *Flow) decided(b *Planned) {
	n, st := f.Node(b.Node)
	if st == nil || n.Kind != NodePlan || st.State != NodeReady {
		return
	}
	if b.Graph != nil && !f.grow(b.Graph) {
		f.failNode(n, st, &orchestrator.Fault{
			Kind: "plan", Where: orchestrator.WhereUs, What: "What was decided is no plan that could be carried out.", Do: "Try again.",
		})
		return
	}
	_, st = f.Node(b.Node) // it may have moved
	f.settle(st, NodeDone)
}

// steered stops what a node has going on, or has it tried again after it failed.
func (f *Flow) steered(b *Steered) {
	n, st := f.Node(b.Node)
	switch {
	case st == nil || f.Closing != a2a.TaskStateUnspecified || b.N != st.Again:
	case b.Again && f.Retryable(st):
		*st = FlowNode{State: NodeReady, Round: 1, Again: st.Again + 1, Agreed: st.Agreed}
		if f.Rules > 1 {
			f.reopen(b.Node)
		}
	case !b.Again && f.Stoppable(st) && b.Round == st.Round:
		f.failNode(n, st, &orchestrator.Fault{
			Kind: orchestrator.FaultStopped, Where: orchestrator.WhereUs, What: "Step " + n.ID + " was stopped.", Do: "Try it again, or run the plan again.",
		})
	}
}

// reopen has the nodes wait for their turn again that came to nothing because of that one: those that need it and were
// skipped, and those that need them.
func (f *Flow) reopen(node string) {
	x := f.nodes()
	for todo := []int{x.at[node]}; len(todo) > 0; {
		i := todo[0]
		todo = todo[1:]
		for _, j := range x.dependants[i] {
			if st := &f.Nodes[j]; st.State == NodeSkipped {
				*st = FlowNode{Again: st.Again + 1}
				todo = append(todo, j)
			}
		}
	}
}

// Stoppable reports whether a node has something going on that can be stopped for itself.
func (f *Flow) Stoppable(st *FlowNode) bool {
	return f.Closing == a2a.TaskStateUnspecified && !st.Stopping && (st.State == NodeReady || st.State == NodeApproving || st.State == NodeRunning)
}

// maxAgain is how often a person may have one node tried again.
const maxAgain = 1000

// Retryable reports whether a node may be tried again.
func (f *Flow) Retryable(st *FlowNode) bool {
	return f.Closing == a2a.TaskStateUnspecified && st.State == NodeFailed && st.Again < maxAgain
}

func (f *Flow) resolved(b *Resolved) {
	n, st := f.Node(b.Node)
	if st == nil || st.State != NodeReady || st.Round != b.Round {
		return
	}
	switch {
	case b.Fault != nil:
		f.failNode(n, st, b.Fault)
		return
	case n.Kind == NodePlan:
		return
	case b.Skip && st.Round > 1:
		f.settle(st, NodeDone)
		return
	case b.Skip:
		f.settle(st, NodeSkipped)
		return
	case len(b.Items) > MaxItems:
		f.failNode(n, st, &orchestrator.Fault{
			Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("Step %s is to be done %d times; at most %d are allowed.", n.ID, len(b.Items), MaxItems),
		})
		return
	}
	st.Items = nil
	if n.Kind == NodeCall {
		st.Items = make([]FlowItem, len(b.Items))
		for i := range st.Items {
			st.Items[i].Attempt = st.base() + 1
		}
	}
	if n.Timeout > 0 && st.Round == 1 {
		st.Deadline = b.At + n.Timeout
	}
	nothing := n.Kind == NodeCall && len(b.Items) == 0 // to be approved, too
	if n.Approve && !st.Agreed && !nothing || n.Kind == NodeAsk {
		st.State, st.Wants = NodeApproving, true
		return
	}
	st.State = NodeRunning
}

func (f *Flow) begun(b *Begun) {
	n, st := f.Node(b.Node)
	if st == nil || st.Round != b.Round {
		return
	}
	var it *FlowItem
	switch {
	case b.Item == UndoItem:
		it = st.Undo
	case b.Item < 0 || b.Item >= len(st.Items) || st.State != NodeRunning || st.Stopping:
	default:
		it = &st.Items[b.Item]
	}
	if it == nil || it.State != ItemWaiting || it.Attempt != b.Attempt || f.Calls >= f.Graph.maxCalls() {
		return
	}
	it.State, it.Run, it.After = ItemBegun, b.Run, 0
	if it == st.Undo && f.Rules > 3 {
		it.Until = b.At + n.undoTimeout()
	}
	f.Calls++
}

// item finds the item whose run that is.
func (f *Flow) item(run string) (*Node, *FlowNode, *FlowItem) {
	for i := range f.Nodes {
		st := &f.Nodes[i]
		if u := st.Undo; u != nil && u.Run == run && u.State == ItemBegun {
			return &f.Graph.Nodes[i], st, u
		}
		for j := range st.Items {
			if it := &st.Items[j]; it.Run == run && it.State == ItemBegun {
				return &f.Graph.Nodes[i], st, it
			}
		}
	}
	return nil, nil, nil
}

func (f *Flow) over(b *Over) {
	n, st, it := f.item(b.Run)
	if it == nil {
		return
	}
	it.Result = b.State
	if b.Usage != nil {
		f.Used.Add(b.Usage)
	}
	if b.State == a2a.TaskStateCompleted {
		it.State = ItemDone
		return
	}
	it.State = ItemFailed
	if it == st.Undo || st.Stopping {
		return
	}
	attempts, tried := max(1, n.Attempts), it.Attempt-st.base()
	switch {
	case f.Calls >= f.Graph.maxCalls(), f.spent():
	case b.State != a2a.TaskStateCanceled && !b.Final && tried < attempts && !it.Fallback:
		*it = FlowItem{Attempt: it.Attempt + 1, After: later(b.At, n.Backoff, tried)}
		return
	case n.OnError == OnErrorFallback && !it.Fallback && b.State != a2a.TaskStateCanceled:
		*it = FlowItem{Attempt: it.Attempt + 1, Fallback: true}
		return
	}
	if st.Fault = b.Fault; it.Fallback && st.Fault != nil && st.Fault.Final { // the first agent may do it another time
		again := *st.Fault
		again.Final, st.Fault = false, &again
	}
	if st.Fault == nil {
		st.Fault = &orchestrator.Fault{Kind: "step-" + string(b.State), Where: orchestrator.WhereAgent, What: "Step " + n.ID + " did not come to a good end."}
	}
}

// later is when the next attempt may begin: twice as late after each.
func later(at, backoff int64, attempt int) int64 {
	if backoff <= 0 {
		return 0
	}
	const most = 24 * 60 * 60 * 1000
	return at + min(backoff<<min(attempt-1, 20), most)
}

// due lets go what waited for a time.
func (f *Flow) due(at int64) {
	if f.Closing == a2a.TaskStateUnspecified && f.Graph.Timeout > 0 && at >= f.Began+f.Graph.Timeout {
		f.close(a2a.TaskStateFailed, &orchestrator.Fault{
			Kind: "deadline", Where: orchestrator.WhereUs, What: "The time for the whole plan ran out.", Retry: true, Do: "Give it more time, or run it again.",
		})
		return
	}
	for i := range f.Nodes {
		st := &f.Nodes[i]
		for j := range st.Items {
			if it := &st.Items[j]; it.After > 0 && at >= it.After {
				it.After = 0
			}
		}
		if u := st.Undo; u != nil && u.State == ItemBegun && u.Until > 0 && at >= u.Until {
			u.Until = 0
			u.Stops++
		}
		if st.Deadline > 0 && at >= st.Deadline && !st.State.Settled() && !st.Stopping {
			st.Deadline = 0
			f.failNode(&f.Graph.Nodes[i], st, &orchestrator.Fault{
				Kind: "deadline", Where: orchestrator.WhereUs, What: "Step " + f.Graph.Nodes[i].ID + " took too long.", Retry: true, Do: "Give it more time, or run the plan again.",
			})
		}
	}
}

func (f *Flow) asked(b *Asked) {
	if b.Step == "" {
		if f.Preview == PreviewWanted && f.Open(b.Ask) == nil {
			f.Preview = PreviewAsked
			f.Asks = append(f.Asks, Ask{ID: b.Ask, Kind: b.AskKind})
		}
		return
	}
	_, st := f.Node(b.Step)
	if st == nil || !st.Wants || b.Phase != st.phase() || f.Open(b.Ask) != nil {
		return
	}
	st.Wants = false
	f.Asks = append(f.Asks, Ask{ID: b.Ask, Step: b.Step, Kind: b.AskKind})
}

func (f *Flow) answered(b *Answered) {
	i := 0
	for i < len(f.Asks) && f.Asks[i].ID != b.Ask {
		i++
	}
	if i == len(f.Asks) {
		return
	}
	ask := f.Asks[i]
	f.Asks = append(f.Asks[:i:i], f.Asks[i+1:]...)
	if ask.Step == "" {
		if f.Preview = PreviewNone; b.State != orchestrator.AskAnswered {
			f.close(a2a.TaskStateCanceled, nil)
		}
		f.Began = max(f.Began, b.At) // the time of the plan runs from here
		return
	}
	n, st := f.Node(ask.Step)
	if st == nil || st.State != NodeApproving {
		return
	}
	switch {
	case b.State == orchestrator.AskDeclined:
		f.failNode(n, st, &orchestrator.Fault{Kind: orchestrator.FaultDeclined, Where: orchestrator.WhereUs, What: "Step " + n.ID + " was declined."})
	case b.State != orchestrator.AskAnswered:
	case ask.Kind == orchestrator.AskApproval:
		if st.Agreed = true; n.Kind == NodeAsk {
			st.Wants = true
			return
		}
		st.State = NodeRunning
	default:
		st.State = NodeRunning // with nothing to wait for
	}
}

// settle ends a node.
func (f *Flow) settle(st *FlowNode, to NodeState) {
	f.Done++
	st.State, st.Order, st.Wants, st.Deadline = to, f.Done, false, 0
}

// failNode makes a node fail: at once where nothing of it goes on, else when that has stopped.
func (f *Flow) failNode(n *Node, st *FlowNode, fault *orchestrator.Fault) {
	if st.Fault == nil {
		st.Fault = fault
	}
	f.drop(n.ID)
	st.stop()
	if st.idle() {
		f.settle(st, NodeFailed)
	}
}

// stop makes the runs of a node be stopped.
func (st *FlowNode) stop() {
	if !st.Stopping {
		st.Stopping = true
		for j := range st.Items {
			st.Items[j].Stops++
		}
	}
}

// idle reports whether no run of the node goes on.
func (st *FlowNode) idle() bool {
	for j := range st.Items {
		if st.Items[j].State == ItemBegun {
			return false
		}
	}
	return true
}

// close makes the run end: what goes on is stopped, what waits is left, and, where the run was stopped, what was done is
// undone. What is first to close it decides how.
func (f *Flow) close(state a2a.TaskState, fault *orchestrator.Fault) {
	if f.Closing != a2a.TaskStateUnspecified {
		return
	}
	f.Closing, f.Fault, f.Asks = state, fault, nil
	for i := range f.Nodes {
		st := &f.Nodes[i]
		switch {
		case st.State.Settled():
		case st.State == NodeRunning && !st.idle():
			st.stop()
		default:
			f.settle(st, NodeCanceled)
		}
	}
}

// again asks once more for what goes on to be stopped.
func (f *Flow) again() {
	for i := range f.Nodes {
		st := &f.Nodes[i]
		if u := st.Undo; u != nil && u.State == ItemBegun {
			u.Stops++
		}
		for j := range st.Items {
			if st.Items[j].State == ItemBegun {
				st.Items[j].Stops++
			}
		}
	}
}
