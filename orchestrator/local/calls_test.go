package local_test

import (
	"slices"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

// Plans within plans multiply what they call: that many calls of one principal go on at a time, and no more. It is no more
// than a failure of the plan, and what had begun is stopped.
func TestBoundOfCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, row := s.agents.Add("a", func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateCompleted, "ok") })
	s.must(s.store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}, Workflows: []*orchestrator.Workflow{{
		ID: "inner", Name: "inner", Source: []byte("name: inner\nsteps:\n  - {id: go, for-each: [1, 2, 3], agent: a, message: hi}\n"),
	}}}))
	for _, c := range []struct {
		bound int
		want  a2a.TaskState
	}{{8, a2a.TaskStateCompleted}, {7, a2a.TaskStateFailed}, {9, a2a.TaskStateCompleted}} {
		s.d.BoundCalls(c.bound)
		run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: []byte("name: outer\nsteps:\n  - {id: go, for-each: [1, 2], use: inner}\n")})
		s.must(err)
		for end := time.Now().Add(10 * time.Second); !state(t, s.store, run.ID).Terminal() || s.d.Calls(orchestrator.LocalPrincipal) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d at a time: %s, and %d calls go on", c.bound, state(t, s.store, run.ID), s.d.Calls(orchestrator.LocalPrincipal))
			}
		}
		if got := state(t, s.store, run.ID); got != c.want {
			t.Errorf("%d at a time: %s", c.bound, got)
		}
		if p, err := s.d.Plan(t.Context(), run.ID); err != nil || c.want == a2a.TaskStateFailed && p.Fault == nil {
			t.Errorf("%+v %v", p, err)
		}
	}
}

// What goes on counts after a restart as before.
func TestBoundOfCallsAfterARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	end := make(chan struct{})
	_, row := s.agents.Add("a", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-end
		x.Say(a2a.TaskStateCompleted, "ok")
	})
	s.must(s.store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}))
	run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: []byte("name: all\nsteps:\n  - {id: go, for-each: [1, 2, 3], agent: a, message: hi}\n")})
	s.must(err)
	count := func(n int) {
		t.Helper()
		waitFor(t, func() bool { return s.d.Calls(orchestrator.LocalPrincipal) == n })
	}
	count(3)
	waitFor(t, func() bool {
		p, err := s.d.Plan(t.Context(), run.ID)
		s.must(err)
		return !slices.ContainsFunc(p.Nodes[0].Calls, func(c orchestrator.PlanCall) bool { return c.State != a2a.TaskStateWorking })
	})
	s.restart()
	count(3)
	close(end)
	waitFor(t, func() bool { return state(t, s.store, run.ID) == a2a.TaskStateCompleted })
	count(0)
}
