package frontend

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const (
	tasksShown   = 60      // of a page
	historyShown = 12      // messages of a task
	cachedTitles = 1 << 20 // bytes of titles that are kept
)

var errNoLedger = &fail{http.StatusNotFound, &orchestrator.Fault{
	Kind: "no-tasks", Where: orchestrator.WhereUs, What: "Tasks cannot be listed here.", Do: "Look at the chats instead.",
}}

// taskQuery is what an address asks for.
func (s *Site) taskQuery(ctx context.Context, q url.Values) (orchestrator.TaskQuery, error) {
	t := orchestrator.TaskQuery{States: orchestrator.StatesOf(q.Get("state")), AgentID: q.Get("agent"), Limit: tasksShown}
	if c := q.Get("caller"); c == "*" {
		t.Outside = true
	} else {
		t.Principal = c
	}
	if n, err := strconv.Atoi(q.Get("days")); err == nil && n > 0 {
		t.From = s.now().AddDate(0, 0, -n)
	}
	if id := q.Get("before"); id != "" {
		run, err := s.store.Run(ctx, id)
		if err != nil {
			return t, err
		}
		t.Before = run
	}
	return t, nil
}

// taskAddress is the address of a list with some of its parameters changed; "" takes one away.
func taskAddress(q url.Values, changes ...string) string {
	out := url.Values{}
	for _, name := range []string{"state", "agent", "caller", "days", "before"} {
		if v := q.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	for i := 0; i+1 < len(changes); i += 2 {
		out.Del(changes[i])
		if changes[i+1] != "" {
			out.Set(changes[i], changes[i+1])
		}
	}
	if len(out) == 0 {
		return "/tasks"
	}
	return "/tasks?" + out.Encode()
}

// tasksBoard draws the list of tasks, or one of them.
func (s *Site) tasksBoard(ctx context.Context, path string, q url.Values) (*board, error) {
	if agent, ok := strings.CutPrefix(path, "at/"); ok {
		agent, task, _ := strings.Cut(agent, "/")
		return s.watchBoard(ctx, agent, task)
	}
	if path != "" {
		return s.taskBoard(ctx, path)
	}
	if s.ledger == nil {
		return nil, errNoLedger
	}
	tq, err := s.taskQuery(ctx, q)
	if err != nil {
		return nil, err
	}
	runs, err := s.ledger.ListTasks(ctx, tq)
	if err != nil {
		return nil, err
	}
	b := &board{sections: []section{{id: "task-rows"}}}
	rows := &b.sections[0].rows
	callers := s.callers(ctx)
	if len(runs) == tasksShown {
		b.next = runs[len(runs)-1].ID
	}
	for _, r := range runs {
		v := s.taskRow(ctx, r, callers)
		*rows = append(*rows, newRow(ctx, "t-"+r.ID, view.TaskLine(v, s.now())))
	}
	if len(runs) == 0 {
		*rows = append(*rows, newRow(ctx, "task-none", view.TaskNone(taskAddress(q) != "/tasks")))
	}
	return b, nil
}

func (s *Site) taskRow(ctx context.Context, r *orchestrator.Run, callers map[string]string) view.TaskRow {
	v := view.TaskRow{
		ID: r.ID, State: s.runState(ctx, r), Title: s.taskTitle(ctx, r), Agent: s.speaker(ctx, r.To), Caller: caller(r.Principal, callers),
		Inbound: r.Principal != orchestrator.LocalPrincipal, Started: r.Created, Updated: r.Updated, Open: !r.State.Terminal(),
		Href: "/tasks/" + url.PathEscape(r.ID),
	}
	if r.ConversationID != "" {
		v.Chat, v.ChatHref = s.chatTitle(ctx, r.ConversationID)
	}
	return v
}

// taskTitle is what was asked for, in a line.
func (s *Site) taskTitle(ctx context.Context, r *orchestrator.Run) string {
	if t, ok := s.titles.get(r.ID); ok {
		return t
	}
	title := orchestrator.TitleOf(orchestrator.Wanted(s.store.ReadRun(ctx, r.ID, 0)))
	if title == "" {
		return view.T(ctx, "Task %s", clip(r.ID, 8))
	}
	s.titles.put(r.ID, title)
	return title
}

func (s *Site) tasksPage(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	b, err := s.tasksBoard(ctx, "", q)
	if err != nil {
		return err
	}
	v := view.Tasks{Rows: b.find("task-rows"), Filter: s.taskFilter(ctx, q)}
	if q.Get("before") == "" {
		v.Board = taskAddress(q)
	} else {
		v.Newest = taskAddress(q, "before", "")
	}
	if b.next != "" {
		v.Older = taskAddress(q, "before", b.next)
	}
	return s.write(w, r, http.StatusOK, view.TasksPage(s.page(r, view.T(ctx, "Tasks"), view.Side{Section: "tasks"}), v))
}

func (s *Site) taskFilter(ctx context.Context, q url.Values) view.TaskFilter {
	f := view.TaskFilter{State: q.Get("state"), Agent: q.Get("agent"), Caller: q.Get("caller"), Days: q.Get("days")}
	for _, w := range [][2]string{
		{"", view.T(ctx, "All")}, {"open", view.T(ctx, "Open")}, {"you", view.T(ctx, "Need you")}, {"failed", view.T(ctx, "Failed")}, {"done", view.T(ctx, "Ended")},
	} {
		f.States = append(f.States, view.WireWay{Name: w[1], Href: taskAddress(q, "state", w[0], "before", ""), Current: f.State == w[0]})
	}
	f.Agents, _ = s.agents(ctx)
	if f.Agent != "" && !slices.ContainsFunc(f.Agents, func(a view.AgentLink) bool { return a.ID == f.Agent }) {
		f.Agents = append(f.Agents, s.people.link(ctx, f.Agent))
	}
	names := s.callers(ctx)
	ids, _ := s.ledger.Callers(ctx)
	for _, id := range ids {
		f.Callers = append(f.Callers, view.AgentLink{ID: id, Name: caller(id, names).Name})
	}
	return f
}

// cancelTasks stops those that were chosen.
func (s *Site) cancelTasks(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, 256<<10)
	if err := r.ParseForm(); err != nil {
		return unread(err)
	}
	runs := r.PostForm["run"]
	if len(runs) == 0 {
		return badRequest("Select a task first.")
	}
	var failed []string
	var last error
	for _, id := range runs {
		if err := s.cancelTask(ctx, id); err != nil {
			_, f := faultOf(ctx, err)
			failed = append(failed, clip(id, 8)+": "+view.Tv(ctx, f.What))
			last = err
		}
	}
	s.boards.touch()
	switch {
	case len(failed) == 1 && len(runs) == 1:
		return last
	case len(failed) > 0:
		return &fail{http.StatusUnprocessableEntity, &orchestrator.Fault{
			Kind: "not-stopped", Where: orchestrator.WhereAgent, What: view.Tn(ctx, len(failed), "%d task could not be stopped.", "%d tasks could not be stopped."),
			Do: view.T(ctx, "The others were asked to stop. Try these again."), Raw: strings.Join(failed, "\n"),
		}}
	}
	return done(w, r, "/tasks")
}

func (s *Site) cancelTask(ctx context.Context, id string) error {
	if s.opts.Inspector != nil {
		return s.opts.Inspector.CancelTask(ctx, id)
	}
	return s.runner.Stop(ctx, id)
}
