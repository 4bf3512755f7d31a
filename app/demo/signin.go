package demo

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"parley/a2a"
)

// signIns are the tasks of an agent that wait for somebody to sign in on a page of ours.
type signIns struct {
	agent string // its path
	name  string // for people
	root  string // our origin, with a trailing slash

	mu      sync.Mutex
	waiting map[string]chan bool // the person's decision, by task
}

func newSignIns(agent, name, root string) *signIns {
	return &signIns{agent: agent, name: name, root: root, waiting: map[string]chan bool{}}
}

// ask is the status that sends a person to the page for a task.
func (s *signIns) ask(task, why string) *a2a.StatusUpdate {
	page := s.root + s.agent + "/sign-in/" + task
	ask := status(a2a.TaskStateAuthRequired, fmt.Sprintf("%s [Sign in to %s](%s) and I go on by myself.", why, s.name, page))
	ask.Status.Message.Parts = append(ask.Status.Message.Parts, a2a.DataPart(map[string]any{
		"schemes": []string{"OpenIDConnect"}, "signIn": page,
	}))
	return ask
}

// wait waits for the decision of a task that asked; on says what follows, when somebody signed in.
func (s *signIns) wait(ctx context.Context, decision <-chan bool, yield func(a2a.Event, error) bool, refused string, on func()) {
	select {
	case <-ctx.Done():
	case ok := <-decision:
		if !ok {
			yield(status(a2a.TaskStateRejected, "You declined the sign-in, so "+refused+"."), nil)
		} else if yield(status(a2a.TaskStateWorking, "Signed in."), nil) {
			on()
		}
	}
}

// expect lets a decision for the task in, until forget.
func (s *signIns) expect(task string) (decision <-chan bool, forget func()) {
	c := make(chan bool, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[task] = c
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, task)
	}
}

// decide passes a decision on; false when no task waits for it.
func (s *signIns) decide(task string, ok bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.waiting[task]
	delete(s.waiting, task)
	if c != nil {
		c <- ok
	}
	return c != nil
}

func (s *signIns) waits(task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[task] != nil
}

// routes are the page and its form. Whoever knows the task may decide; a real agent would ask here who that is.
func (s *signIns) routes(mux *http.ServeMux) {
	show := func(w http.ResponseWriter, page string, found bool) {
		if !found {
			writePage(w, "nothing", http.StatusNotFound, nil)
			return
		}
		writePage(w, page, http.StatusOK, s.name)
	}
	path := "/" + s.agent + "/sign-in/{task}"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		show(w, "sign-in", s.waits(r.PathValue("task")))
	})
	mux.Handle("POST "+path, http.NewCrossOriginProtection().Handler(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
			show(w, "signed-in", s.decide(r.PathValue("task"), r.FormValue("decision") == "yes"))
		})))
}
