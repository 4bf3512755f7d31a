package demo

import (
	"net/http"
	"sync"
)

// signIns are the tasks that wait for somebody to sign in on a page of ours.
type signIns struct {
	mu      sync.Mutex
	waiting map[string]chan bool // the person's decision, by task
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
		writePage(w, page, http.StatusOK, nil)
	}
	mux.HandleFunc("GET /vault/sign-in/{task}", func(w http.ResponseWriter, r *http.Request) {
		show(w, "sign-in", s.waits(r.PathValue("task")))
	})
	mux.Handle("POST /vault/sign-in/{task}", http.NewCrossOriginProtection().Handler(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
			show(w, "signed-in", s.decide(r.PathValue("task"), r.FormValue("decision") == "yes"))
		})))
}
