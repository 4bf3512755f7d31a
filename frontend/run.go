package frontend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// What a run with a plan shows of each step.
const (
	stepText  = 1200 // characters of what came of it
	stepCalls = 50   // of one step
	planDepth = 5    // plans within plans
)

// wireTab names the part of a run's panel that lists its requests; "" is the run itself.
const wireTab = "wire"

// runBoard draws a run with a plan, or its requests.
func (s *Site) runBoard(ctx context.Context, run string, q url.Values) (*board, error) {
	if s.opts.Planner == nil {
		return nil, errNoPage
	}
	if q.Get("tab") == wireTab {
		return s.runWire(ctx, run)
	}
	p, err := s.opts.Planner.Plan(ctx, run)
	if err != nil {
		return nil, err
	}
	b := &board{fixed: []row{
		s.clocked(ctx, "run-head", p.Began, func(now time.Time) templ.Component { return view.RunHeadBox(s.runHead(ctx, p), now) }),
		newRow(ctx, "run-graph", view.RunGraph(s.drawGraph(ctx, p.Nodes, func(id string) string { return "#" + stepID(id) }))),
		s.clocked(ctx, "run-fall", p.Began, func(now time.Time) templ.Component { return view.RunFall(s.runBars(ctx, p, now), now) }),
		newRow(ctx, "run-arts", view.RunArtifacts(s.runArtifacts(ctx, p))),
	}}
	steps := section{id: "run-steps"}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		st := s.step(ctx, p, n, 0)
		steps.rows = append(steps.rows, s.clocked(ctx, st.ID, n.Began, func(now time.Time) templ.Component { return view.StepItem(st, now) }))
	}
	b.sections = []section{steps}
	if p.Ended.IsZero() { // the page has its clocks and bars go on, until a bar is at the end of the axis
		b.poll = func(context.Context) int64 { return int64(axis(s.now().Sub(p.Began))) }
		b.polled = b.poll(ctx)
	}
	return b, nil
}

// clocked is newRow of something with a clock that goes on by itself in the page: the time alone makes no new version.
func (s *Site) clocked(ctx context.Context, id string, at time.Time, c func(now time.Time) templ.Component) row {
	still := newRow(ctx, id, c(at))
	html := draw(ctx, c(s.now()))
	return row{id, still.v, strings.Replace(html, `data-v=""`, `data-v="`+still.v+`"`, 1)}
}

func stepID(node string) string { return "step-" + node }

func (s *Site) runHead(ctx context.Context, p *orchestrator.Plan) view.RunHead {
	h := view.RunHead{RunID: p.RunID, Name: p.Name, Steps: len(p.Nodes), Open: !p.State.Terminal()}
	h.State = view.EndState(ctx, p.State, p.Fault)
	h.Again = !h.Open && p.ConversationID != ""
	if h.Open {
		h.Since = p.Began
	} else {
		h.Took = view.Spent(p.Ended.Sub(p.Began))
	}
	for i := range p.Nodes {
		switch p.Nodes[i].State {
		case "done", "skipped":
			h.Done++
		}
		if p.Nodes[i].AskID != "" {
			h.Asking++
		}
	}
	h.Fault = planFault(ctx, p.Fault)
	for name, raw := range p.Outputs {
		o := view.Output{Name: name}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			o.HTML = s.md.HTML(text)
		} else {
			o.Text = indented(raw)
		}
		h.Outputs = append(h.Outputs, o)
	}
	slices.SortFunc(h.Outputs, func(a, b view.Output) int { return cmp.Compare(a.Name, b.Name) })
	return h
}

func planFault(ctx context.Context, f *orchestrator.Fault) *view.Fault {
	if f == nil {
		return nil
	}
	return view.FaultOf(ctx, f, "")
}

// indented is JSON as people read it, shortened.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		b.Reset()
		b.Write(raw)
	}
	return shorten(b.String(), 4*stepText)
}

// step is one step of a plan, with its calls below it when there is more to see than one.
func (s *Site) step(ctx context.Context, p *orchestrator.Plan, n *orchestrator.PlanNode, depth int) view.Step {
	st := view.Step{
		ID: stepID(n.ID), Title: titled(n), State: view.StepState(ctx, n), Text: shorten(n.Text, stepText),
		Fault: planFault(ctx, n.Fault),
	}
	if len(n.Data) > 0 {
		st.Data = indented(n.Data)
	}
	st.Agent = s.nodeSays(ctx, n, &st.Flag)
	switch {
	case n.Began.IsZero():
	case n.Ended.IsZero():
		st.Since = n.Began
	case n.Ended.After(n.Began): // what was taken over from a run before took nothing
		st.Took = view.Spent(n.Ended.Sub(n.Began))
	}
	if n.AskID != "" {
		st.Ask = "/inbox?ask=" + url.QueryEscape(n.AskID)
	}
	if depth == 0 {
		at := "/runs/" + url.PathEscape(p.RunID) + "/steps/" + url.PathEscape(n.ID)
		if n.CanStop {
			st.Stop = at + "/stop"
		}
		if n.CanRetry {
			st.Retry = at + "/retry"
		}
	}
	if n.Round > 1 {
		st.Detail = view.T(ctx, "round %d", n.Round)
	}
	calls := n.Calls[max(0, len(n.Calls)-stepCalls):]
	if len(calls) == 1 {
		c := &calls[0]
		if c.Attempt > 1 {
			st.Detail = view.T(ctx, "attempt %d", c.Attempt)
		}
		st.Links = s.callLinks(ctx, c)
		if c.Planned {
			st.Kids = s.nested(ctx, c.RunID, depth)
		}
		return st
	}
	for i := range calls {
		st.Kids = append(st.Kids, s.call(ctx, &calls[i], depth))
	}
	return st
}

// call is one call of a step that has several.
func (s *Site) call(ctx context.Context, c *orchestrator.PlanCall, depth int) view.Step {
	st := view.Step{State: view.EndState(ctx, c.State, c.Fault), Fault: planFault(ctx, c.Fault), Links: s.callLinks(ctx, c)}
	if c.AgentID != "" {
		l := s.people.link(ctx, c.AgentID)
		st.Flag, st.Agent = &l.Flag, l.Name
	}
	var says []string
	switch {
	case c.Item < 0:
		st.Title = view.T(ctx, "Undo")
	default:
		st.Title = view.T(ctx, "Item %d", c.Item+1)
	}
	if c.Round > 1 {
		says = append(says, view.T(ctx, "round %d", c.Round))
	}
	if c.Attempt > 1 {
		says = append(says, view.T(ctx, "attempt %d", c.Attempt))
	}
	if c.Fallback {
		says = append(says, view.T(ctx, "in place of another"))
	}
	st.Detail = strings.Join(says, ", ")
	if c.Ended.IsZero() {
		st.Since = c.Began
	} else {
		st.Took = view.Spent(c.Ended.Sub(c.Began))
	}
	if c.Planned {
		st.Kids = s.nested(ctx, c.RunID, depth)
	}
	return st
}

// nested are the steps of a plan within a plan.
func (s *Site) nested(ctx context.Context, run string, depth int) []view.Step {
	if depth+1 >= planDepth {
		return nil
	}
	p, err := s.opts.Planner.Plan(ctx, run)
	if err != nil {
		return nil // it is not there yet, or not any more: the step that it belongs to says how it stands
	}
	var kids []view.Step
	for i := range p.Nodes {
		kids = append(kids, s.step(ctx, p, &p.Nodes[i], depth+1))
	}
	return kids
}

func (s *Site) callLinks(ctx context.Context, c *orchestrator.PlanCall) []view.Link {
	return []view.Link{
		{Label: view.T(ctx, "Task"), Href: "/tasks/" + url.PathEscape(c.RunID)},
		{Label: view.T(ctx, "Wire"), Href: "/wire?run=" + url.QueryEscape(c.RunID)},
	}
}

// runBars draws the run in time. One that goes on has an axis with room, on which its bars grow in the page.
func (s *Site) runBars(ctx context.Context, p *orchestrator.Plan, now time.Time) view.Bars {
	if p.Began.IsZero() {
		return view.Bars{}
	}
	whole := p.Ended.Sub(p.Began)
	if p.Ended.IsZero() {
		whole = axis(s.now().Sub(p.Began))
	}
	if whole <= 0 {
		return view.Bars{}
	}
	at := func(t time.Time) float64 { return 100 * float64(t.Sub(p.Began)) / float64(whole) }
	b := view.Bars{Whole: whole}
	for t := time.Duration(0); t <= whole*9/10; t += every(whole) {
		b.Marks = append(b.Marks, view.BarMark{X: 100 * float64(t) / float64(whole), Text: mark(t)})
	}
	var in, out int64
	var cost float64
	currency, told := "", 0
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for j := range n.Calls {
			if u := n.Calls[j].Usage; u != nil {
				in, out, cost, currency, told = in+u.InputTokens, out+u.OutputTokens, cost+u.Cost, cmp.Or(currency, u.Currency), told+1
			}
		}
		if n.Began.IsZero() || n.Ended.Equal(n.Began) {
			continue
		}
		state := view.StepState(ctx, n)
		l := view.BarLine{Title: titled(n)}
		first := n.Began
		if len(n.Calls) > 0 && n.Calls[0].Began.After(n.Began.Add(whole/100)) { // it waited for a yes
			first = n.Calls[0].Began
			l.Parts = append(l.Parts, view.BarPart{X: at(n.Began), W: at(first) - at(n.Began), Class: "is-ask", Word: view.T(ctx, "Needs you")})
		}
		part, to := view.BarPart{X: at(first), Class: state.Class, Word: state.Word}, n.Ended
		if to.IsZero() {
			l.Since, part.Since, to = n.Began, first, now
		} else {
			l.Took = view.Spent(to.Sub(n.Began))
		}
		part.W = max(at(to)-at(first), 0.6)
		l.Parts = append(l.Parts, part)
		b.Lines = append(b.Lines, l)
	}
	if in+out > 0 {
		b.Usage = view.Tn(ctx, told, "%d call reported %d tokens", "%d calls reported %d tokens", in+out)
	}
	if cost > 0 {
		b.Usage = strings.TrimSpace(b.Usage + " " + strconv.FormatFloat(cost, 'f', -1, 64) + " " + currency)
	}
	return b
}

// axis is how long the axis is of a run that has gone on for so long: a round time, and more than that.
func axis(d time.Duration) time.Duration {
	for _, s := range []time.Duration{10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 12 * 3600} {
		if d < s*time.Second {
			return s * time.Second
		}
	}
	whole := 24 * time.Hour
	for whole <= d {
		whole *= 2
	}
	return whole
}

// every is how far the marks of a time are apart: a round time, and four of them at most before the end of the axis.
func every(whole time.Duration) time.Duration {
	for unit := 100 * time.Millisecond; unit <= time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if n*unit*4 > whole*9/10 {
				return n * unit
			}
		}
	}
	for _, s := range []time.Duration{10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600} {
		if s*time.Second*4 > whole*9/10 {
			return s * time.Second
		}
	}
	const day = 24 * time.Hour
	return (whole/4/day + 1) * day
}

// mark is a time on an axis.
func mark(t time.Duration) string {
	if t < time.Minute {
		return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + " s"
	}
	return view.Duration(t)
}

func (s *Site) runArtifacts(ctx context.Context, p *orchestrator.Plan) []view.RunArtifact {
	var as []view.RunArtifact
	for i := range p.Nodes {
		for j := range p.Nodes[i].Calls {
			c := &p.Nodes[i].Calls[j]
			for _, a := range c.Artifacts {
				as = append(as, s.runArtifact(ctx, c.RunID, &a, titled(&p.Nodes[i]))...)
			}
		}
	}
	return as
}

// runArtifact lists the files of an artifact. A text that came in pieces is one thing, and is read with its task.
func (s *Site) runArtifact(ctx context.Context, run string, a *orchestrator.ArtifactData, step string) []view.RunArtifact {
	text := len(a.Parts) > 1 && !slices.ContainsFunc(a.Parts, func(p orchestrator.PartInfo) bool { return p.Kind != "text" || p.Filename != "" })
	if text {
		return []view.RunArtifact{{
			Name: cmp.Or(a.Name, view.T(ctx, "Text")), Detail: cmp.Or(a.Parts[0].MediaType, "text"), Step: step, Href: "/tasks/" + url.PathEscape(run),
		}}
	}
	var as []view.RunArtifact
	for k, part := range a.Parts {
		as = append(as, view.RunArtifact{
			Name: cmp.Or(part.Filename, a.Name, view.T(ctx, "Part %d", k+1)), Detail: cmp.Or(part.MediaType, part.Kind), Step: step,
			Href: "/runs/" + url.PathEscape(run) + "/artifacts/" + url.PathEscape(a.ArtifactID) + "/" + strconv.Itoa(k),
		})
	}
	return as
}

// runWire lists what the steps of a run had on the wire, the newest first; polls of a task that waits are one line.
func (s *Site) runWire(ctx context.Context, run string) (*board, error) {
	if s.wire == nil {
		return nil, errNoWire
	}
	q := url.Values{"run": {run}}
	wq := s.wireQuery(ctx, q)
	wq.Bare = true
	head, _, _, err := s.wire.WireHead(ctx)
	if err != nil {
		return nil, err
	}
	records, _, err := s.wireRecords(ctx, wq)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(records, func(a, b *orchestrator.WireRecord) int { return b.At.Compare(a.At) })
	list, names := section{id: "run-wire"}, s.callers(ctx)
	for _, g := range polled(records, wq, "") {
		for _, r := range g.shown {
			id := strconv.FormatInt(r.ID, 10)
			v := s.wireRow(ctx, r, names)
			v.Href = wireAddress(q, "id", id)
			list.rows = append(list.rows, newRow(ctx, "rw"+id, view.RunWireLine(v, g.more)))
		}
	}
	if len(list.rows) == 0 {
		list.rows = append(list.rows, newRow(ctx, "rw-none", view.RunWireNone()))
	}
	return &board{sections: []section{list}, polled: head, poll: func(ctx context.Context) int64 {
		head, _, _, _ := s.wire.WireHead(ctx)
		return head
	}}, nil
}

// runView is a run for a page or a panel, or the tab of it.
func (s *Site) runView(ctx context.Context, run, tab string) (view.Run, error) {
	if tab != wireTab || s.wire == nil {
		tab = ""
	}
	b, err := s.runBoard(ctx, run, url.Values{"tab": {tab}})
	if err != nil {
		return view.Run{}, err
	}
	row, err := s.store.Run(ctx, run)
	if err != nil {
		return view.Run{}, err
	}
	v := view.Run{ID: run, Tab: tab, Title: s.taskTitle(ctx, row), Wire: "/wire?run=" + url.QueryEscape(run), Parts: view.RunParts{
		Head: b.find("run-head"), Graph: b.find("run-graph"), Steps: b.find("run-steps"), Fall: b.find("run-fall"), Arts: b.find("run-arts"), Wire: b.find("run-wire"),
	}}
	if row.ConversationID != "" {
		v.Chat = "/c/" + url.PathEscape(row.ConversationID)
	}
	return v, nil
}

// runPage is the page of a run with a plan.
func (s *Site) runPage(w http.ResponseWriter, r *http.Request) error {
	v, err := s.runView(r.Context(), r.PathValue("id"), "")
	if errors.Is(err, orchestrator.ErrNotFound) { // it has no plan: all there is stands on its task's page
		http.Redirect(w, r, "/tasks/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
		return nil
	}
	if err != nil {
		return err
	}
	return s.write(w, r, http.StatusOK, view.RunPage(s.page(r, v.Title, view.Side{Section: "tasks"}), v))
}

// stopStep and retryStep steer one step of a plan.
func (s *Site) stopStep(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Planner == nil {
		return errNoPage
	}
	if err := s.opts.Planner.StopStep(r.Context(), r.PathValue("id"), r.PathValue("step")); err != nil {
		return err
	}
	return done(w, r, "/runs/"+url.PathEscape(r.PathValue("id")))
}

func (s *Site) retryStep(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Planner == nil {
		return errNoPage
	}
	id := r.PathValue("id")
	run, err := s.opts.Planner.RetryStep(r.Context(), id, r.PathValue("step"))
	if err != nil {
		return err
	}
	if run.ID == id {
		return done(w, r, "/runs/"+url.PathEscape(id))
	}
	return s.begun(w, r, run, run.ConversationID)
}

// planOf returns the newest run of a conversation that has a plan, "" when none has, by its newest items.
func (s *Site) planOf(ctx context.Context, conversation string, items []*orchestrator.Item) string {
	if s.opts.Planner == nil {
		return ""
	}
	var runs []string
	if open, err := s.store.RunsOf(ctx, conversation); err == nil {
		for _, r := range slices.Backward(open) {
			runs = append(runs, r.ID)
		}
	}
	for _, it := range slices.Backward(items) {
		if it.RunID != "" && !slices.Contains(runs, it.RunID) && len(runs) < 8 {
			runs = append(runs, it.RunID)
		}
	}
	for _, run := range runs {
		if row, err := s.store.Run(ctx, run); err != nil || row.Scope != orchestrator.OwnAgent || row.State == a2a.TaskStateUnspecified {
			continue
		}
		if s.planned(ctx, run) {
			return run
		}
	}
	return ""
}

// chatPanel opens the panel of a run beside its chat, where one was asked for, and says how it is opened and closed.
func (s *Site) chatPanel(ctx context.Context, p *view.Page, v *view.Chat, items []*orchestrator.Item, run, tab string) error {
	at := "/c/" + url.PathEscape(v.ID)
	if run == "" {
		if run = s.planOf(ctx, v.ID, items); run != "" {
			v.Panel = panelOf(v.ID, run)
		}
		return nil
	}
	v.Panel = at
	row, err := s.store.Run(ctx, run)
	if err != nil || row.ConversationID != v.ID {
		return err
	}
	panel, err := s.runView(ctx, run, tab)
	if errors.Is(err, orchestrator.ErrNotFound) || errors.Is(err, errNoPage) {
		return nil
	}
	if err != nil {
		return err
	}
	panel.Chat, v.Opened = at, true
	p.Panel = draw(ctx, view.RunPanel(panel))
	return nil
}

// planned reports whether a run has a plan.
func (s *Site) planned(ctx context.Context, run string) bool {
	if s.opts.Planner == nil {
		return false
	}
	_, err := s.opts.Planner.Plan(ctx, run)
	return err == nil
}

// runState is how a run stands. Whether one with a plan failed by what its person did is looked up once.
func (s *Site) runState(ctx context.Context, r *orchestrator.Run) view.State {
	if r.State != a2a.TaskStateFailed || s.opts.Planner == nil {
		return view.TaskState(ctx, r.State)
	}
	kind, ok := s.ends.get(r.ID)
	if !ok {
		switch p, err := s.opts.Planner.Plan(ctx, r.ID); {
		case err == nil && p.Fault != nil:
			kind = p.Fault.Kind
		case err != nil && !errors.Is(err, orchestrator.ErrNotFound):
			return view.TaskState(ctx, r.State)
		}
		s.ends.put(r.ID, kind)
	}
	return view.EndState(ctx, r.State, &orchestrator.Fault{Kind: kind})
}

// stepScope begins the scope of a run that carries out a step of another run's plan.
const stepScope = "step/"

// stepOf says which step of which plan a run carries out, nil for one that is no part of a plan. It never changes, and is
// looked up once.
func (s *Site) stepOf(ctx context.Context, run string) *view.Link {
	chat, parent, title := s.partOf(ctx, run)
	if parent == "" {
		return nil
	}
	return &view.Link{Label: view.T(ctx, "Step: %s", title), Href: panelOf(chat, parent)}
}

// panelOf is where the plan of a run stands beside its chat: where there is no room beside it, the fragment opens it.
func panelOf(chat, run string) string {
	return "/c/" + url.PathEscape(chat) + "?run=" + url.QueryEscape(run) + "#run-panel"
}

// partOf returns the chat of a run that carries out a step, the run whose plan has the step, and the step's title; "" for a
// run that is no part of a plan.
func (s *Site) partOf(ctx context.Context, run string) (chat, parent, title string) {
	if s.opts.Planner == nil || run == "" {
		return "", "", ""
	}
	known, ok := s.steps.get(run)
	if !ok {
		var sure bool
		if known, sure = s.findStep(ctx, run); sure {
			s.steps.put(run, known)
		}
	}
	chat, rest, _ := strings.Cut(known, "\n")
	parent, title, _ = strings.Cut(rest, "\n")
	return chat, parent, title
}

// findStep returns the chat, the run with the plan and the title of the step, a line each; "" for none. It is not sure
// while the plan does not say yet what the run is for.
func (s *Site) findStep(ctx context.Context, run string) (known string, sure bool) {
	row, err := s.store.Run(ctx, run)
	if err != nil {
		return "", false
	}
	parent, is := strings.CutPrefix(row.Scope, stepScope)
	if !is || row.ConversationID == "" {
		return "", true
	}
	p, err := s.opts.Planner.Plan(ctx, parent)
	if err != nil {
		return "", false
	}
	for i := range p.Nodes {
		for j := range p.Nodes[i].Calls {
			if p.Nodes[i].Calls[j].RunID == run {
				return row.ConversationID + "\n" + parent + "\n" + titled(&p.Nodes[i]), true
			}
		}
	}
	return "", false
}
