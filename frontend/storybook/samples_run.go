package storybook

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"parley/frontend/view"
	"parley/orchestrator"
)

// runSamples are the parts of runs and of workflows.
func runSamples() []Sample {
	began := now.Add(-3 * time.Minute)
	states := []string{"done", "running", "approving", "failed", "canceled", "skipped", "waiting"}
	st := func(s string) view.State { return view.StepState(ctx, &orchestrator.PlanNode{State: s}) }
	refused := &view.Fault{Title: "The agent did not answer", What: "scan.harbor.example refused the connection."}

	graph := view.Graph{W: 425, H: 208, Label: "Gather; Write, Check; Publish"}
	for i, s := range states {
		n := view.GraphNode{X: 1 + i%3*140, Y: 1 + i/3*68, W: 132, H: 44, Title: "Step " + strconv.Itoa(i+1), Full: "Step " + strconv.Itoa(i+1) + " of the plan", Sub: "Atlas Research", State: st(s)}
		if i%2 == 0 {
			n.Flag, n.Href = &atlas.Flag, "#step-"+strconv.Itoa(i)
		}
		if i > 2 {
			graph.Edges = append(graph.Edges, view.GraphEdge{D: "M" + strconv.Itoa(n.X+66) + " " + strconv.Itoa(n.Y-24) + "V" + strconv.Itoa(n.Y), Todo: s == "waiting"})
		}
		graph.Nodes = append(graph.Nodes, n)
	}
	deep := view.Step{
		ID: "step-deep", Title: "Compare", Detail: "Round 2", State: st("running"), Since: began, Opened: true,
		Kids: []view.Step{
			{Title: "Item 1", Detail: "attempt 2", Flag: &atlas.Flag, Agent: atlas.Name, State: st("done"), Took: "0:41", Text: "Pebble is faster.", Kids: []view.Step{
				{Title: "Check", Flag: &quill.Flag, Agent: quill.Name, State: st("failed"), Took: "0:02", Fault: refused, Retry: "/runs/r1/steps/c/retry", Links: []view.Link{{Label: "Task", Href: "/tasks/c"}, {Label: "Wire", Href: "/wire?run=c"}}},
			}},
			{Title: "Item 2", State: st("waiting")},
		},
	}
	bars := view.Bars{
		Whole: 3 * time.Minute,
		Usage: "2 calls reported 1234 tokens", Marks: []view.BarMark{{X: 0, Text: "0:00"}, {X: 50, Text: "1:30"}},
		Lines: []view.BarLine{
			{Title: "Gather", Took: "1:10", Parts: []view.BarPart{{X: 0, W: 12, Class: "is-fail", Word: "Failed"}, {X: 14, W: 25, Class: "is-done", Word: "Done"}}},
			{Title: "Write", Since: began, Parts: []view.BarPart{{X: 39, W: 61, Since: began, Class: "is-work", Word: "Working"}}},
		},
	}
	done, failed := st("done"), st("failed")
	problems := view.Lint{
		Problems: []orchestrator.WorkflowProblem{{Line: 3, Column: 7, What: "there is no step `x`", Do: "write `a`"}, {Line: 9, Column: 1, What: "`when` is no formula"}},
		Unknown:  []string{"nobody"},
	}
	last := view.WorkflowRun{ID: "r1", Title: "Tide tables", State: done, At: now.Add(-time.Hour), Took: "2:31", Href: "/c/c1?run=r1"}
	parts := view.RunParts{
		Head: drawn(view.RunHeadBox(view.RunHead{RunID: "r1", Name: "Research", State: st("running"), Since: began, Steps: 7, Done: 1, Open: true}, now)), Graph: drawn(view.RunGraph(graph)),
		Steps: drawn(view.StepItem(deep, now)), Fall: drawn(view.RunFall(bars, now)), Arts: drawn(view.RunArtifacts(nil)),
	}
	return []Sample{
		{"run-head", view.RunHeadBox(view.RunHead{RunID: "r1", Name: "Research", State: st("running"), Since: began, Steps: 7, Done: 1, Asking: 2, Open: true}, now)},
		{"run-head-done", view.RunHeadBox(view.RunHead{
			RunID: "r1", State: done, Took: "2:31", Steps: 2, Done: 2, Again: true,
			Outputs: []view.Output{{Name: "report", HTML: "<p>Pebble is <strong>faster</strong>.</p>"}, {Name: "figures", Text: `{"pebble": 41200}`}},
		}, now)},
		{"run-head-failed", view.RunHeadBox(view.RunHead{RunID: "r1", State: failed, Took: "0:04", Steps: 3, Done: 1, Fault: refused, Again: true}, now)},
		{"run-graph", view.RunGraph(graph)},
		{"run-graph-none", view.RunGraph(view.Graph{})},
		{"run-step", view.StepItem(view.Step{ID: "step-a", Title: "Gather", Flag: &atlas.Flag, Agent: atlas.Name, State: done, Took: "1:10", Text: "Three sources.", Data: `{"n": 3}`, Opened: true, Links: []view.Link{{Label: "Task", Href: "/tasks/r1a"}}}, now)},
		{"run-step-working", view.StepItem(view.Step{ID: "step-b", Title: "Write", Flag: &quill.Flag, Agent: quill.Name, State: st("running"), Since: began, Stop: "/runs/r1/steps/b/stop", Opened: true}, now)},
		{"run-step-asking", view.StepItem(view.Step{ID: "step-c", Title: "Publish", State: st("approving"), Since: began, Ask: "/inbox?ask=a1", Opened: true}, now)},
		{"run-step-failed", view.StepItem(view.Step{ID: "step-d", Title: "Scan", Detail: "attempt 3", State: failed, Took: "0:04", Fault: refused, Retry: "/runs/r1/steps/d/retry", Opened: true}, now)},
		{"run-step-nested", view.StepItem(deep, now)},
		{"run-timeline", view.RunFall(bars, now)},
		{"run-timeline-none", view.RunFall(view.Bars{}, now)},
		{"run-artifacts", view.RunArtifacts([]view.RunArtifact{{Name: "stores.csv", Detail: "CSV, 2 rows", Href: "/runs/r1a/artifacts/x/0", Step: "Gather"}})},
		{"run-panel-wire", view.RunPanel(view.Run{ID: "r1", Tab: "wire", Title: "Research", Chat: "/c/c1", Wire: "/wire?run=r1", Parts: view.RunParts{Wire: drawn(view.RunWireLine(view.WireRow{
			ID: 7, At: began, Method: "GetTask", Speaker: view.Speaker{Name: atlas.Name, Flag: atlas.Flag}, Result: "refused", Failed: true, Took: 40 * time.Millisecond, Href: "/wire?run=r1&id=7",
		}, 3))}})},
		{"run-panel-wire-none", view.RunPanel(view.Run{ID: "r1", Tab: "wire", Title: "Research", Chat: "/c/c1", Wire: "/wire?run=r1", Parts: view.RunParts{Wire: drawn(view.RunWireNone())}})},
		{"run-panel", view.RunPanel(view.Run{ID: "r1", Title: "Research", Chat: "/c/c1", Wire: "/wire?run=r1", Parts: parts})},
		{"workflow-row", view.WorkflowRow(view.WorkflowItem{ID: "publish", Name: "Research and publish", Text: "Finds, writes, asks, publishes", Steps: 4, Exposed: true, Last: &last})},
		{"workflow-row-broken", view.WorkflowRow(view.WorkflowItem{ID: "broken", Name: "Broken", Problem: "Line 3: there is no step x"})},
		{"workflow-none", view.WorkflowNone()},
		{"workflow-lint", view.LintBox(problems)},
		{"workflow-lint-none", view.LintBox(view.Lint{})},
		{"workflow-picture", view.WorkflowPicture(graph, []view.Fact{{Name: "At most", Text: "20 steps"}, {Name: "Results", Text: "report"}})},
		{"workflow-form", view.WorkflowRunForm(view.WorkflowForm{ID: "publish", Form: form(), Err: "At least 3 characters, please."})},
		{"workflow-form-unsaved", view.WorkflowRunForm(view.WorkflowForm{})},
		{"workflow-form-wait", view.WorkflowRunForm(view.WorkflowForm{ID: "publish", Wait: true})},
		{"workflow-run", view.WorkflowRunRow(last, now)},
		{"workflow-run-none", view.WorkflowRunNone()},
		{"workflow-compared", view.ComparedTable([]view.ComparedRow{
			{Name: "Gather", Same: true, A: view.ComparedCell{State: &done, Took: "1:10"}, B: view.ComparedCell{State: &done, Took: "1:12"}},
			{Name: "Write", A: view.ComparedCell{State: &done, Took: "0:41", Text: "Pebble."}, B: view.ComparedCell{State: &failed, Took: "0:02"}},
		})},
		{"shortcuts", view.KeysSheet()},
	}
}

// drawn is a component as the text that a page is put together from.
func drawn(c templ.Component) string {
	var b strings.Builder
	_ = c.Render(context.Background(), &b) // a builder takes all
	return b.String()
}
