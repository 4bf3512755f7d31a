package engine

import (
	"encoding/json"
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// Flow is a run that carries out a Graph, as the reducer sees it. Each call of a node is a run of its own, reduced as a
// State: Flow decides which are begun, waits for their ends, and decides what follows.
//
//	waiting ─(needs)→ ready ─Resolve→ [approving ─answer→] running ─(its runs end)→ done │ failed │ skipped
//	                    ▲                                      │
//	                    └──────────── next round ──────────────┘
//
// What Package engine promises holds for it too. Times are Unix milliseconds, and come with the events.
type Flow struct {
	Rules   int                 `json:"rules"`
	Events  int                 `json:"events"`
	Graph   Graph               `json:"graph"`
	Nodes   []FlowNode          `json:"nodes,omitempty"` // of Graph.Nodes, in their order
	Asks    []Ask               `json:"asks,omitempty"`  // the open ones; Step is the node's id
	Calls   int                 `json:"calls,omitempty"` // runs begun
	Used    orchestrator.Usage  `json:"used,omitzero"`   // by those that ended, as far as it was reported
	Began   int64               `json:"began,omitempty"`
	Done    int                 `json:"done,omitempty"` // nodes that came to their end, for their order
	Stops   int                 `json:"stops,omitempty"`
	Preview PreviewState        `json:"preview,omitempty"`
	Closing a2a.TaskState       `json:"closing,omitempty"` // how the run ends once nothing of it goes on
	Fault   *orchestrator.Fault `json:"fault,omitempty"`
	Final   bool                `json:"final,omitempty"` // Finish is due
	Ended   bool                `json:"ended,omitempty"`

	index index // of Graph
}

// index finds the nodes of a graph. It follows from the graph, and is made again when that has grown.
type index struct {
	at         map[string]int
	needs      [][]int // of each node
	dependants [][]int // the nodes that need it
}

// nodes returns the index of the graph as it is.
func (f *Flow) nodes() *index {
	x := &f.index
	if len(x.needs) == len(f.Graph.Nodes) {
		return x
	}
	n := len(f.Graph.Nodes)
	*x = index{at: make(map[string]int, n), needs: make([][]int, n), dependants: make([][]int, n)}
	for i := range f.Graph.Nodes {
		x.at[f.Graph.Nodes[i].ID] = i
	}
	for i := range f.Graph.Nodes {
		for _, need := range f.Graph.Nodes[i].Needs {
			j := x.at[need]
			x.needs[i] = append(x.needs[i], j)
			x.dependants[j] = append(x.dependants[j], i)
		}
	}
	return x
}

// Dependants returns how many nodes need that one.
func (f *Flow) Dependants(id string) int {
	i, ok := f.nodes().at[id]
	if !ok {
		return 0
	}
	return len(f.index.dependants[i])
}

// FlowNode is where a node stands.
type FlowNode struct {
	State    NodeState           `json:"state,omitempty"`
	Round    int                 `json:"round,omitempty"`  // from 1
	Wants    bool                `json:"wants,omitempty"`  // an ask must be opened
	Agreed   bool                `json:"agreed,omitempty"` // a person approved it
	Items    []FlowItem          `json:"items,omitempty"`  // of this round
	Deadline int64               `json:"deadline,omitempty"`
	Order    int                 `json:"order,omitempty"` // in which it came to its end, from 1
	Fault    *orchestrator.Fault `json:"fault,omitempty"`
	Stopping bool                `json:"stopping,omitempty"` // its runs are not wanted any more
	Again    int                 `json:"again,omitempty"`    // times a person tried it again
	Undo     *FlowItem           `json:"undo,omitempty"`     // the run that undoes it
}

// FlowItem is one call of a node.
type FlowItem struct {
	State    ItemState     `json:"state,omitempty"`
	Attempt  int           `json:"attempt,omitempty"` // from 1
	Run      string        `json:"run,omitempty"`     // of this attempt, once begun
	After    int64         `json:"after,omitempty"`   // when the attempt may begin
	Fallback bool          `json:"fallback,omitempty"`
	Result   a2a.TaskState `json:"result,omitempty"` // how its last run ended
	Stops    int           `json:"stops,omitempty"`
	Until    int64         `json:"until,omitempty"` // when what undoes a node is stopped, once begun
}

// PreviewState says how far a person has agreed to a plan.
type PreviewState string

const (
	PreviewNone   PreviewState = ""      // nobody has to, or somebody has
	PreviewWanted PreviewState = "wants" // the ask must be opened
	PreviewAsked  PreviewState = "asked"
)

// NodeState is the state of a node.
type NodeState string

const (
	NodeWaiting   NodeState = ""
	NodeReady     NodeState = "ready" // its content is to be made
	NodeApproving NodeState = "approving"
	NodeRunning   NodeState = "running"
	NodeDone      NodeState = "done"
	NodeFailed    NodeState = "failed"
	NodeSkipped   NodeState = "skipped"
	NodeCanceled  NodeState = "canceled"
)

// Settled reports whether nothing more becomes of the node.
func (s NodeState) Settled() bool {
	return s == NodeDone || s == NodeFailed || s == NodeSkipped || s == NodeCanceled
}

// ItemState is the state of an item.
type ItemState string

const (
	ItemWaiting ItemState = ""
	ItemBegun   ItemState = "begun"
	ItemDone    ItemState = "done"
	ItemFailed  ItemState = "failed"
)

// NewFlow returns the state of a run with a plan before its first event.
func NewFlow() Flow { return Flow{Rules: Rules} }

// Node returns the node of that id and where it stands, or nils.
func (f *Flow) Node(id string) (*Node, *FlowNode) {
	if i, ok := f.nodes().at[id]; ok {
		return &f.Graph.Nodes[i], &f.Nodes[i]
	}
	return nil, nil
}

// Open returns the open ask of that id, or nil.
func (f *Flow) Open(id string) *Ask {
	for i := range f.Asks {
		if f.Asks[i].ID == id {
			return &f.Asks[i]
		}
	}
	return nil
}

// ChildID names the run of one attempt of one item: the same however often it is begun.
func ChildID(run, node string, round, item, attempt int) string {
	return "step-" + Digest(fmt.Appendf(nil, "%s/%s/%d/%d/%d", run, node, round, item, attempt))
}

// UndoItem is the number of the item that undoes a node.
const UndoItem = -1

// base is the number of attempts that a node's items had before somebody had it tried again; their own come after it.
func (st *FlowNode) base() int { return st.Again * (MaxAttempt + 1) }

// The events of a Flow. Planned (with a Graph), Asked, Answered and Stopping are the others.

// Resolved says what was made of a node's content when its turn came.
type Resolved struct {
	Node  string              `json:"node"`
	Round int                 `json:"round"`
	Skip  bool                `json:"skip,omitempty"`  // its condition does not hold; of a later round: the loop is over
	Items []json.RawMessage   `json:"items,omitempty"` // one for each call; of a node that calls nobody none
	Fault *orchestrator.Fault `json:"fault,omitempty"` // it could not be made
	At    int64               `json:"at"`
}

// Begun is the intent to begin a run for an item. It is committed before the run is.
type Begun struct {
	Node    string `json:"node"`
	Round   int    `json:"round"`
	Item    int    `json:"item"` // -1: the node is undone
	Attempt int    `json:"attempt"`
	Run     string `json:"run"`
	Agent   string `json:"agent,omitempty"` // who was found for it; "" for a plan within this one
	At      int64  `json:"at"`
}

// Over says how a run of an item ended. What it made stays in its own log; here stands what can be shown of it.
type Over struct {
	Run       string                      `json:"run"`
	State     a2a.TaskState               `json:"state"`
	Final     bool                        `json:"final,omitempty"` // trying again would not help
	Fault     *orchestrator.Fault         `json:"fault,omitempty"`
	Text      string                      `json:"text,omitempty"` // the start of what it said
	Artifacts []orchestrator.ArtifactData `json:"artifacts,omitempty"`
	Data      json.RawMessage             `json:"data,omitempty"` // as far as it is short
	Usage     *orchestrator.Usage         `json:"usage,omitempty"`
	Task      string                      `json:"task,omitempty"` // as the agent calls it
	At        int64                       `json:"at"`
}

// Steered says that a person stopped what a step has going on, or has a failed one tried again.
type Steered struct {
	Node  string `json:"node"`
	Again bool   `json:"again,omitempty"` // try it again; otherwise: stop it
	Round int    `json:"round,omitempty"` // of the node, to stop it
	N     int    `json:"n,omitempty"`     // times it was tried again before
	At    int64  `json:"at"`
}

// Due says that a time has come that a Timer waited for.
type Due struct {
	At int64 `json:"at"`
}

func (*Resolved) Kind() orchestrator.EventKind { return orchestrator.EventResolved }
func (*Begun) Kind() orchestrator.EventKind    { return orchestrator.EventBegun }
func (*Over) Kind() orchestrator.EventKind     { return orchestrator.EventOver }
func (*Due) Kind() orchestrator.EventKind      { return orchestrator.EventDue }
func (*Steered) Kind() orchestrator.EventKind  { return orchestrator.EventSteered }

// The commands of a Flow. Open and Finish are the others.

// Resolve asks for a node's content to be made: whether its condition holds, for what, and what is to be said.
type Resolve struct {
	Node  string
	Round int
	Again int // times it was tried again before
}

// Decide asks for what comes next to be decided, which becomes a Planned of that Node, or, when it cannot be, a Resolved
// with a Fault.
type Decide struct {
	Node  string
	Again int
}

// Begin asks for the run of an item to be begun, by way of a Begun in the log.
type Begin struct {
	Node     string
	Round    int
	Item     int
	Attempt  int
	Fallback bool
}

// Watch asks for the run of an item to be seen to its end: begun, if that is all that happened.
type Watch struct {
	Node     string
	Round    int
	Item     int
	Attempt  int
	Fallback bool
	Run      string
}

// Halt asks for the run of an item to be stopped.
type Halt struct {
	Run string
	N   int
}

// Timer asks for a Due at a time, or soon after.
type Timer struct{ At int64 }

func (c *Resolve) ID() string { return fmt.Sprintf("resolve/%s/%d/%d", c.Node, c.Round, c.Again) }
func (c *Decide) ID() string  { return fmt.Sprintf("decide/%s/%d", c.Node, c.Again) }
func (c *Begin) ID() string {
	return fmt.Sprintf("begin/%s/%d/%d/%d", c.Node, c.Round, c.Item, c.Attempt)
}
func (c *Watch) ID() string { return "watch/" + c.Run }
func (c *Halt) ID() string  { return fmt.Sprintf("halt/%s/%d", c.Run, c.N) }
func (c *Timer) ID() string { return fmt.Sprintf("timer/%d", c.At) }
