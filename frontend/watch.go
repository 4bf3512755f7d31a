package frontend

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// watch is a task at an agent that a person looks at without a run of ours: one that the program lost sight of, that was
// sent by replaying a request, or that somebody began elsewhere. It is asked for, and followed when the person subscribes.
// What it says is kept in memory while it is looked at.
type watch struct {
	mu        sync.Mutex
	task      *a2a.Task
	fault     *orchestrator.Fault
	log       ledger
	n         int
	following bool
	ended     bool
	used      time.Time
}

const (
	watchMost = 32        // tasks that are kept
	watchTime = time.Hour // that one is followed for
)

// watches are kept by agent and task.
type watches struct {
	mu  sync.Mutex
	all map[[2]string]*watch
}

func (s *Site) watch(agent, task string) *watch {
	w := &s.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]string{agent, task}
	k := w.all[key]
	if k == nil {
		if w.all == nil {
			w.all = map[[2]string]*watch{}
		}
		if len(w.all) >= watchMost {
			var oldest [2]string
			for key, k := range w.all {
				if o := w.all[oldest]; !k.following && (o == nil || k.used.Before(o.used)) {
					oldest = key
				}
			}
			delete(w.all, oldest)
		}
		k = &watch{}
		w.all[key] = k
	}
	k.used = s.now()
	return k
}

// look asks the agent for the task.
func (s *Site) look(ctx context.Context, k *watch, agent, task string) {
	t, err := s.opts.Inspector.TaskAt(ctx, agent, task)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		_, k.fault = faultOf(ctx, err)
		return
	}
	k.fault = nil
	k.see(ctx, s, t)
}

// see takes an event in; mu is held.
func (k *watch) see(ctx context.Context, s *Site, ev a2a.Event) {
	if t, ok := ev.(*a2a.Task); ok {
		k.task = t
	} else if k.task != nil {
		k.task.Apply(ev)
	}
	k.n++
	k.log.a2a(ctx, s, "s"+strconv.Itoa(k.n), s.now(), ev)
	if k.task != nil {
		k.ended = k.task.Status.State.Terminal()
	}
}

// watchBoard draws a task at an agent.
func (s *Site) watchBoard(ctx context.Context, agent, task string) (*board, error) {
	if s.opts.Inspector == nil || agent == "" || task == "" {
		return nil, orchestrator.ErrNotFound
	}
	who := s.speaker(ctx, agent)
	k := s.watch(agent, task)
	k.mu.Lock()
	defer k.mu.Unlock()
	d := view.TaskDetail{
		TaskRow: view.TaskRow{ID: task, Agent: who, State: view.TaskState(ctx, a2a.TaskState("unknown"))},
		AtAgent: agent, Watching: k.following, CanWatch: !k.ended,
	}
	d.State = view.State{Class: "is-wait", Icon: "s-wait", Word: view.T(ctx, "Not known yet")}
	d.Title = view.T(ctx, "Task %s at %s", clip(task, 12), who.Name)
	if k.fault != nil {
		d.Fault = view.FaultOf(ctx, k.fault, "")
	}
	if k.task != nil {
		d.Context, d.State = k.task.ContextID, view.TaskState(ctx, k.task.Status.State)
		d.Updated, d.Open = k.task.Status.Timestamp, !k.ended
		d.Started = d.Updated
		s.talk(ctx, &d, k.task)
	}
	switch {
	case k.following:
		d.Note = view.T(ctx, "Parley follows it, as long as this program runs.")
	case !k.ended && k.task != nil:
		d.Note = view.T(ctx, "As it stood when it was asked for. Subscribe to follow it.")
	}
	b := &board{}
	lines := slices.Clone(k.log.lines)
	slices.Reverse(lines)
	s.drawTask(ctx, b, d, lines)
	return b, nil
}

// taskAtPage shows what an agent lists, or one task of it.
func (s *Site) taskAtPage(w http.ResponseWriter, r *http.Request) error {
	ctx, agent, task := r.Context(), r.PathValue("agent"), r.PathValue("task")
	if s.opts.Inspector == nil {
		return errNoPage
	}
	if _, err := s.store.Agent(ctx, agent); err != nil {
		return err
	}
	if task == "" {
		if t := strings.TrimSpace(r.URL.Query().Get("task")); t != "" {
			http.Redirect(w, r, "/tasks/at/"+url.PathEscape(agent)+"/"+url.PathEscape(t), http.StatusSeeOther)
			return nil
		}
		return s.tasksAtPage(w, r, agent)
	}
	k := s.watch(agent, task)
	k.mu.Lock()
	following := k.following
	k.mu.Unlock()
	if !following {
		s.look(ctx, k, agent, task)
	}
	b, err := s.watchBoard(ctx, agent, task)
	if err != nil {
		return err
	}
	return s.writeTask(w, r, b)
}

func (s *Site) tasksAtPage(w http.ResponseWriter, r *http.Request, agent string) error {
	ctx := r.Context()
	v := view.Tasks{Agent: s.people.link(ctx, agent)}
	tasks, err := s.opts.Inspector.TasksAt(ctx, agent)
	if err != nil {
		_, f := faultOf(ctx, err)
		v.Fault = view.FaultOf(ctx, f, "")
	}
	for _, t := range tasks {
		row := view.TaskRow{
			ID: t.ID, State: view.TaskState(ctx, t.Status.State), Href: "/tasks/at/" + url.PathEscape(agent) + "/" + url.PathEscape(t.ID),
			Title: view.T(ctx, "Task %s", clip(t.ID, 8)),
		}
		for _, m := range t.History {
			if text := firstLine(messageText(&m)); text != "" {
				row.Title = text
				break
			}
		}
		v.Theirs = append(v.Theirs, row)
	}
	return s.write(w, r, http.StatusOK, view.TasksPage(s.page(r, view.T(ctx, "Tasks"), view.Side{Section: "tasks"}), v))
}

// watchTask follows a task at an agent.
func (s *Site) watchTask(w http.ResponseWriter, r *http.Request) error {
	agent, task := r.PathValue("agent"), r.PathValue("task")
	if s.opts.Inspector == nil {
		return errNoPage
	}
	k := s.watch(agent, task)
	k.mu.Lock()
	begun := k.following || k.ended
	if !begun {
		k.following, k.fault = true, nil
	}
	k.mu.Unlock()
	if !begun && s.enter() {
		go func() {
			defer s.wg.Done()
			s.follow(k, agent, task)
		}()
	}
	s.boards.touch()
	return done(w, r, "/tasks/at/"+url.PathEscape(agent)+"/"+url.PathEscape(task))
}

func (s *Site) follow(k *watch, agent, task string) {
	ctx, stop := context.WithTimeout(s.spoken(s.ctx), watchTime)
	defer stop()
	for ev, err := range s.opts.Inspector.AwaitAt(ctx, agent, task) {
		k.mu.Lock()
		var gap *orchestrator.Gap
		switch {
		case err == nil:
			k.see(ctx, s, ev)
		case errors.As(err, &gap):
			k.n++
			k.log.put(s, s.now(), "s"+strconv.Itoa(k.n), view.TaskEvent{Icon: "s-skip", Kind: "is-wait", What: view.T(ctx, "Events may be missing here"), Text: s.md.HTML(gap.Reason)})
		case ctx.Err() == nil:
			_, k.fault = faultOf(ctx, err)
		}
		k.mu.Unlock()
		s.boards.touch()
	}
	k.mu.Lock()
	k.following = false
	k.mu.Unlock()
	s.boards.touch()
}

// cancelAt cancels a task at an agent.
func (s *Site) cancelAt(w http.ResponseWriter, r *http.Request) error {
	ctx, agent, task := r.Context(), r.PathValue("agent"), r.PathValue("task")
	if s.opts.Inspector == nil {
		return errNoPage
	}
	t, err := s.opts.Inspector.CancelAt(ctx, agent, task)
	if err != nil {
		return err
	}
	k := s.watch(agent, task)
	k.mu.Lock()
	k.see(ctx, s, t)
	k.mu.Unlock()
	s.boards.touch()
	return done(w, r, "/tasks/at/"+url.PathEscape(agent)+"/"+url.PathEscape(task))
}
