package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// office is where plans and workflows are, for the pages.
type office struct {
	mu       sync.Mutex
	plans    map[string]*orchestrator.Plan
	kept     []*orchestrator.Workflow
	runs     []*orchestrator.Run
	problems []orchestrator.WorkflowProblem
	launched []*orchestrator.Launch
	steered  []string
}

func (o *office) Launch(_ context.Context, l *orchestrator.Launch) (*orchestrator.Run, error) {
	o.launched = append(o.launched, l)
	return &orchestrator.Run{ID: "r9", ConversationID: "c9"}, nil
}

func (o *office) Plan(_ context.Context, run string) (*orchestrator.Plan, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.plans[run]; p != nil {
		c := *p
		return &c, nil
	}
	return nil, orchestrator.ErrNotFound
}

func (o *office) FollowPlan(context.Context, string) iter.Seq2[*orchestrator.Plan, error] { return nil }

func (o *office) StopStep(_ context.Context, run, node string) error {
	o.steered = append(o.steered, "stop "+run+" "+node)
	return nil
}

func (o *office) RetryStep(ctx context.Context, run, node string) (*orchestrator.Run, error) {
	o.steered = append(o.steered, "retry "+run+" "+node)
	p, err := o.Plan(ctx, run)
	if err != nil {
		return nil, err
	}
	if !p.Ended.IsZero() {
		run += "-again"
	}
	return &orchestrator.Run{ID: run, ConversationID: p.ConversationID}, nil
}

func (o *office) Workflows(context.Context) ([]*orchestrator.Workflow, error) { return o.kept, nil }

func (o *office) Workflow(_ context.Context, id string) (*orchestrator.Workflow, error) {
	for _, w := range o.kept {
		if w.ID == id {
			return w, nil
		}
	}
	return nil, orchestrator.ErrNotFound
}

func (o *office) Runs(context.Context, string, string, int) ([]*orchestrator.Run, error) {
	return o.runs, nil
}

func (o *office) Check(_ context.Context, source []byte) *orchestrator.WorkflowCheck {
	c := &orchestrator.WorkflowCheck{
		Name: "Publish", Description: "Writes & publishes", Problems: o.problems,
		Inputs: json.RawMessage(`{"type":"object","properties":{"topic":{"type":"string","minLength":3}},"required":["topic"]}`),
		Nodes: []orchestrator.PlanNode{
			{ID: "a", Title: "Gather", Kind: "call", AgentID: "atlas"},
			{ID: "b", Title: "<b>Write</b>", Kind: "call", AgentID: "nobody", Needs: []string{"a"}, Approve: true},
		},
	}
	if strings.Contains(string(source), "broken") {
		c.Problems = []orchestrator.WorkflowProblem{{Line: 3, Column: 7, What: "there is no step `x`", Do: "write `a`"}}
	}
	return c
}

func (o *office) Save(_ context.Context, id string, source []byte, expose bool) (*orchestrator.Workflow, error) {
	if strings.Contains(string(source), "nameless") {
		return nil, &orchestrator.Fault{Kind: "workflow", Where: orchestrator.WhereUs, What: "The file has no name."}
	}
	if id == "" {
		id = "made"
	}
	w := &orchestrator.Workflow{ID: id, Name: "Publish", Source: source, Exposed: expose, Updated: clock}
	o.kept = append(o.kept, w)
	return w, nil
}

func (o *office) Remove(_ context.Context, id string) error {
	o.kept = nil
	return nil
}

func plan() *orchestrator.Plan {
	return &orchestrator.Plan{
		RunID: "r1", ConversationID: "c1", Name: "Publish", State: a2a.TaskStateWorking, Began: clock.Add(-2 * time.Minute),
		Nodes: []orchestrator.PlanNode{
			{
				ID: "a", Title: "Gather <i>facts</i>", Kind: "call", AgentID: "atlas", State: "done", Round: 1, Text: "<script>alert(1)</script>",
				Began: clock.Add(-2 * time.Minute), Ended: clock.Add(-time.Minute), Calls: []orchestrator.PlanCall{
					{RunID: "r1a", AgentID: "atlas", Round: 1, Attempt: 1, State: a2a.TaskStateFailed, Began: clock.Add(-2 * time.Minute), Ended: clock.Add(-100 * time.Second)},
					{
						RunID: "r1b", AgentID: "atlas", Round: 1, Attempt: 2, State: a2a.TaskStateCompleted, Began: clock.Add(-90 * time.Second), Ended: clock.Add(-time.Minute),
						Usage:     &orchestrator.Usage{InputTokens: 1200, OutputTokens: 34},
						Artifacts: []orchestrator.ArtifactData{{ArtifactID: "x/1", Name: "Table", Parts: []orchestrator.PartInfo{{Kind: "raw", Filename: "rows.csv", MediaType: "text/csv"}}}},
					},
				},
			},
			{
				ID: "b", Title: "Write", Kind: "call", AgentID: "quill", Needs: []string{"a"}, State: "running", Round: 1, CanStop: true,
				Began: clock.Add(-time.Minute), Calls: []orchestrator.PlanCall{{RunID: "r1c", AgentID: "quill", Round: 1, Attempt: 1, State: a2a.TaskStateWorking, Began: clock.Add(-time.Minute)}},
			},
			{ID: "c", Title: "Agree", Kind: "ask", Needs: []string{"b"}, State: "waiting"},
		},
	}
}

func (o *office) world(t *testing.T) *world {
	w := newWorld(t, &Options{Planner: o, Library: o})
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Publish something", RunID: "r1"})
	w.write(&orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "r1", Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal, ConversationID: "c1", ContextID: "c1",
		State: a2a.TaskStateWorking, Created: clock, Updated: clock,
	}}})
	return w
}

func TestRun(t *testing.T) {
	t.Parallel()
	o := &office{plans: map[string]*orchestrator.Plan{"r1": plan()}}
	w := o.world(t)
	p := w.get("/runs/r1").want(t, 200, "1 of 3 steps done", "Gather <i>facts", "Item 1", "attempt 2", "rows.csv", "Stop step", "1 call reported 1234 tokens",
		"A question to you", "Stop run")
	has(t, p.body, `href="/runs/r1b/artifacts/x%2F1/0"`, `href="/wire?run=r1b"`, `href="#step-b"`)
	if strings.Contains(p.body, "<script>alert") || strings.Contains(p.body, "<i>facts") {
		t.Error("what an agent wrote is not escaped")
	}
	// The chat says that there is a run, and opens it beside itself.
	has(t, w.get("/c/c1").want(t, 200).body, `href="/c/c1?run=r1#run-panel"`)
	has(t, w.get("/c/c1?run=r1").want(t, 200, "Gather <i>facts").body, `id="run-panel"`, `data-board="/runs/r1"`)
	// What a step said names the step.
	w.write(&orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "r1b", Scope: stepScope + "r1", Principal: orchestrator.LocalPrincipal, ConversationID: "c1", ContextID: "c1", State: a2a.TaskStateCompleted, Created: clock, Updated: clock,
	}}})
	w.write(&orchestrator.Batch{Items: []*orchestrator.Item{{ConversationID: "c1", RunID: "r1b", Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Found it.", At: clock}}})
	has(t, w.get("/c/c1").want(t, 200, "Step: Gather <i>facts").body, `href="/c/c1?run=r1#run-panel">Step: Gather &lt;i&gt;facts`)
	// Only its own chat does.
	w.chatWith("c2", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Another"})
	if p := w.get("/c/c2?run=r1").want(t, 200); strings.Contains(p.body, "run-panel") {
		t.Error("a run stands beside another chat")
	}
	w.post("/runs/r1/steps/b/stop", nil).want(t, 303)
	w.post("/runs/r1/steps/a/retry", nil).want(t, 303)
	if got := fmt.Sprint(o.steered); got != "[stop r1 b retry r1 a]" {
		t.Errorf("steered %s", got)
	}
	// What is begun anew stands beside the chat in place of what is over; without a plan nothing does.
	if r := w.post("/runs/r1/retry", nil); r.StatusCode != 303 || r.Header.Get("Location") != "/c/c1" {
		t.Errorf("again, without a plan: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	over := plan()
	over.State, over.Ended, over.Nodes[1].State, over.Nodes[1].CanStop, over.Nodes[1].CanRetry = a2a.TaskStateFailed, clock, "failed", false, true
	o.mu.Lock()
	o.plans["r1"], o.plans["r-again"] = over, plan()
	o.mu.Unlock()
	if r := w.post("/runs/r1/retry", nil); r.StatusCode != 303 || r.Header.Get("Location") != "/c/c1?run=r-again" {
		t.Errorf("again: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	// A step that failed is tried again, also when its plan is over, and what it goes on as stands beside the chat then; one
	// that was done is not.
	body := w.get("/runs/r1").want(t, 200, "Run again").body
	if has(t, body, `action="/runs/r1/steps/b/retry"`); strings.Contains(body, "/steps/a/retry") {
		t.Error("a step that was done can be tried again")
	}
	o.mu.Lock()
	o.plans["r1-again"] = plan()
	o.mu.Unlock()
	if r := w.post("/runs/r1/steps/b/retry", nil); r.StatusCode != 303 || r.Header.Get("Location") != "/c/c1?run=r1-again" {
		t.Errorf("a step again: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	// In the transcript it is the step, too.
	end, _ := json.Marshal(orchestrator.EndData{State: string(a2a.TaskStateFailed), Fault: &orchestrator.Fault{Kind: orchestrator.FaultDeclined, What: "Step b was declined."}})
	w.write(&orchestrator.Batch{Items: []*orchestrator.Item{{ConversationID: "c1", RunID: "r1", Kind: orchestrator.ItemEnd, AgentID: orchestrator.OwnAgent, Data: end, At: clock}}})
	if body := w.get("/c/c1").want(t, 200, "You said no").body; strings.Contains(body, `action="/runs/r1/retry"`) {
		t.Error("a no to one step has all of them done again")
	} else {
		has(t, body, `action="/runs/r1/steps/b/retry"`)
	}
	// A run without a plan is a task, and nothing more.
	if r := w.get("/runs/r0"); r.StatusCode != 303 || r.Header.Get("Location") != "/tasks/r0" {
		t.Errorf("without a plan: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
}

// TestRunWire: what a run with a plan had on the wire is what its steps had, those of a plan within it too.
func TestRunWire(t *testing.T) {
	t.Parallel()
	outer, inner := plan(), plan()
	outer.Nodes[1].Calls[0].Planned = true
	inner.Nodes = inner.Nodes[:1]
	inner.Nodes[0].Calls = []orchestrator.PlanCall{{RunID: "deep"}}
	o := &office{plans: map[string]*orchestrator.Plan{"r1": outer, "r1c": inner}}
	w := o.world(t)
	wire := &wireMemory{}
	w.wire = wire
	for _, run := range []string{"r1b", "deep", "stranger"} {
		wire.RecordWire(&orchestrator.WireRecord{RunID: run, Peer: "atlas", Method: "of-" + run, Status: 200, At: clock})
	}
	for at, want := range map[string]string{"r1": "of-r1b of-deep", "r1b": "of-r1b", "stranger": "of-stranger", "r1a": ""} {
		rows := w.get("/wire?run="+at).want(t, 200).body
		_, rows, _ = strings.Cut(rows, `id="wire-rows"`)
		file := w.get("/wire/export.json?run="+at).want(t, 200).body
		for _, m := range []string{"of-r1b", "of-deep", "of-stranger"} {
			if is := strings.Contains(want, m); strings.Contains(rows, m) != is || strings.Contains(file, m) != is {
				t.Errorf("%s of run %s: in the list %v, in the file %v, want %v", m, at, strings.Contains(rows, m), strings.Contains(file, m), is)
			}
		}
		if want == "" {
			has(t, rows, "No request matches")
		}
	}
}

// TestRunWireTab: the panel lists what the run had on the wire, each linked to its record, and stays live by that.
func TestRunWireTab(t *testing.T) {
	t.Parallel()
	o := &office{plans: map[string]*orchestrator.Plan{"r1": plan()}}
	w := o.world(t)
	p := w.get("/c/c1?run=r1&tab=wire").want(t, 200, "1 of 3 steps done") // nothing is recorded here
	has(t, p.body, `data-board="/runs/r1"`)
	wire := &wireMemory{}
	w.wire = wire
	p = w.get("/c/c1?run=r1&tab=wire").want(t, 200, "No requests yet", "Open in Wire")
	has(t, p.body, `data-board="/runs/r1?tab=wire"`, `href="/wire?run=r1"`, `href="/c/c1?run=r1#run-panel"`)
	wire.RecordWire(&orchestrator.WireRecord{RunID: "r1b", Peer: "atlas", Method: "of-r1b", Status: 200, At: clock})
	wire.RecordWire(&orchestrator.WireRecord{RunID: "stranger", Peer: "atlas", Method: "of-stranger", Status: 200, At: clock})
	p = w.get("/c/c1?run=r1&tab=wire").want(t, 200, "of-r1b", "Atlas Research")
	if has(t, p.body, `href="/wire?id=1&amp;run=r1"`); strings.Contains(p.body, "of-stranger") || strings.Contains(p.body, "run-graph") {
		t.Error("the tab shows more than the requests of its run")
	}
	b, err := w.runBoard(t.Context(), "r1", url.Values{"tab": {wireTab}})
	if err != nil || b.poll(t.Context()) != b.polled {
		t.Fatalf("out of date at once: %v", err)
	}
	wire.RecordWire(&orchestrator.WireRecord{RunID: "r1c", Peer: "atlas", Method: "of-r1c", Status: 200, At: clock})
	if b.poll(t.Context()) == b.polled {
		t.Error("a new request goes unnoticed")
	}
}

// TestRunVersions has a clock go on: what did not change is not sent again, and what did is.
func TestRunVersions(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[time.Time]
	now.Store(&clock)
	o := &office{plans: map[string]*orchestrator.Plan{"r1": plan()}}
	w := newWorld(t, &Options{Planner: o, Library: o, Now: func() time.Time { return *now.Load() }})
	draw := func() *board {
		b, err := w.runBoard(w.Context(), "r1", nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := draw()
	due := func(d time.Duration) bool {
		later := now.Load().Add(d)
		now.Store(&later)
		return first.poll(t.Context()) != first.polled
	}
	// The plan has gone on for 2:00, on an axis of 5:00.
	if due(3*time.Minute - time.Nanosecond) {
		t.Error("nothing happened, and it is to be drawn again")
	}
	if ops := draw().since(first.seen()); len(ops) != 0 {
		t.Errorf("nothing happened, and it is drawn again: %v", ops)
	}
	if !due(time.Nanosecond) {
		t.Error("the axis is too short, and stays")
	}
	if ops := draw().since(first.seen()); len(ops) != 1 || ops[0][1] != "run-fall" {
		t.Errorf("of a longer axis is drawn: %v", ops)
	}
	now.Store(&clock)
	o.mu.Lock()
	o.plans["r1"].Nodes[1].State = "done"
	o.plans["r1"].Nodes[1].Ended = clock
	o.mu.Unlock()
	var ids []string
	for _, op := range draw().since(first.seen()) {
		ids = append(ids, op[1])
	}
	if got := strings.Join(ids, " "); got != "run-head run-graph run-fall step-b" {
		t.Errorf("one step ended: drawn again %s", got)
	}
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	o := &office{plans: map[string]*orchestrator.Plan{"r1": plan(), "r2": plan()}}
	w := o.world(t)
	w.get("/workflows").want(t, 200, "No workflow is kept yet")
	w.get("/workflows/new").want(t, 200, "Save it first", "steps.first.text")
	w.post("/workflows/new", url.Values{"source": {"nameless"}}).want(t, 422, "The file has no name.", "nameless")
	if r := w.post("/workflows/new", url.Values{"source": {"name: Publish\r\n"}, "expose": {"1"}}); r.StatusCode != 303 || r.Header.Get("Location") != "/workflows/made" {
		t.Errorf("saved: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	if got := o.kept[0]; string(got.Source) != "name: Publish\n" || !got.Exposed {
		t.Errorf("kept %q, %v", got.Source, got.Exposed)
	}
	w.get("/workflows").want(t, 200, "Publish", "2 steps", "Skill")
	w.get("/workflows/made").want(t, 200, "Writes & publishes", "No approved agent is called nobody.", "<b>Write", "Topic", "Asks you")
	w.get("/workflows/none").want(t, 404)
	// While it is written.
	has(t, w.post("/workflows/check", url.Values{"source": {"broken"}}).want(t, 200, `Line 3: there is no step`).body, `data-column=\"7\"`)
	w.post("/workflows/check", url.Values{"source": {strings.Repeat("x", maxSource)}}).want(t, 200)
	w.post("/workflows/check", url.Values{"source": {strings.Repeat("x", maxSource+1)}}).want(t, 400)
	// A run, with inputs that fit and that do not.
	w.post("/workflows/made/run", url.Values{"d/topic": {"no"}}).want(t, 422, "At least 3 characters")
	if r := w.post("/workflows/made/run", url.Values{"d/topic": {"tides"}, "preview": {"1"}}); r.StatusCode != 303 || r.Header.Get("Location") != "/c/c9?run=r9" {
		t.Errorf("run: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	if len(o.launched) != 1 || o.launched[0].Workflow != "made" || string(o.launched[0].Inputs["topic"]) != `"tides"` || !o.launched[0].Preview {
		t.Errorf("launched %+v", o.launched)
	}
	// Two runs side by side.
	w.get("/workflows/made/compare").want(t, 200, "no two runs")
	o.runs = []*orchestrator.Run{{ID: "r2", Created: clock, State: a2a.TaskStateWorking}, {ID: "r1", Created: clock, State: a2a.TaskStateWorking}}
	if p := w.get("/workflows/made/compare").want(t, 200, "The whole run", "Today, 14:05:00, Working"); strings.Contains(p.body, "differs") {
		t.Error("the same run differs from itself")
	}
	o.plans["r2"].Nodes[1].State = "failed"
	w.get("/workflows/made/compare?a=r1&b=r2").want(t, 200, "differs", "Failed")
	// What somebody said no to did not fail for them, as a whole and as a call, here and in the list.
	no := &orchestrator.Fault{Kind: orchestrator.FaultDeclined, What: "It was declined."}
	o.plans["r2"].State, o.plans["r2"].Ended, o.plans["r2"].Fault, o.plans["r2"].Nodes[1].Fault = a2a.TaskStateFailed, clock, no, no
	o.plans["r2"].Nodes[0].Calls[0].Fault = no
	o.runs[0].State = a2a.TaskStateFailed
	for _, path := range []string{"/workflows/made/compare?a=r1&b=r2", "/workflows/made"} {
		if p := w.get(path).want(t, 200, "You said no"); strings.Contains(p.body, "Failed") {
			t.Errorf("%s says that it failed", path)
		}
	}
	w.get("/workflows/made/compare?a=r1&b=r7").want(t, 404)
	w.post("/workflows/made/remove", nil).want(t, 303)
	w.get("/workflows").want(t, 200, "No workflow is kept yet")
}

// TestGraph draws plans of every shape: each step once, inside the picture, below what it needs.
func TestGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	circle := []orchestrator.PlanNode{{ID: "a", Needs: []string{"b"}}, {ID: "b", Needs: []string{"a"}}, {ID: "c", Needs: []string{"gone", "c"}}}
	wide := make([]orchestrator.PlanNode, 40)
	for i := range wide {
		wide[i].ID = fmt.Sprint("n", i)
		if i > 0 && i%7 == 0 {
			wide[i].Needs = []string{fmt.Sprint("n", i-1)}
		}
	}
	for _, nodes := range [][]orchestrator.PlanNode{nil, plan().Nodes, circle, wide} {
		g := w.drawGraph(t.Context(), nodes, func(string) string { return "" })
		if len(g.Nodes) != len(nodes) {
			t.Fatalf("%d of %d steps", len(g.Nodes), len(nodes))
		}
		for i, n := range g.Nodes {
			if n.X < 0 || n.X+n.W > g.W || n.Y < 0 || n.Y+n.H > g.H {
				t.Errorf("step %d stands outside: %+v of %dx%d", i, n, g.W, g.H)
			}
			for j, m := range g.Nodes[:i] {
				if n.X < m.X+m.W && m.X < n.X+n.W && n.Y < m.Y+m.H && m.Y < n.Y+n.H {
					t.Errorf("steps %d and %d stand on each other", j, i)
				}
			}
		}
	}
	g := w.drawGraph(t.Context(), plan().Nodes, func(string) string { return "" })
	if !(g.Nodes[0].Y < g.Nodes[1].Y && g.Nodes[1].Y < g.Nodes[2].Y) || len(g.Edges) != 2 {
		t.Errorf("drawn as %+v", g)
	}
}

// has looks for HTML.
func has(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(body, p) {
			t.Errorf("there is no %s", p)
		}
	}
}
