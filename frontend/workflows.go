package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

// What the pages of workflows take and show.
const (
	maxSource = 1 << 20 // bytes of a file
	runsShown = 20      // of a workflow's history
)

// newSource is what a new workflow begins with.
const newSource = `name: My workflow
description: Says what it is for
inputs:
  topic:
    type: string
    description: What it is about
steps:
  - id: first
    name: First step
    agent: writer
    message: Write about ${{ inputs.topic }}
outputs:
  text: ${{ steps.first.text }}
`

// workflowsBoard draws the list of workflows, or the runs of one.
func (s *Site) workflowsBoard(ctx context.Context, id string, _ url.Values) (*board, error) {
	var all []*orchestrator.Workflow
	if s.opts.Library != nil {
		if id != "" {
			return s.workflowRuns(ctx, id)
		}
		var err error
		if all, err = s.opts.Library.Workflows(ctx); err != nil {
			return nil, err
		}
	}
	list := section{id: "workflow-rows"}
	for _, w := range all {
		check := s.opts.Library.Check(ctx, w.Source)
		v := view.WorkflowItem{ID: w.ID, Name: cmp.Or(w.Name, w.ID), Text: w.Description, Steps: len(check.Nodes), Exposed: w.Exposed}
		if len(check.Problems) > 0 {
			v.Problem = strings.ReplaceAll(view.Tv(ctx, check.Problems[0].What), "`", "")
		}
		if runs, err := s.opts.Library.Runs(ctx, w.ID, "", 1); err == nil && len(runs) > 0 {
			last := s.workflowRun(ctx, runs[0])
			v.Last = &last
		}
		list.rows = append(list.rows, newRow(ctx, "wf-"+w.ID, view.WorkflowRow(v)))
	}
	if len(all) == 0 {
		list.rows = append(list.rows, newRow(ctx, "wf-none", view.WorkflowNone()))
	}
	return &board{sections: []section{list}}, nil
}

// newFlows is how many workflows are offered where a chat begins.
const newFlows = 3

// flowTiles are the workflows to run that were changed last.
func (s *Site) flowTiles(ctx context.Context) ([]view.FlowTile, error) {
	if s.opts.Library == nil || s.opts.Planner == nil {
		return nil, nil
	}
	all, err := s.opts.Library.Workflows(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *orchestrator.Workflow) int { return b.Updated.Compare(a.Updated) })
	var tiles []view.FlowTile
	for _, w := range all {
		if len(tiles) < newFlows && len(s.opts.Library.Check(ctx, w.Source).Problems) == 0 {
			tiles = append(tiles, view.FlowTile{ID: w.ID, Name: cmp.Or(w.Name, w.ID), Text: w.Description})
		}
	}
	return tiles, nil
}

func (s *Site) workflowRuns(ctx context.Context, id string) (*board, error) {
	list := section{id: "workflow-runs"}
	if id != "new" {
		runs, err := s.opts.Library.Runs(ctx, id, "", runsShown)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			list.rows = append(list.rows, newRow(ctx, "wr-"+r.ID, view.WorkflowRunRow(s.workflowRun(ctx, r), s.now())))
		}
	}
	if len(list.rows) == 0 {
		list.rows = append(list.rows, newRow(ctx, "wr-none", view.WorkflowRunNone()))
	}
	return &board{sections: []section{list}}, nil
}

func (s *Site) workflowRun(ctx context.Context, r *orchestrator.Run) view.WorkflowRun {
	v := view.WorkflowRun{
		ID: r.ID, Title: cmp.Or(s.taskTitle(ctx, r), r.ID), State: s.runState(ctx, r), At: r.Created.In(s.now().Location()),
		Href: "/runs/" + url.PathEscape(r.ID),
	}
	if r.ConversationID != "" {
		if title, _ := s.chatTitle(ctx, r.ConversationID); title != "" {
			v.Title = title
		}
		v.Href = "/c/" + url.PathEscape(r.ConversationID) + "?run=" + url.QueryEscape(r.ID)
	}
	if r.State.Terminal() {
		v.Took = view.Spent(r.Updated.Sub(r.Created))
	}
	return v
}

// workflowsPage lists the workflows.
func (s *Site) workflowsPage(w http.ResponseWriter, r *http.Request) error {
	b, err := s.workflowsBoard(r.Context(), "", nil)
	if err != nil {
		return err
	}
	p := s.page(r, view.T(r.Context(), "Workflows"), view.Side{Section: "workflows"})
	return s.write(w, r, http.StatusOK, view.WorkflowsPage(p, b.find("workflow-rows"), s.opts.Library != nil))
}

// newWorkflow is where a workflow begins.
func (s *Site) newWorkflow(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil {
		return errNoPage
	}
	return s.showWorkflow(w, r, http.StatusOK, &orchestrator.Workflow{Source: []byte(newSource)}, nil)
}

func (s *Site) workflowPage(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil {
		return errNoPage
	}
	kept, err := s.opts.Library.Workflow(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.showWorkflow(w, r, http.StatusOK, kept, nil)
}

// showWorkflow writes the page of a workflow; wrong is why it was not saved.
func (s *Site) showWorkflow(w http.ResponseWriter, r *http.Request, status int, kept *orchestrator.Workflow, wrong error) error {
	ctx := r.Context()
	b, err := s.workflowRuns(ctx, cmp.Or(kept.ID, "new"))
	if err != nil {
		return err
	}
	check := s.opts.Library.Check(ctx, kept.Source)
	v := view.Workflow{
		ID: kept.ID, Name: cmp.Or(kept.Name, check.Name, view.T(ctx, "New workflow")), Source: string(kept.Source), Exposed: kept.Exposed,
		Saved: kept.Updated, Runs: b.find("workflow-runs"), Run: s.workflowForm(ctx, kept.ID, check),
	}
	if !v.Saved.IsZero() {
		v.Saved = v.Saved.In(s.now().Location())
	}
	v.Lint, v.Graph, v.Facts = s.checked(ctx, check)
	if wrong != nil {
		_, f := faultOf(ctx, wrong)
		v.Fault = view.FaultOf(ctx, f, "")
	}
	p := s.page(r, v.Name, view.Side{Section: "workflows"})
	return s.write(w, r, status, view.WorkflowPage(p, v))
}

// checked is a file as far as it can be read: what is wrong with it, its picture, and what it says in words.
func (s *Site) checked(ctx context.Context, c *orchestrator.WorkflowCheck) (view.Lint, view.Graph, []view.Fact) {
	l := view.Lint{Problems: c.Problems}
	for _, n := range c.Nodes {
		if n.AgentID == "" || slices.Contains(l.Unknown, n.AgentID) {
			continue
		}
		if a, err := s.store.Agent(ctx, n.AgentID); err != nil || a.Trust != orchestrator.TrustApproved {
			l.Unknown = append(l.Unknown, n.AgentID)
		}
	}
	var facts []view.Fact
	if c.Description != "" {
		facts = append(facts, view.Fact{Name: view.T(ctx, "For"), Text: c.Description})
	}
	var asks, joins []string
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Approve || n.Kind == "ask" {
			asks = append(asks, titled(n))
		}
		if n.Join != "" {
			joins = append(joins, titled(n)+": "+n.Join)
		}
	}
	if len(asks) > 0 {
		facts = append(facts, view.Fact{Name: view.T(ctx, "Asks you"), Text: strings.Join(asks, ", ")})
	}
	if len(joins) > 0 {
		facts = append(facts, view.Fact{Name: view.T(ctx, "Joins"), Text: strings.Join(joins, ", ")})
	}
	return l, s.drawGraph(ctx, c.Nodes, func(string) string { return "" }), facts
}

// workflowForm is the form that begins a run.
func (s *Site) workflowForm(ctx context.Context, id string, c *orchestrator.WorkflowCheck) view.WorkflowForm {
	f := view.WorkflowForm{ID: id, Wait: len(c.Problems) > 0 || s.opts.Planner == nil}
	if hasInputs(c.Inputs) {
		f.Form = newForm(ctx, "input", c.Inputs)
	}
	return f
}

func hasInputs(schema json.RawMessage) bool {
	var n schemaNode
	return json.Unmarshal(schema, &n) == nil && len(n.Properties) > 0
}

// checkWorkflow says what is wrong with a file while it is written.
func (s *Site) checkWorkflow(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil {
		return errNoPage
	}
	ctx := r.Context()
	source, err := sourceOf(w, r)
	if err != nil {
		return err
	}
	lint, graph, facts := s.checked(ctx, s.opts.Library.Check(ctx, source))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write((&frame{Ops: []op{
		{"r", "workflow-lint", draw(ctx, view.LintBox(lint))}, {"r", "workflow-picture", draw(ctx, view.WorkflowPicture(graph, facts))},
	}}).encode())
	return err
}

func sourceOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, 3*maxSource+64<<10) // percent-encoded
	if err := r.ParseForm(); err != nil {
		return nil, badRequest("This file is too large.")
	}
	source := strings.ReplaceAll(r.FormValue("source"), "\r\n", "\n")
	if len(source) > maxSource {
		return nil, badRequest("This file is too large.")
	}
	return []byte(source), nil
}

// saveWorkflow keeps a file.
func (s *Site) saveWorkflow(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil {
		return errNoPage
	}
	source, err := sourceOf(w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if id == "new" {
		id = ""
	}
	kept, err := s.opts.Library.Save(r.Context(), id, source, r.FormValue("expose") != "")
	if err != nil {
		if scripted(r) {
			return err
		}
		status, _ := faultOf(r.Context(), err)
		return s.showWorkflow(w, r, status, &orchestrator.Workflow{ID: id, Source: source, Exposed: r.FormValue("expose") != ""}, err)
	}
	s.boards.touch()
	return moved(w, r, "/workflows/"+url.PathEscape(kept.ID))
}

func (s *Site) removeWorkflow(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil {
		return errNoPage
	}
	if err := s.opts.Library.Remove(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	s.boards.touch()
	return moved(w, r, "/workflows")
}

// runWorkflow begins a run, and goes to its chat with the panel open.
func (s *Site) runWorkflow(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil || s.opts.Planner == nil {
		return errNoPage
	}
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, maxSource)
	if err := r.ParseForm(); err != nil {
		return badRequest("This is too much.")
	}
	kept, err := s.opts.Library.Workflow(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	check := s.opts.Library.Check(ctx, kept.Source)
	l := &orchestrator.Launch{Workflow: kept.ID, Preview: r.FormValue("preview") != ""}
	if hasInputs(check.Inputs) {
		f := s.workflowForm(ctx, kept.ID, check)
		data, problem, ok := readForm(ctx, f.Form, check.Inputs, r.PostForm)
		if !ok {
			f.Err = problem
			w.Header().Set("Parley-Replace", "form")
			return s.write(w, r, http.StatusUnprocessableEntity, view.WorkflowRunForm(f))
		}
		if err := json.Unmarshal(data, &l.Inputs); err != nil {
			return err
		}
	}
	run, err := s.opts.Planner.Launch(ctx, l)
	if err != nil {
		return err
	}
	next := "/runs/" + url.PathEscape(run.ID)
	if run.ConversationID != "" {
		next = "/c/" + url.PathEscape(run.ConversationID) + "?run=" + url.QueryEscape(run.ID)
	}
	return moved(w, r, next)
}

// compareRuns shows two runs of a workflow side by side: the newest two, unless others are named.
func (s *Site) compareRuns(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Library == nil || s.opts.Planner == nil {
		return errNoPage
	}
	ctx := r.Context()
	kept, err := s.opts.Library.Workflow(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	runs, err := s.opts.Library.Runs(ctx, kept.ID, "", 50)
	if err != nil {
		return err
	}
	v := view.Compared{ID: kept.ID, Name: cmp.Or(kept.Name, kept.ID), A: r.FormValue("a"), B: r.FormValue("b")}
	for _, run := range runs {
		v.Runs = append(v.Runs, s.workflowRun(ctx, run))
	}
	if len(runs) > 1 {
		v.A, v.B = cmp.Or(v.A, runs[1].ID), cmp.Or(v.B, runs[0].ID)
		for _, id := range []string{v.A, v.B} {
			if !slices.ContainsFunc(runs, func(r *orchestrator.Run) bool { return r.ID == id }) {
				return orchestrator.ErrNotFound
			}
		}
		if v.Rows, err = s.compared(ctx, v.A, v.B); err != nil {
			return err
		}
	}
	p := s.page(r, view.T(ctx, "Compare runs of %s", v.Name), view.Side{Section: "workflows"})
	return s.write(w, r, http.StatusOK, view.ComparePage(p, v))
}

func (s *Site) compared(ctx context.Context, a, b string) ([]view.ComparedRow, error) {
	first, err := s.opts.Planner.Plan(ctx, a)
	if err != nil {
		return nil, err
	}
	second, err := s.opts.Planner.Plan(ctx, b)
	if err != nil {
		return nil, err
	}
	var rows []view.ComparedRow
	add := func(name string, a, b view.ComparedCell) {
		same := a.Text == b.Text && (a.State == nil) == (b.State == nil) && (a.State == nil || *a.State == *b.State)
		rows = append(rows, view.ComparedRow{Name: name, A: a, B: b, Same: same})
	}
	state := func(p *orchestrator.Plan) view.ComparedCell {
		st := view.EndState(ctx, p.State, p.Fault)
		c := view.ComparedCell{State: &st}
		if !p.Ended.IsZero() {
			c.Took = view.Spent(p.Ended.Sub(p.Began))
		}
		return c
	}
	add(view.T(ctx, "The whole run"), state(first), state(second))
	values := func(of map[string]json.RawMessage, with map[string]json.RawMessage, title func(string) string) {
		names := map[string]bool{}
		for n := range of {
			names[n] = true
		}
		for n := range with {
			names[n] = true
		}
		sorted := make([]string, 0, len(names))
		for n := range names {
			sorted = append(sorted, n)
		}
		slices.Sort(sorted)
		for _, n := range sorted {
			add(title(n), view.ComparedCell{Text: plainValue(of[n])}, view.ComparedCell{Text: plainValue(with[n])})
		}
	}
	values(first.Inputs, second.Inputs, func(n string) string { return view.T(ctx, "Input %s", n) })
	other := map[string]*orchestrator.PlanNode{}
	for i := range second.Nodes {
		other[second.Nodes[i].ID] = &second.Nodes[i]
	}
	for i := range first.Nodes {
		n := &first.Nodes[i]
		add(titled(n), s.comparedNode(ctx, n), s.comparedNode(ctx, other[n.ID]))
		delete(other, n.ID)
	}
	for i := range second.Nodes { // what only the second has
		if n := &second.Nodes[i]; other[n.ID] != nil {
			add(titled(n), view.ComparedCell{}, s.comparedNode(ctx, n))
		}
	}
	values(first.Outputs, second.Outputs, func(n string) string { return view.T(ctx, "Result %s", n) })
	return rows, nil
}

func (s *Site) comparedNode(ctx context.Context, n *orchestrator.PlanNode) view.ComparedCell {
	if n == nil {
		return view.ComparedCell{}
	}
	st := view.StepState(ctx, n)
	c := view.ComparedCell{State: &st, Text: shorten(n.Text, stepText)}
	if n.Ended.After(n.Began) && !n.Began.IsZero() {
		c.Took = view.Spent(n.Ended.Sub(n.Began))
	}
	if n.Fault != nil {
		c.Text = n.Fault.What
	}
	return c
}

// plainValue is a value as people read it.
func plainValue(raw json.RawMessage) string {
	var text string
	if raw == nil || json.Unmarshal(raw, &text) == nil {
		return shorten(text, stepText)
	}
	return indented(raw)
}
