package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"parley/orchestrator"
)

// Graph is a plan of several steps, as data: what a workflow file or a planner says. It is checked before it is logged, and
// never changes but by growing.
type Graph struct {
	Name    string          `json:"name,omitempty"`
	Nodes   []Node          `json:"nodes"`
	Timeout int64           `json:"timeoutMs,omitempty"` // of the run; 0 = none
	Budget  Budget          `json:"budget,omitzero"`
	Depth   int             `json:"depth,omitempty"` // plans that this one is within
	Spec    json.RawMessage `json:"spec,omitempty"`  // what the driver needs beside: inputs, outputs
}

// Node is one step of a plan. The reducer knows its shape; what is sent, asked and tested stands in Spec, and is the
// driver's to make of it when the node's turn comes.
type Node struct {
	ID       string          `json:"id"`
	Kind     NodeKind        `json:"kind"`
	Needs    []string        `json:"needs,omitempty"`
	Join     Join            `json:"join,omitempty"`     // "" = all
	Quorum   int             `json:"quorum,omitempty"`   // of Join quorum
	Approve  bool            `json:"approve,omitempty"`  // a person agrees before anything of it begins
	Parallel int             `json:"parallel,omitempty"` // of its items at a time; 0 = all
	Loop     int             `json:"loop,omitempty"`     // most rounds; 0 = one, and Spec does not say when to stop
	Attempts int             `json:"attempts,omitempty"` // of an item; 0 = 1
	Backoff  int64           `json:"backoffMs,omitempty"`
	Timeout  int64           `json:"timeoutMs,omitempty"` // from its begin; 0 = none. What undoes it has as long: UndoTimeout
	OnError  OnError         `json:"onError,omitempty"`   // "" = fail
	Undo     bool            `json:"undo,omitempty"`      // Spec says how to undo it, should the run be stopped
	Spec     json.RawMessage `json:"spec,omitempty"`
}

// NodeKind says what a node does.
type NodeKind string

const (
	NodeCall NodeKind = "call" // a message to an agent: a run of its own, or a plan within this one
	NodeAsk  NodeKind = "ask"  // a question to a person
	NodeNone NodeKind = "none" // nothing: it joins, or computes
	NodePlan NodeKind = "plan" // what comes next is decided, and added to the plan
)

// Join says when a node's turn has come.
type Join string

const (
	JoinAll     Join = ""        // all it needs are done, or failed with OnErrorSkip; when one of them was skipped it is skipped, too
	JoinAny     Join = "any"     // the first of them is done; when none is it is skipped, or fails where one of them failed
	JoinQuorum  Join = "quorum"  // so many of them are done; else as JoinAny
	JoinCollect Join = "collect" // none of them goes on, whatever became of it
)

// OnError says what the failure of a node means.
type OnError string

const (
	OnErrorFail     OnError = ""         // the run fails, and what else runs is stopped
	OnErrorSkip     OnError = "skip"     // the run goes on; JoinAll takes the node as done
	OnErrorFallback OnError = "fallback" // another agent gets it once, as Spec says; if that fails too, the run does
)

// Budget bounds what a run does on its own account. 0 means the default that is given.
type Budget struct {
	Calls int `json:"calls,omitempty"` // messages to agents, with repeats: 1,000
	Nodes int `json:"nodes,omitempty"` // of the plan, with those added: 1,000

	// What agents report that the calls cost, in their currency: once it comes to so much, no further call is begun, but for
	// those that undo. None.
	Cost float64 `json:"cost,omitempty"`
}

// Bounds of plans.
const (
	MaxNodes    = 1000
	MaxCalls    = 1000
	MaxItems    = 1000 // of a node, in one round
	MaxRounds   = 100
	MaxAttempt  = 10
	MaxDepth    = 5 // plans within plans
	MaxPlanSize = 1 << 20
)

// UndoTimeout is how long, in milliseconds, what undoes a node may take where that has no Timeout of its own.
const UndoTimeout = 60 * 60 * 1000

// Check refuses a plan that could not be carried out: unknown, doubled or circular nodes, or more than the bounds.
func (g *Graph) Check() error {
	bad := func(node, what string) error {
		return &orchestrator.Fault{
			Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("Step %s of the plan %s.", node, what), Do: "Correct the plan.",
		}
	}
	switch n := len(g.Nodes); {
	case n == 0:
		return &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "The plan has no steps.", Do: "Add one."}
	case n > g.maxNodes():
		return &orchestrator.Fault{
			Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("The plan has %d steps; at most %d are allowed.", n, g.maxNodes()),
			Do: "Divide it into several plans.",
		}
	case g.Depth > MaxDepth:
		return &orchestrator.Fault{
			Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("Plans are within one another more than %d deep.", MaxDepth),
			Do: "See whether they call each other in a circle.", Final: true,
		}
	}
	at := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if _, twice := at[n.ID]; twice || n.ID == "" {
			return bad(n.ID, "is there twice, or has no id")
		}
		at[n.ID] = i
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, need := range n.Needs {
			if _, ok := at[need]; !ok {
				return bad(n.ID, "needs "+need+", which is not there")
			}
		}
		switch {
		case n.Kind != NodeCall && n.Kind != NodeAsk && n.Kind != NodeNone && n.Kind != NodePlan:
			return bad(n.ID, "is of a kind nobody knows")
		case !slices.Contains([]Join{JoinAll, JoinAny, JoinQuorum, JoinCollect}, n.Join):
			return bad(n.ID, "joins in a way nobody knows")
		case !slices.Contains([]OnError{OnErrorFail, OnErrorSkip, OnErrorFallback}, n.OnError):
			return bad(n.ID, "says nothing known about failures")
		case n.Join == JoinQuorum && (n.Quorum < 1 || n.Quorum > len(n.Needs)):
			return bad(n.ID, fmt.Sprintf("wants %d of %d steps", n.Quorum, len(n.Needs)))
		case n.Loop < 0 || n.Loop > MaxRounds, n.Attempts < 0 || n.Attempts > MaxAttempt, n.Timeout < 0, n.Backoff < 0, n.Parallel < 0:
			return bad(n.ID, "is out of bounds")
		}
	}
	if c := g.circle(at); c != "" {
		return bad(c, "needs itself, by way of others")
	}
	return nil
}

// circle returns a node that needs itself, "" when there is none.
func (g *Graph) circle(at map[string]int) string {
	const (
		unseen = iota
		open
		closed
	)
	mark := make([]byte, len(g.Nodes))
	var visit func(i int) string
	visit = func(i int) string {
		switch mark[i] {
		case open:
			return g.Nodes[i].ID
		case closed:
			return ""
		}
		mark[i] = open
		for _, need := range g.Nodes[i].Needs {
			if c := visit(at[need]); c != "" {
				return c
			}
		}
		mark[i] = closed
		return ""
	}
	for i := range g.Nodes {
		if c := visit(i); c != "" {
			return c
		}
	}
	return ""
}

// undoTimeout is how long what undoes the node may take.
func (n *Node) undoTimeout() int64 { return cmp.Or(n.Timeout, UndoTimeout) }

func (g *Graph) maxNodes() int { return bound(g.Budget.Nodes, MaxNodes) }
func (g *Graph) maxCalls() int { return bound(g.Budget.Calls, MaxCalls) }

// bound is a budget within the bound that nobody may lift.
func bound(n, most int) int {
	if n <= 0 || n > most {
		return most
	}
	return n
}
