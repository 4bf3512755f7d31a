package engine

import (
	"parley/a2a"
	"parley/orchestrator"
)

// Next returns what follows from f.
func (f *Flow) Next() []Command {
	switch {
	case f.Ended || len(f.Nodes) == 0:
		return nil
	case f.Final:
		return []Command{&Finish{State: f.Closing, Fault: f.Fault}}
	}
	switch f.Preview {
	case PreviewWanted:
		return []Command{&Open{Kind: orchestrator.AskApproval}}
	case PreviewAsked:
		return nil
	}
	var cs []Command
	soonest := int64(0)
	timer := func(at int64) {
		if at > 0 && (soonest == 0 || at < soonest) {
			soonest = at
		}
	}
	if f.Closing == a2a.TaskStateUnspecified && f.Graph.Timeout > 0 {
		timer(f.Began + f.Graph.Timeout)
	}
	for i := range f.Nodes {
		n, st := &f.Graph.Nodes[i], &f.Nodes[i]
		cs = f.nextUndo(cs, n, st)
		if u := st.Undo; u != nil && u.State == ItemBegun {
			timer(u.Until)
		}
		if st.Wants {
			cs = append(cs, &Open{Step: n.ID, Phase: st.phase(), Kind: askKind(n, st)})
		}
		switch {
		case st.State != NodeReady:
		case n.Kind == NodePlan:
			cs = append(cs, &Decide{Node: n.ID, Again: st.Again})
		default:
			cs = append(cs, &Resolve{Node: n.ID, Round: st.Round, Again: st.Again})
		}
		if !st.Stopping {
			timer(st.Deadline)
		}
		if st.State != NodeRunning {
			continue
		}
		running := 0
		for j := range st.Items {
			if st.Items[j].State == ItemBegun {
				running++
			}
		}
		for j := range st.Items {
			it := &st.Items[j]
			switch {
			case it.State == ItemBegun:
				cs = append(cs, &Watch{Node: n.ID, Round: st.Round, Item: j, Attempt: it.Attempt, Fallback: it.Fallback, Run: it.Run})
				if st.Stopping {
					cs = append(cs, &Halt{Run: it.Run, N: it.Stops})
				}
			case it.State != ItemWaiting || st.Stopping || n.Parallel > 0 && running >= n.Parallel:
			case it.After > 0:
				timer(it.After)
			default:
				running++
				cs = append(cs, &Begin{Node: n.ID, Round: st.Round, Item: j, Attempt: it.Attempt, Fallback: it.Fallback})
			}
		}
	}
	if soonest > 0 {
		cs = append(cs, &Timer{At: soonest})
	}
	return cs
}

// nextUndo names what undoing a node wants now.
func (f *Flow) nextUndo(cs []Command, n *Node, st *FlowNode) []Command {
	switch u := st.Undo; {
	case u == nil:
	case u.State == ItemBegun:
		cs = append(cs, &Watch{Node: n.ID, Round: st.Round, Item: UndoItem, Attempt: u.Attempt, Run: u.Run})
		if f.Stops > 1 || u.Stops > 0 { // somebody does not want to wait for it, or its time is over
			cs = append(cs, &Halt{Run: u.Run, N: u.Stops})
		}
	case u.State == ItemWaiting:
		cs = append(cs, &Begin{Node: n.ID, Round: st.Round, Item: UndoItem, Attempt: u.Attempt})
	}
	return cs
}

// phase numbers the asks of a node: one for its approval, one for its question, in every round.
func (st *FlowNode) phase() int {
	p := 2 * (st.Round + st.Again*(MaxRounds+1))
	if st.Agreed {
		p++
	}
	return p
}

// askKind is how a node asks: for an approval, or its own question.
func askKind(n *Node, st *FlowNode) orchestrator.AskKind {
	if n.Approve && !st.Agreed {
		return orchestrator.AskApproval
	}
	return orchestrator.AskInput
}
