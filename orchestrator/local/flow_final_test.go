package local_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/steps"
)

// relays is an agent that is another orchestrator: each message has it carry a workflow out, and it ends as that does.
func relays(t *testing.T, to func() *local.Driver, file string, calls *atomic.Int64) orchestratortest.Script {
	return func(x *orchestratortest.Turn) {
		ctx, tasks := t.Context(), to().Tasks("")
		m := *x.Message
		m.TaskID, m.ContextID = "", ""
		calls.Add(1)
		s, err := tasks.Launch(ctx, "ann", &a2a.SendRequest{Message: m}, &orchestrator.Launch{Source: []byte(file)})
		if e := (*a2a.Error)(nil); errors.As(err, &e) {
			told := *e
			told.Code = -32004 // as it is on the wire
			x.Fail(&told)
			return
		}
		if err != nil {
			x.Fail(err)
			return
		}
		for _, err := range tasks.Events(ctx, "ann", s.TaskID, s.After) {
			if err != nil {
				x.Fail(err)
				return
			}
		}
		task, err := tasks.Task(ctx, "ann", &a2a.GetRequest{ID: s.TaskID})
		if err != nil {
			x.Fail(err)
			return
		}
		x.Stands(task.Status)
	}
}

const retried = "name: Retried\nsteps:\n  - {id: a, agent: %s, message: %s, retry: {attempts: 3, backoff: 1ms}}\n"

// In a row of orchestrators, each of which tries three times, what can never succeed is tried once; what may is tried by
// each of them.
func TestTriesDoNotMultiply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message string // of the last of them to its agent
		agent   orchestratortest.Script
		calls   int64 // of that agent
		last    int64 // times that the last of them was asked
		retry   bool  // a person may try again
	}{
		"an operation that it does not have": {
			message: "go", calls: 1, last: 1, retry: true,
			agent: func(x *orchestratortest.Turn) {
				x.Fail(&a2a.Error{Kind: a2a.KindMethodNotFound, Code: -32601, Message: "no"})
			},
		},
		"an expression": {message: `"${{ int('x') }}"`, calls: 0, last: 1, retry: true},
		"a failure": {
			message: "go", calls: 27, last: 9, retry: true,
			agent: func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateFailed, "Out of paper.") },
		},
		"a task that takes no message now": {
			message: "go", calls: 9, last: 9, retry: true, // a fresh attempt may be answered in time
			agent: func(x *orchestratortest.Turn) {
				x.Fail(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "no"})
			},
		},
		"a refusal of what was said": {
			message: "go", calls: 9, last: 9, retry: true, // it may be said in other words
			agent: func(x *orchestratortest.Turn) {
				x.Fail(&a2a.Error{Kind: a2a.KindInvalidParams, Code: -32602, Message: "no"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second, third := newStage(t, nil), newStage(t, nil), newStage(t, nil)
			var calls, middle, last atomic.Int64
			third.add("agent", func(x *orchestratortest.Turn) { calls.Add(1); c.agent(x) })
			second.add("third", relays(t, func() *local.Driver { return third.d }, fmt.Sprintf(retried, "agent", c.message), &last))
			first.add("second", relays(t, func() *local.Driver { return second.d }, fmt.Sprintf(retried, "third", "go"), &middle))
			run, err := first.d.Launch(t.Context(), &orchestrator.Launch{Source: fmt.Appendf(nil, retried, "second", "go")})
			first.must(err)
			first.reaches(run.ID, a2a.TaskStateFailed)
			if calls.Load() != c.calls || last.Load() != c.last {
				t.Errorf("the agent was called %d times, want %d; the orchestrators %d and %d, want %d of the last", calls.Load(), c.calls, middle.Load(), last.Load(), c.last)
			}
			p, err := first.d.Plan(t.Context(), run.ID)
			first.must(err)
			if p.Fault == nil || p.Fault.Retry != c.retry || p.Fault.Final != (c.last == 1) || !p.Nodes[0].CanRetry {
				t.Errorf("%+v", p.Fault)
			}
		})
	}
}

// Two orchestrators that call each other in a circle go round until one sees it, and no more often for their retries.
func TestCircleGoesRoundOnce(t *testing.T) {
	t.Parallel()
	a, b := newStage(t, nil), newStage(t, nil)
	var calls atomic.Int64
	a.add("other", relays(t, func() *local.Driver { return b.d }, fmt.Sprintf(retried, "other", "go"), &calls))
	b.add("other", relays(t, func() *local.Driver { return a.d }, fmt.Sprintf(retried, "other", "go"), &calls))
	run, err := a.d.Launch(t.Context(), &orchestrator.Launch{Source: fmt.Appendf(nil, retried, "other", "go")})
	a.must(err)
	a.reaches(run.ID, a2a.TaskStateFailed)
	if n := calls.Load(); n != steps.MaxHops {
		t.Errorf("%d calls, want %d", n, steps.MaxHops)
	}
}

// Of what a fallback cannot do nothing follows: the first agent may do it another time. Nor of an expression about what an
// agent said, which may be something else then.
func TestNotFinal(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.add("tired", func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateFailed, "Not now.") })
	s.add("says", func(x *orchestratortest.Turn) { x.Reply(a2a.TextPart("x")) })
	s.add("cannot", func(x *orchestratortest.Turn) {
		x.Fail(&a2a.Error{Kind: a2a.KindMethodNotFound, Code: -32601, Message: "no"})
	})
	for file, final := range map[string]bool{
		"\n  - {id: a, agent: tired, message: go, on-error: {fallback: cannot}}\n":                                             false,
		"\n  - {id: a, agent: cannot, message: go}\n":                                                                          true,
		"\n  - {id: a, agent: says, message: go}\n  - {id: b, needs: a, agent: says, message: \"${{ int(steps.a.text) }}\"}\n": false,
		"\n  - {id: a, agent: says, message: \"${{ int(run.name) }}\"}\n":                                                      true,
	} {
		run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: []byte("name: Test\nsteps:" + file)})
		s.must(err)
		s.reaches(run.ID, a2a.TaskStateFailed)
		p, err := s.d.Plan(t.Context(), run.ID)
		s.must(err)
		task, err := s.d.Tasks("").Task(t.Context(), orchestrator.LocalPrincipal, &a2a.GetRequest{ID: run.ID})
		s.must(err)
		if got := steps.AgentFailed(task.Status); p.Fault == nil || p.Fault.Final != final || got.Final != final {
			t.Errorf("%s: %+v, told as %+v", file, p.Fault, got)
		}
	}
}
