package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"parley/a2a"
	"parley/orchestrator"
)

// flowWorld carries a Flow out as a driver would, with nothing in it left to chance but what the test draws.
type flowWorld struct {
	f     Flow
	now   int64
	log   []Body
	runs  map[string]bool // begun, and whether they have ended
	order []string        // the items in the order they were begun: node/item/attempt
}

func newFlowWorld(t interface{ Fatalf(string, ...any) }, g *Graph) *flowWorld {
	return flowWorldOf(t, g, Rules)
}

// flowWorldOf is newFlowWorld for a run that began under other rules.
func flowWorldOf(t interface{ Fatalf(string, ...any) }, g *Graph, rules int) *flowWorld {
	if err := g.Check(); err != nil {
		t.Fatalf("%v", err)
	}
	w := &flowWorld{f: NewFlow(), runs: map[string]bool{}}
	w.f.Rules = rules
	w.apply(&Planned{Graph: g, At: w.now})
	return w
}

func (w *flowWorld) apply(b Body) {
	w.log = append(w.log, b)
	w.f.Apply(b)
}

func (w *flowWorld) find(id string) Command {
	for _, c := range w.f.Next() {
		if c.ID() == id {
			return c
		}
	}
	return nil
}

// ids lists the commands that follow.
func (w *flowWorld) ids() []string {
	var ids []string
	for _, c := range w.f.Next() {
		ids = append(ids, c.ID())
	}
	return ids
}

// do carries a command out in the plainest way: content for one item, runs that only begin.
func (w *flowWorld) do(c Command) {
	switch c := c.(type) {
	case *Resolve:
		w.apply(&Resolved{Node: c.Node, Round: c.Round, Items: []json.RawMessage{nil}, At: w.now})
	case *Begin:
		run := ChildID("r", c.Node, c.Round, c.Item, c.Attempt)
		w.runs[run] = false
		w.order = append(w.order, fmt.Sprintf("%s/%d/%d", c.Node, c.Item, c.Attempt))
		w.apply(&Begun{Node: c.Node, Round: c.Round, Item: c.Item, Attempt: c.Attempt, Run: run, At: w.now})
	case *Open:
		w.apply(&Asked{Ask: fmt.Sprintf("ask-%s-%d", c.Step, c.Phase), Step: c.Step, AskKind: c.Kind, Phase: c.Phase})
	case *Timer:
		w.now = max(w.now, c.At)
		w.apply(&Due{At: w.now})
	case *Finish:
		w.apply(&Report{State: c.State})
	}
}

// settle carries out what needs nobody: everything but the ends of runs, answers and time.
func (w *flowWorld) settle() {
	for again := true; again; {
		again = false
		for _, c := range w.f.Next() {
			switch c.(type) {
			case *Resolve, *Begin, *Open, *Finish:
				w.do(c)
				again = true
			}
			if again {
				break
			}
		}
	}
}

func (w *flowWorld) end(node string, item int, state a2a.TaskState) {
	_, st := w.f.Node(node)
	it := st.Undo
	if item >= 0 {
		it = &st.Items[item]
	}
	w.runs[it.Run] = true
	w.apply(&Over{Run: it.Run, State: state, At: w.now})
	w.settle()
}

func (w *flowWorld) state(node string) NodeState {
	_, st := w.f.Node(node)
	return st.State
}

func call(id string, needs ...string) Node { return Node{ID: id, Kind: NodeCall, Needs: needs} }

func TestFlowInSequence(t *testing.T) {
	t.Parallel()
	w := newFlowWorld(t, &Graph{Nodes: []Node{call("a"), call("b", "a")}})
	w.settle()
	if !slices.Equal(w.order, []string{"a/0/1"}) || w.state("b") != NodeWaiting {
		t.Fatalf("begun %v", w.order)
	}
	w.end("a", 0, a2a.TaskStateCompleted)
	w.end("b", 0, a2a.TaskStateCompleted)
	if !w.f.Ended || w.f.Closing != a2a.TaskStateCompleted || !slices.Equal(w.order, []string{"a/0/1", "b/0/1"}) {
		t.Errorf("%+v after %v", w.f, w.order)
	}
}

func TestFlowJoins(t *testing.T) {
	t.Parallel()
	join := func(j Join, quorum int, onError OnError) *flowWorld {
		g := &Graph{Nodes: []Node{call("a"), call("b"), call("c"), {ID: "z", Kind: NodeCall, Needs: []string{"a", "b", "c"}, Join: j, Quorum: quorum}}}
		for i := range 3 {
			g.Nodes[i].OnError = onError
		}
		w := newFlowWorld(t, g)
		w.settle()
		return w
	}
	w := join(JoinAny, 0, OnErrorFail)
	if w.end("b", 0, a2a.TaskStateCompleted); w.state("z") != NodeRunning {
		t.Errorf("any: z is %q after one of three", w.state("z"))
	}
	// Nobody needs the others any more.
	halts := 0
	for _, c := range w.f.Next() {
		if _, ok := c.(*Halt); ok {
			halts++
		}
	}
	if halts != 2 {
		t.Errorf("any: %v", w.ids())
	}
	w.end("a", 0, a2a.TaskStateCanceled)
	w.end("c", 0, a2a.TaskStateCanceled)
	if w.end("z", 0, a2a.TaskStateCompleted); w.f.Closing != a2a.TaskStateCompleted || w.state("a") != NodeCanceled {
		t.Errorf("any: %+v", w.f)
	}

	// What failed is none of those that are wanted, also where the run goes on without it.
	w = join(JoinQuorum, 2, OnErrorSkip)
	w.end("a", 0, a2a.TaskStateFailed)
	if w.end("b", 0, a2a.TaskStateCompleted); w.state("z") != NodeWaiting || w.state("c") != NodeRunning {
		t.Errorf("quorum: z is %q and c %q after one done and one failed", w.state("z"), w.state("c"))
	}
	if w.end("c", 0, a2a.TaskStateCompleted); w.state("z") != NodeRunning {
		t.Errorf("quorum: z is %q after two done and one failed", w.state("z"))
	}
	w = join(JoinQuorum, 2, OnErrorSkip)
	w.f.Rules = 2 // as it was
	w.end("a", 0, a2a.TaskStateFailed)
	if w.end("b", 0, a2a.TaskStateCompleted); w.state("z") != NodeRunning {
		t.Errorf("quorum under rules 2: z is %q after one done and one failed", w.state("z"))
	}

	w = join(JoinAny, 0, OnErrorSkip)
	if w.end("a", 0, a2a.TaskStateFailed); w.state("z") != NodeWaiting || w.state("b") != NodeRunning {
		t.Errorf("any: z is %q and b %q after one failed", w.state("z"), w.state("b"))
	}
	w.end("b", 0, a2a.TaskStateFailed)
	if w.end("c", 0, a2a.TaskStateFailed); w.state("z") != NodeFailed || w.f.Closing != a2a.TaskStateFailed || w.f.Fault == nil || w.f.Fault.Kind != "join" {
		t.Errorf("any: z is %q after all failed: %+v", w.state("z"), w.f.Fault)
	}

	w = join(JoinCollect, 0, OnErrorSkip)
	w.end("a", 0, a2a.TaskStateFailed)
	w.end("b", 0, a2a.TaskStateFailed)
	if w.state("z") != NodeWaiting {
		t.Error("collect: z did not wait for all")
	}
	if w.end("c", 0, a2a.TaskStateRejected); w.state("z") != NodeRunning {
		t.Errorf("collect: z is %q", w.state("z"))
	}

	w = join(JoinAll, 0, OnErrorFail)
	w.end("a", 0, a2a.TaskStateCompleted)
	w.end("b", 0, a2a.TaskStateFailed)
	if w.f.Final || w.state("z") != NodeCanceled {
		t.Errorf("all: %+v", w.f)
	}
	if w.end("c", 0, a2a.TaskStateCanceled); !w.f.Ended || w.f.Closing != a2a.TaskStateFailed || w.f.Fault == nil || w.state("a") != NodeDone {
		t.Errorf("all: %+v", w.f)
	}
}

func TestFlowErrors(t *testing.T) {
	t.Parallel()
	n := call("a")
	n.Attempts, n.Backoff, n.OnError = 3, 1000, OnErrorFallback
	w := newFlowWorld(t, &Graph{Nodes: []Node{n}})
	w.settle()
	for i := range 2 {
		w.end("a", 0, a2a.TaskStateFailed)
		if len(w.order) != i+1 {
			t.Fatalf("begun again before its time: %v", w.order)
		}
		timer, ok := w.f.Next()[0].(*Timer)
		if !ok || timer.At != w.now+1000<<i {
			t.Fatalf("%v", w.ids())
		}
		w.do(timer)
		w.settle()
	}
	w.end("a", 0, a2a.TaskStateFailed)
	if _, st := w.f.Node("a"); !st.Items[0].Fallback || len(w.order) != 4 {
		t.Fatalf("no fallback: %v", w.order)
	}
	if w.end("a", 0, a2a.TaskStateFailed); w.f.Closing != a2a.TaskStateFailed || len(w.order) != 4 {
		t.Errorf("%v", w.order)
	}

	// What cannot help is not tried.
	w = newFlowWorld(t, &Graph{Nodes: []Node{{ID: "a", Kind: NodeCall, Attempts: 3}}})
	w.settle()
	_, st := w.f.Node("a")
	w.apply(&Over{Run: st.Items[0].Run, State: a2a.TaskStateFailed, Final: true})
	if w.settle(); w.f.Closing != a2a.TaskStateFailed || len(w.order) != 1 {
		t.Errorf("%v", w.order)
	}
}

func TestFlowAsksAndLoops(t *testing.T) {
	t.Parallel()
	w := newFlowWorld(t, &Graph{Nodes: []Node{
		{ID: "a", Kind: NodeCall, Approve: true, Loop: 3},
		{ID: "q", Kind: NodeAsk, Approve: true},
	}})
	w.settle()
	if len(w.order) != 0 || len(w.f.Asks) != 2 || w.f.Asks[0].Kind != orchestrator.AskApproval || !w.f.Waits(nil) {
		t.Fatalf("%+v", w.f)
	}
	yes := func(ask string) { w.apply(&Answered{Ask: ask, State: orchestrator.AskAnswered}); w.settle() }
	yes("ask-q-2") // in reverse
	yes("ask-q-2")
	yes("ask-a-2")
	if len(w.f.Asks) != 1 || w.f.Asks[0].Kind != orchestrator.AskInput || w.f.Waits(func(string) bool { return false }) || !w.f.Waits(func(string) bool { return true }) {
		t.Fatalf("%+v", w.f.Asks)
	}
	yes("ask-q-3")
	w.end("a", 0, a2a.TaskStateCompleted)
	w.end("a", 0, a2a.TaskStateCompleted)
	if w.end("a", 0, a2a.TaskStateCompleted); w.f.Closing != a2a.TaskStateCompleted || len(w.order) != 3 {
		t.Errorf("%v, %+v", w.order, w.f)
	}

	w = newFlowWorld(t, &Graph{Nodes: []Node{{ID: "a", Kind: NodeCall, Approve: true}}})
	w.apply(&Resolved{Node: "a", Round: 1})
	if w.settle(); !w.f.Ended || w.f.Closing != a2a.TaskStateCompleted {
		t.Errorf("nobody has to approve nothing: %+v", w.f)
	}

	w = newFlowWorld(t, &Graph{Nodes: []Node{{ID: "a", Kind: NodeCall, Approve: true}, call("b", "a")}})
	w.settle()
	w.apply(&Answered{Ask: "ask-a-2", State: orchestrator.AskDeclined})
	if w.settle(); !w.f.Ended || w.f.Closing != a2a.TaskStateFailed || len(w.order) != 0 {
		t.Errorf("declined: %+v", w.f)
	}
}

func TestFlowStopUndoes(t *testing.T) {
	t.Parallel()
	g := &Graph{Nodes: []Node{call("a"), call("b", "a"), call("c", "b")}}
	for i := range g.Nodes {
		g.Nodes[i].Undo = true
	}
	w := newFlowWorld(t, g)
	w.settle()
	w.end("a", 0, a2a.TaskStateCompleted)
	w.end("b", 0, a2a.TaskStateCompleted)
	w.apply(&Stopping{})
	w.settle()
	if w.f.Final || len(w.order) != 3 {
		t.Fatalf("undone before what runs has stopped: %v", w.order)
	}
	w.end("c", 0, a2a.TaskStateCanceled)
	w.end("b", UndoItem, a2a.TaskStateFailed) // which does not keep a from being undone
	w.end("a", UndoItem, a2a.TaskStateCompleted)
	if want := []string{"a/0/1", "b/0/1", "c/0/1", "b/-1/1", "a/-1/1"}; !slices.Equal(w.order, want) || !w.f.Ended || w.f.Closing != a2a.TaskStateCanceled {
		t.Errorf("%v, %+v", w.order, w.f)
	}
}

// What undoes a step has the step's own time, or the default; then it is stopped, and what is left is undone.
func TestFlowUndoDeadline(t *testing.T) {
	t.Parallel()
	const began = 7
	begin := func(rules int, timeout int64) *flowWorld {
		a, b := call("a"), call("b", "a")
		a.Undo, b.Undo, b.Timeout = true, true, timeout
		w := flowWorldOf(t, &Graph{Nodes: []Node{a, b, call("c", "b")}, Timeout: began + 1}, rules)
		w.settle()
		w.end("a", 0, a2a.TaskStateCompleted)
		w.end("b", 0, a2a.TaskStateCompleted)
		w.apply(&Stopping{})
		w.now = began
		w.end("c", 0, a2a.TaskStateCanceled)
		return w
	}
	for timeout, until := range map[int64]int64{0: began + UndoTimeout, 5000: began + 5000} {
		w := begin(Rules, timeout)
		halt := "halt/" + ChildID("r", "b", 1, UndoItem, 1) + "/1"
		w.apply(&Due{At: until - 1})
		timer, ok := w.find(fmt.Sprintf("timer/%d", until)).(*Timer)
		if !ok || w.find(halt) != nil {
			t.Fatalf("timeout %d: %v", timeout, w.ids())
		}
		w.do(timer)
		if w.find(halt) == nil || w.find(timer.ID()) != nil {
			t.Fatalf("timeout %d, at its end: %v", timeout, w.ids())
		}
		w.apply(&Due{At: until + 1})
		if w.find(halt) == nil {
			t.Errorf("it is stopped again: %v", w.ids())
		}
		w.end("b", UndoItem, a2a.TaskStateCanceled)
		w.end("a", UndoItem, a2a.TaskStateCompleted)
		if want := []string{"a/0/1", "b/0/1", "c/0/1", "b/-1/1", "a/-1/1"}; !slices.Equal(w.order, want) || !w.f.Ended || w.f.Closing != a2a.TaskStateCanceled {
			t.Errorf("%v, %+v", w.order, w.f)
		}
	}
	// One that is over in time is not stopped, and a run that began before has no such time.
	w := begin(Rules, 5000)
	w.end("b", UndoItem, a2a.TaskStateCompleted)
	w.apply(&Due{At: began + 5000})
	if w.find("halt/"+ChildID("r", "b", 1, UndoItem, 1)+"/1") != nil || len(w.order) != 5 {
		t.Errorf("%v, %v", w.ids(), w.order)
	}
	w = begin(3, 5000)
	w.apply(&Due{At: began + UndoTimeout})
	if ids := w.ids(); !slices.Equal(ids, []string{"watch/" + ChildID("r", "b", 1, UndoItem, 1)}) {
		t.Errorf("under rules 3: %v", ids)
	}
}

func TestFlowDeadlinesAndBudget(t *testing.T) {
	t.Parallel()
	n := call("a")
	n.Timeout = 5000
	w := newFlowWorld(t, &Graph{Nodes: []Node{n}, Timeout: 60_000})
	w.settle()
	timer := w.f.Next()[len(w.f.Next())-1].(*Timer)
	if timer.At != 5000 {
		t.Fatalf("%v", w.ids())
	}
	w.do(timer)
	if w.find("halt/"+ChildID("r", "a", 1, 0, 1)+"/1") == nil {
		t.Fatalf("%v", w.ids())
	}
	if w.end("a", 0, a2a.TaskStateCanceled); w.f.Closing != a2a.TaskStateFailed || w.f.Fault.Kind != "deadline" {
		t.Errorf("%+v", w.f)
	}
	n = call("a")
	n.Loop = 10
	w = newFlowWorld(t, &Graph{Nodes: []Node{n}, Budget: Budget{Calls: 2}})
	w.settle()
	w.end("a", 0, a2a.TaskStateCompleted)
	if w.end("a", 0, a2a.TaskStateCompleted); len(w.order) != 2 || w.f.Closing != a2a.TaskStateFailed || w.f.Fault.Kind != "budget" {
		t.Errorf("%v %+v", w.order, w.f)
	}
	for _, c := range []struct {
		cost float64
		ends bool
	}{{0.99, false}, {1, true}, {1.01, true}} {
		w = newFlowWorld(t, &Graph{Nodes: []Node{n}, Budget: Budget{Cost: 2}})
		w.settle()
		for range 2 {
			_, st := w.f.Node("a")
			w.apply(&Over{Run: st.Items[0].Run, State: a2a.TaskStateCompleted, At: w.now, Usage: &orchestrator.Usage{Cost: c.cost}})
			w.settle()
		}
		if ends := w.f.Closing == a2a.TaskStateFailed && w.f.Fault.Kind == "budget"; ends != c.ends {
			t.Errorf("two calls of %v: %+v", c.cost, w.f)
		}
	}
}

func TestGraphCheck(t *testing.T) {
	t.Parallel()
	many := func(n int) *Graph {
		g := &Graph{}
		for i := range n {
			g.Nodes = append(g.Nodes, call(fmt.Sprint(i)))
		}
		return g
	}
	for name, tt := range map[string]struct {
		g  *Graph
		ok bool
	}{
		"empty":          {&Graph{}, false},
		"one":            {many(1), true},
		"all":            {many(MaxNodes), true},
		"one more":       {many(MaxNodes + 1), false},
		"twice":          {&Graph{Nodes: []Node{call("a"), call("a")}}, false},
		"nobody":         {&Graph{Nodes: []Node{call("a", "b")}}, false},
		"itself":         {&Graph{Nodes: []Node{call("a", "a")}}, false},
		"a circle":       {&Graph{Nodes: []Node{call("a", "c"), call("b", "a"), call("c", "b")}}, false},
		"deep":           {&Graph{Nodes: many(1).Nodes, Depth: MaxDepth}, true},
		"too deep":       {&Graph{Nodes: many(1).Nodes, Depth: MaxDepth + 1}, false},
		"quorum of more": {&Graph{Nodes: []Node{call("a"), {ID: "b", Kind: NodeCall, Needs: []string{"a"}, Join: JoinQuorum, Quorum: 2}}}, false},
		"quorum of none": {&Graph{Nodes: []Node{call("a"), {ID: "b", Kind: NodeCall, Needs: []string{"a"}, Join: JoinQuorum}}}, false},
		"rounds":         {&Graph{Nodes: []Node{{ID: "a", Kind: NodeCall, Loop: MaxRounds}}}, true},
		"more rounds":    {&Graph{Nodes: []Node{{ID: "a", Kind: NodeCall, Loop: MaxRounds + 1}}}, false},
		"unknown kind":   {&Graph{Nodes: []Node{{ID: "a", Kind: "x"}}}, false},
	} {
		if err := tt.g.Check(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the plan, and however its runs, answers, timers and repetitions fall: no command is issued twice once it was
// carried out, none after the end, every run that was begun ends, every ask is closed, and the whole ends within bounds.
func TestFlowModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { flowModel(t, drawGraph(t), false) })
}

// So it is where much is done, and undone.
func TestFlowModelUndoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		g.Timeout, g.Budget = 0, Budget{}
		for i := range g.Nodes {
			g.Nodes[i].OnError, g.Nodes[i].Undo = OnErrorSkip, true
		}
		flowModel(t, g, true)
	})
}

// flowModel carries a plan out as chance has it; undoes: somebody is likely to stop it once there is something to undo.
func flowModel(t *rapid.T, g *Graph, undoes bool) {
	rules := rapid.IntRange(1, Rules).Draw(t, "rules")
	w := flowWorldOf(t, g, rules)
	hangs := rules > 3 && rapid.Bool().Draw(t, "hangs") // an agent that is to undo something, until it is stopped
	did := map[string]bool{}
	stops := 0
	for step := 0; !w.f.Ended; step++ {
		if step > 5000 {
			t.Fatalf("it does not end: %v", w.ids())
		}
		cs := w.f.Next()
		var can []Command // carried out, or come to their end
		for _, c := range cs {
			if watch, ok := c.(*Watch); ok && hangs && watch.Item == UndoItem && !halted(cs, watch.Run) {
				continue
			}
			if _, halt := c.(*Halt); !halt && (!did[c.ID()] || isWatch(c)) {
				can = append(can, c)
			}
		}
		for _, a := range w.f.Asks {
			can = append(can, &answer{a.ID})
		}
		if len(can) == 0 {
			t.Fatalf("nothing more can happen, and it has not ended: %+v", w.f)
		}
		c := can[rapid.IntRange(0, len(can)-1).Draw(t, "which")]
		switch c := c.(type) {
		case *answer:
			state := rapid.SampledFrom([]orchestrator.AskState{orchestrator.AskAnswered, orchestrator.AskAnswered, orchestrator.AskDeclined}).Draw(t, "answer")
			w.apply(&Answered{Ask: c.ask, State: state})
			w.apply(&Answered{Ask: c.ask, State: state})
		case *Watch:
			if w.runs[c.Run] {
				t.Fatalf("%s is watched after its end", c.Run)
			}
			w.runs[c.Run] = true
			over := &Over{
				Run: c.Run, At: w.now, Final: rapid.Bool().Draw(t, "final"),
				State: rapid.SampledFrom([]a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled}).Draw(t, "state"),
			}
			w.apply(over)
			w.apply(over)
		case *Resolve:
			did[c.ID()] = true
			r := &Resolved{Node: c.Node, Round: c.Round, At: w.now}
			switch rapid.IntRange(0, 5).Draw(t, "content") {
			case 0:
				r.Skip = true
			case 1:
				r.Fault = &orchestrator.Fault{Kind: "expression"}
			default:
				r.Items = make([]json.RawMessage, rapid.IntRange(0, 3).Draw(t, "items"))
			}
			w.apply(r)
			w.apply(r)
		case *Begin:
			if run := ChildID("r", c.Node, c.Round, c.Item, c.Attempt); did[c.ID()] || w.has(run) {
				t.Fatalf("%s is begun twice", c.ID())
			}
			did[c.ID()] = true
			before := w.f.Calls
			w.do(c)
			if w.f.Calls == before {
				delete(w.runs, ChildID("r", c.Node, c.Round, c.Item, c.Attempt)) // the budget did not allow it
			}
			w.apply(w.log[len(w.log)-1])
		default:
			if _, timer := c.(*Timer); !timer {
				did[c.ID()] = true
			}
			w.do(c)
		}
		seldom := 60
		if undoes && stops == 0 && w.f.doneToUndo() {
			seldom = 2
		}
		if stops < 2 && rapid.IntRange(0, seldom).Draw(t, "stop") == 0 {
			stops++
			w.apply(&Stopping{})
		}
		w.late(t)
		for _, a := range w.f.Asks {
			if _, st := w.f.Node(a.Step); st.State != NodeApproving || w.f.Closing != a2a.TaskStateUnspecified {
				t.Fatalf("ask %s is open, and its step is %q", a.ID, st.State)
			}
		}
		for _, c := range w.f.Next() {
			if did[c.ID()] && !isWatch(c) {
				t.Fatalf("%s follows again", c.ID())
			}
		}
	}
	if len(w.f.Next()) != 0 || len(w.f.Asks) != 0 {
		t.Fatalf("after the end: %v, %v", w.ids(), w.f.Asks)
	}
	for run, over := range w.runs {
		if !over {
			t.Fatalf("%s goes on after the end", run)
		}
	}
	if w.f.Calls > w.f.Graph.maxCalls() || w.f.Calls != len(w.runs) {
		t.Fatalf("%d calls counted, %d runs begun", w.f.Calls, len(w.runs))
	}
	again := NewFlow()
	again.Rules = rules
	for _, b := range w.log {
		again.Apply(b)
	}
	one, _ := json.Marshal(w.f)
	if two, _ := json.Marshal(again); string(one) != string(two) {
		t.Fatalf("folded again it is another:\n%s\n%s", one, two)
	}
}

// late applies an event of before once more, which must change nothing. A second stop means something.
func (w *flowWorld) late(t *rapid.T) {
	b := w.log[rapid.IntRange(0, len(w.log)-1).Draw(t, "late")]
	if _, stop := b.(*Stopping); stop {
		return
	}
	before, _ := json.Marshal(w.f)
	events := w.f.Events
	w.f.Apply(b)
	w.f.Events = events
	if after, _ := json.Marshal(w.f); string(before) != string(after) {
		t.Fatalf("%T, repeated late, made of\n%s\nthis:\n%s", b, before, after)
	}
}

func (w *flowWorld) has(run string) bool {
	_, ok := w.runs[run]
	return ok
}

type answer struct{ ask string }

func (a *answer) ID() string { return "answer/" + a.ask }

// doneToUndo reports whether a node is done that can be undone.
func (f *Flow) doneToUndo() bool {
	for i := range f.Nodes {
		if f.Nodes[i].State == NodeDone && f.Graph.Nodes[i].Undo {
			return true
		}
	}
	return false
}

// halted reports whether a run is to be stopped.
func halted(cs []Command, run string) bool {
	return slices.ContainsFunc(cs, func(c Command) bool {
		h, ok := c.(*Halt)
		return ok && h.Run == run
	})
}

func isWatch(c Command) bool {
	_, ok := c.(*Watch)
	return ok
}

func drawGraph(t *rapid.T) *Graph {
	g := &Graph{Budget: Budget{Calls: rapid.SampledFrom([]int{0, 1, 5, 20}).Draw(t, "calls")}, Timeout: rapid.SampledFrom([]int64{0, 10, 5000}).Draw(t, "timeout")}
	count := rapid.IntRange(1, 7).Draw(t, "nodes")
	for i := range count {
		n := Node{
			ID: fmt.Sprintf("n%d", i), Kind: rapid.SampledFrom([]NodeKind{NodeCall, NodeCall, NodeAsk, NodeNone}).Draw(t, "kind"),
			Join:     rapid.SampledFrom([]Join{JoinAll, JoinAll, JoinAny, JoinCollect, JoinQuorum}).Draw(t, "join"),
			OnError:  rapid.SampledFrom([]OnError{OnErrorFail, OnErrorSkip, OnErrorFallback}).Draw(t, "onError"),
			Approve:  rapid.IntRange(0, 4).Draw(t, "approve") == 0,
			Loop:     rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(t, "loop"),
			Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"),
			Backoff:  rapid.SampledFrom([]int64{0, 1, 1000}).Draw(t, "backoff"),
			Timeout:  rapid.SampledFrom([]int64{0, 0, 100}).Draw(t, "deadline"),
			Parallel: rapid.IntRange(0, 2).Draw(t, "parallel"),
			Undo:     rapid.Bool().Draw(t, "undo"),
		}
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
				n.Needs = append(n.Needs, fmt.Sprintf("n%d", j))
			}
		}
		if n.Join == JoinQuorum {
			if n.Quorum = len(n.Needs); n.Quorum == 0 {
				n.Join = JoinAll
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}
