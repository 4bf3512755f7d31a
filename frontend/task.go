package frontend

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

const lineText = 400 // characters of what was said, in a line of what happened: all of it stands in the chat

// taskParts are the parts of a task's page in their order.
var taskParts = []string{"task-head", "task-talk", "task-push"}

func (s *Site) taskPage(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	b, err := s.taskBoard(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.writeTask(w, r, b)
}

func (s *Site) writeTask(w http.ResponseWriter, r *http.Request, b *board) error {
	var parts []string
	for _, id := range taskParts {
		parts = append(parts, b.find(id))
	}
	ctx := r.Context()
	p := s.page(r, view.T(ctx, "Task"), view.Side{Section: "tasks"})
	return s.write(w, r, http.StatusOK, view.TaskPage(p, view.T(ctx, "Task"), parts, b.find("task-events")))
}

// taskBoard draws one task of ours, or of a caller of ours.
func (s *Site) taskBoard(ctx context.Context, id string) (*board, error) {
	run, err := s.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	d := view.TaskDetail{TaskRow: s.taskRow(ctx, run, s.callers(ctx)), Context: run.ContextID, RunID: run.ID}
	steps, err := s.store.Steps(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, st := range steps {
		v := view.TaskStep{Speaker: s.speaker(ctx, st.AgentID), State: stepWord(ctx, st.State), Attempt: st.Attempt, Task: st.ChildTask}
		if st.ChildTask != "" {
			v.Href = "/tasks/at/" + url.PathEscape(st.AgentID) + "/" + url.PathEscape(st.ChildTask)
			v.Wire = "/wire?task=" + url.QueryEscape(st.ChildTask)
		}
		d.Steps = append(d.Steps, v)
	}
	t, lines, err := s.told(ctx, run)
	if err != nil {
		return nil, err
	}
	s.talk(ctx, &d, t)
	if s.opts.Inspector != nil {
		pushes, err := s.opts.Inspector.Pushes(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		for _, p := range pushes {
			d.Pushes = append(d.Pushes, s.pushView(ctx, run.ID, p))
		}
	}
	b := &board{}
	if s.wire != nil {
		head, _, _, err := s.wire.WireHead(ctx)
		if err != nil {
			return nil, err
		}
		records, err := s.wire.WireRecords(ctx, orchestrator.WireQuery{RunID: run.ID, Bare: true, Limit: 12})
		if err != nil {
			return nil, err
		}
		names := s.callers(ctx)
		for _, r := range records {
			v := s.wireRow(ctx, r, names)
			v.Href = "/wire?run=" + url.QueryEscape(run.ID) + "&id=" + strconv.FormatInt(r.ID, 10)
			d.Wire = append(d.Wire, v)
		}
		b.polled = head
		b.poll = func(ctx context.Context) int64 {
			head, _, _, _ := s.wire.WireHead(ctx)
			return head
		}
	}
	s.drawTask(ctx, b, d, lines)
	return b, nil
}

func (s *Site) drawTask(ctx context.Context, b *board, d view.TaskDetail, lines []view.TaskEvent) {
	b.fixed = []row{
		newRow(ctx, "task-head", view.TaskHead(d, s.now())), newRow(ctx, "task-talk", view.TaskTalk(d)), newRow(ctx, "task-push", view.TaskReports(d)),
	}
	list := section{id: "task-events"}
	for _, l := range lines {
		list.rows = append(list.rows, newRow(ctx, l.ID, view.TaskEventLine(l)))
	}
	b.sections = []section{list}
}

func stepWord(ctx context.Context, st orchestrator.StepState) string {
	switch st {
	case orchestrator.StepPlanned:
		return view.T(ctx, "planned")
	case orchestrator.StepSending:
		return view.T(ctx, "sending")
	case orchestrator.StepAwaiting:
		return view.T(ctx, "under way")
	case orchestrator.StepAsking:
		return view.T(ctx, "asking")
	case orchestrator.StepDone:
		return view.T(ctx, "ended")
	case orchestrator.StepLost:
		return view.T(ctx, "lost sight of")
	}
	return string(st)
}

// talk puts the history and the artifacts of a task into words.
func (s *Site) talk(ctx context.Context, d *view.TaskDetail, t *a2a.Task) {
	d.Before = max(0, len(t.History)-historyShown)
	for _, m := range t.History[d.Before:] {
		v := view.TaskMessage{Speaker: d.Agent}
		if m.Role == a2a.RoleUser {
			v.Speaker = view.Speaker{Name: view.T(ctx, "You"), Parley: true}
			if d.Inbound {
				v.Speaker = d.Caller
			}
		}
		var text []string
		for _, p := range m.Parts {
			switch p.Kind {
			case a2a.PartText:
				text = append(text, p.Text)
			case a2a.PartData:
				text = append(text, "```json\n"+pretty(p.Data)+"\n```")
			default:
				name := p.Filename
				if name == "" {
					name = p.MediaType
				}
				v.Files = append(v.Files, name)
			}
		}
		v.HTML = s.md.HTML(strings.Join(text, "\n\n"))
		d.History = append(d.History, v)
	}
	for _, a := range t.Artifacts {
		v := view.TaskArtifact{Name: a.Name}
		if v.Name == "" {
			v.Name = a.ID
		}
		size := int64(0)
		for _, p := range a.Parts {
			size += int64(len(p.Text) + len(p.Raw) + len(p.Data))
		}
		v.Detail = view.Tn(ctx, len(a.Parts), "%d part, %s", "%d parts, %s", view.Bytes(size))
		if d.RunID != "" && len(a.Parts) > 0 {
			v.Href = "/runs/" + url.PathEscape(d.RunID) + "/artifacts/" + url.PathEscape(a.ID) + "/0"
		}
		d.Arts = append(d.Arts, v)
	}
}

func (s *Site) pushView(ctx context.Context, run string, p *orchestrator.Push) view.TaskPush {
	v := view.TaskPush{
		ID: p.ID, Ours: p.Ours, URL: p.URL, TestHref: "/tasks/" + url.PathEscape(run) + "/push/" + url.PathEscape(p.ID) + "/test",
	}
	if p.Ours {
		v.Who = s.people.link(ctx, p.Who).Name
	} else {
		v.Who = caller(p.Who, s.callers(ctx)).Name
	}
	switch p.State {
	case "live":
		v.State = view.State{Class: "is-done", Icon: "s-done", Word: view.T(ctx, "Delivers")}
		if p.Ours {
			v.State.Word = view.T(ctx, "Has reported")
		}
	case "waiting":
		v.State = view.State{Class: "is-wait", Icon: "s-wait", Word: view.T(ctx, "Waits for the next attempt")}
		if p.Ours {
			v.State.Word = view.T(ctx, "Has not reported yet")
		}
	case "done":
		v.State = view.State{Class: "is-stop", Icon: "s-done", Word: view.T(ctx, "All delivered")}
	case "gone":
		v.State = view.State{Class: "is-stop", Icon: "s-stop", Word: view.T(ctx, "Wants nothing more")}
	default:
		v.State = view.State{Class: "is-fail", Icon: "s-fail", Word: view.T(ctx, "Given up")}
	}
	if p.Error != "" {
		v.Detail = view.T(ctx, "%s (attempt %d)", p.Error, p.Attempts)
		if !p.Next.IsZero() {
			v.Detail += ", " + view.T(ctx, "next at %s", view.When(ctx, p.Next, s.now()))
		}
	}
	return v
}

// testPush delivers the task to one of its webhooks, once.
func (s *Site) testPush(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Inspector == nil {
		return errNoPage
	}
	run := r.PathValue("id")
	if _, err := s.opts.Inspector.TestPush(r.Context(), run, r.PathValue("push")); err != nil {
		return err
	}
	s.boards.touch()
	return done(w, r, "/tasks/"+url.PathEscape(run))
}

// told reads what is in the log of a task: the task as it stands, and what happened to it, newest first.
func (s *Site) told(ctx context.Context, run *orchestrator.Run) (*a2a.Task, []view.TaskEvent, error) {
	t := &a2a.Task{ID: run.ID, ContextID: run.ContextID}
	var l ledger
	for batch, err := range s.store.ReadRun(ctx, run.ID, 0) {
		if err != nil {
			return nil, nil, err
		}
		for _, e := range batch {
			l.add(ctx, s, e)
			if !e.Kind.A2A() {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return nil, nil, err
			}
			if m, ok := ev.(*a2a.Message); ok {
				t.History = append(t.History, *m)
				continue
			}
			t.Apply(ev)
		}
	}
	slices.Reverse(l.lines)
	return t, l.lines, nil
}

// ledger writes down what happened to a task.
type ledger struct {
	lines []view.TaskEvent
	last  a2a.TaskState
	said  string         // HTML of the words that were written down with it or with a question: nothing is written twice
	arts  map[string]int // line of an artifact that is being written, by its id
	n     map[string]int
}

func (l *ledger) put(s *Site, at time.Time, id string, e view.TaskEvent) {
	e.ID, e.At = id, at.In(s.now().Location())
	l.lines = append(l.lines, e)
}

func (l *ledger) add(ctx context.Context, s *Site, e *orchestrator.Event) {
	id := "e" + strconv.FormatInt(e.Seq, 10)
	var body struct {
		Agent   string              `json:"agent"`
		Task    string              `json:"task"`
		Why     string              `json:"why"`
		Reason  string              `json:"reason"`
		Prompt  string              `json:"prompt"`
		Shown   string              `json:"shown"`
		Attempt int                 `json:"attempt"`
		State   string              `json:"state"`
		Fault   *orchestrator.Fault `json:"fault"`
	}
	if !e.Kind.A2A() {
		_ = json.Unmarshal(e.JSON, &body)
	}
	line := view.TaskEvent{Icon: "s-sent", Kind: "is-wait"}
	switch e.Kind {
	case orchestrator.EventTask, orchestrator.EventStatus, orchestrator.EventArtifact, orchestrator.EventMessage:
		if ev, err := e.Event(); err == nil {
			l.a2a(ctx, s, id, e.At, ev)
		}
		return
	case orchestrator.EventSending:
		line.What = view.T(ctx, "Sent to %s", s.speaker(ctx, body.Agent).Name)
		if body.Attempt > 1 {
			line.What = view.T(ctx, "Sent to %s, attempt %d", s.speaker(ctx, body.Agent).Name, body.Attempt)
		}
	case orchestrator.EventSent:
		line.What = view.T(ctx, "The agent took it")
		if body.Task != "" {
			line.What = view.T(ctx, "The agent made it its task %s", body.Task)
		}
	case orchestrator.EventPlanned:
		if body.Why == "" {
			return
		}
		line.What, line.Text = view.T(ctx, "Planned"), s.md.HTML(body.Why)
	case orchestrator.EventAsked:
		line.Icon, line.Kind = "s-ask", "is-ask"
		line.What, line.Text = view.T(ctx, "Asked you"), s.md.HTML(shorten(promptWords(ctx, body.Prompt), lineText))
		l.said = line.Text
	case orchestrator.EventAnswered:
		line.Icon, line.Kind = "s-done", "is-done"
		closed, answer := view.AskClosed(ctx, orchestrator.AskState(body.State), body.Shown)
		line.What, line.Text = closed.Word, s.md.HTML(answerWords(ctx, answer, nil))
	case orchestrator.EventStopping:
		line.Icon, line.What = "s-stop", view.T(ctx, "Somebody asked to stop")
	case orchestrator.EventGap:
		line.Icon, line.What, line.Text = "s-skip", view.T(ctx, "Events may be missing here"), s.md.HTML(body.Reason)
	case orchestrator.EventFault:
		if body.Fault == nil {
			return
		}
		line.Icon, line.Kind, line.What = "s-fail", "is-fail", view.Tv(ctx, body.Fault.What)
		line.Text = s.md.HTML(view.Tv(ctx, body.Fault.Do))
	default:
		return
	}
	l.put(s, e.At, id, line)
}

// a2a writes down an event of A2A. The updates of one artifact are one line.
func (l *ledger) a2a(ctx context.Context, s *Site, id string, at time.Time, ev a2a.Event) {
	switch ev := ev.(type) {
	case *a2a.Task:
		l.state(ctx, s, id, at, ev.Status)
		for i := range ev.Artifacts {
			l.artifact(ctx, s, id+"-"+strconv.Itoa(i), at, &ev.Artifacts[i])
		}
	case *a2a.StatusUpdate:
		l.state(ctx, s, id, at, ev.Status)
	case *a2a.ArtifactUpdate:
		l.artifact(ctx, s, id, at, &ev.Artifact)
	case *a2a.Message:
		what := view.T(ctx, "Answered with a message")
		if ev.Role == a2a.RoleUser {
			what = view.T(ctx, "A reply to it")
		}
		l.put(s, at, id, view.TaskEvent{Icon: "s-sent", Kind: "is-wait", What: what, Text: s.md.HTML(shorten(messageText(ev), lineText))})
	}
}

func (l *ledger) state(ctx context.Context, s *Site, id string, at time.Time, st a2a.TaskStatus) {
	v := view.TaskState(ctx, st.State)
	line := view.TaskEvent{Icon: v.Icon, Kind: v.Class, What: v.Word}
	if st.Message != nil {
		line.Text = s.md.HTML(shorten(messageText(st.Message), lineText))
	}
	if st.State == l.last {
		if line.Text == "" || line.Text == l.said {
			return // it says nothing new
		}
		line.What = ""
	}
	text := line.Text
	if text == l.said {
		line.Text = "" // it stands in the line before
	}
	l.last, l.said = st.State, text
	l.put(s, at, id, line)
}

func (l *ledger) artifact(ctx context.Context, s *Site, id string, at time.Time, a *a2a.Artifact) {
	if l.arts == nil {
		l.arts, l.n = map[string]int{}, map[string]int{}
	}
	name := a.Name
	if name == "" {
		name = a.ID
	}
	l.n[a.ID]++
	if i, ok := l.arts[a.ID]; ok {
		if a.Name == "" {
			name = l.lines[i].Day
		}
		l.lines[i].What = view.Tn(ctx, l.n[a.ID], "%d update of the artifact %s", "%d updates of the artifact %s", name)
		return
	}
	l.arts[a.ID] = len(l.lines)
	l.put(s, at, id, view.TaskEvent{Icon: "i-file", Kind: "is-wait", What: view.T(ctx, "The artifact %s", name), Day: name})
}

func messageText(m *a2a.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case a2a.PartText:
			parts = append(parts, p.Text)
		case a2a.PartData:
			parts = append(parts, "```json\n"+pretty(p.Data)+"\n```")
		}
	}
	return strings.Join(parts, "\n\n")
}
