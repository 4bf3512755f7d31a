package local_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/orchestratortest"
)

// An agent that hangs while it is to undo something keeps a stopped run open for the time of the step, an hour where that
// says none, and no longer: also when it does not obey. The plan says so, and the rest is undone all the same.
func TestUndoHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout string
		after   time.Duration
		refuses bool
		restart bool // Parley is, half way
	}{
		"for an hour":        {after: engine.UndoTimeout * time.Millisecond},
		"for the step's own": {timeout: ", timeout: 90s", after: 90 * time.Second},
		"and goes on":        {timeout: ", timeout: 90s", after: 90 * time.Second, refuses: true},
		"over a restart":     {after: engine.UndoTimeout * time.Millisecond, restart: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, nil)
				held, over := make(chan struct{}), make(chan struct{})
				t.Cleanup(func() { close(over) }) // before the agents are waited for
				s.add("holds", func(x *orchestratortest.Turn) {
					x.Status(a2a.TaskStateWorking)
					close(held)
					<-x.Canceled()
				})
				quick := s.add("quick", func(x *orchestratortest.Turn) { x.Reply(a2a.TextPart("done")) })
				hangs := s.add("hangs", func(x *orchestratortest.Turn) {
					x.Status(a2a.TaskStateWorking)
					select {
					case <-x.Canceled():
					case <-over:
					}
				})
				if c.refuses {
					hangs.RefusesStop(a2a.ErrTaskNotCancelable)
				}
				run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: fmt.Appendf(nil, `
name: Undone
steps:
  - {id: a, agent: quick, message: one, undo: {message: undo one}}
  - {id: b, needs: a, agent: quick, message: two, undo: {agent: hangs, message: undo two}%s}
  - {id: c, needs: b, agent: holds, message: three}
`, c.timeout)})
				s.must(err)
				<-held
				s.must(s.d.Stop(t.Context(), run.ID))
				synctest.Wait()
				if len(hangs.Sent()) != 1 {
					t.Fatalf("it was told %d times to undo", len(hangs.Sent()))
				}
				began := time.Now()
				if c.restart {
					time.Sleep(c.after / 2)
					s.restart()
				}
				time.Sleep(c.after - time.Since(began) - time.Millisecond)
				synctest.Wait()
				if now := state(t, s.store, run.ID); now.Terminal() || hangs.Cancels() != 0 {
					t.Fatalf("a millisecond before its time the run is %s, after %d cancels", now, hangs.Cancels())
				}
				s.reaches(run.ID, a2a.TaskStateCanceled)
				if took := time.Since(began); took < c.after || took > c.after+time.Minute {
					t.Errorf("it took %s", took)
				}
				if hangs.Cancels() != 1 || len(quick.Sent()) != 3 {
					t.Errorf("%d cancels, %d messages to the other agent", hangs.Cancels(), len(quick.Sent()))
				}
				p, err := s.d.Plan(t.Context(), run.ID)
				s.must(err)
				undo := p.Nodes[1].Calls[1]
				if undo.Item != engine.UndoItem || undo.State != a2a.TaskStateCanceled || undo.Fault == nil || (undo.Fault.Kind == "deadline") == c.refuses {
					t.Errorf("%+v, %+v", undo, undo.Fault)
				}
				if one := p.Nodes[0].Calls[1]; one.State != a2a.TaskStateCompleted || one.Fault != nil {
					t.Errorf("%+v", one)
				}
			})
		})
	}
}
