package local_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// traced remembers the traces under which agents are called.
type traced struct {
	*orchestratortest.Agents
	mu   sync.Mutex
	seen []orchestrator.Trace
}

func (c *traced) Send(ctx context.Context, g *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	c.mu.Lock()
	c.seen = append(c.seen, orchestrator.OriginOf(ctx).Trace)
	c.mu.Unlock()
	return c.Agents.Send(ctx, g, r)
}

// Every call of a plan carries the trace of the plan, also of one that is taken up; a caller's own trace goes on.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	c := &traced{Agents: s.agents}
	restart := func() {
		s.must(s.d.Close(t.Context()))
		s.d = local.New(s.store, c, s.options)
		s.must(s.d.Resume(t.Context()))
	}
	restart()
	s.add("a", answering("a"))
	s.must(s.store.Write(t.Context(), &orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "inner", Name: "Inner", Source: []byte(
		"name: Inner\nsteps:\n  - {id: x, agent: a, message: go}\n")}}}))
	file := []byte("name: T\nsteps:\n  - {id: a, agent: a, message: go}\n  - {id: q, needs: a, ask: {prompt: Well?}}\n  - {id: b, needs: q, agent: a, message: go}\n  - {id: u, needs: q, use: inner}\n")
	run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: file})
	s.must(err)
	ask := s.ask()
	restart()
	s.must(s.d.Answer(t.Context(), ask.ID, &orchestrator.Answer{Text: "yes"}))
	s.reaches(run.ID, a2a.TaskStateCompleted)
	want := orchestrator.TraceOfRun(run.ID)
	if len(c.seen) != 3 || c.seen[0] != want || c.seen[1] != want || c.seen[2] != want {
		t.Errorf("%v, want %s", c.seen, want)
	}

	c.seen = nil
	theirs := orchestrator.ReadTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	ctx := orchestrator.WithTrace(t.Context(), theirs)
	for _, ctx := range []context.Context{ctx, t.Context()} {
		started, err := s.d.Tasks("a").Start(ctx, "ann", &a2a.SendRequest{Message: a2a.Message{ID: string(orchestrator.TraceOf(ctx)) + "m", Parts: []a2a.Part{a2a.TextPart("go")}}})
		s.must(err)
		for _, err := range s.d.Tasks("a").Events(t.Context(), "ann", started.TaskID, started.After) {
			s.must(err)
		}
	}
	if len(c.seen) != 2 || c.seen[0] != theirs || c.seen[1] != "" {
		t.Errorf("%v behind the gateway, want %s and none", c.seen, theirs)
	}
}
