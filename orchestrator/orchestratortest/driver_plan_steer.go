package orchestratortest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

func planStop(w *world) {
	slow := w.add("slow", waits(nil))
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	run := w.launch(`
  - {id: a, agent: slow, message: go}
  - {id: b, agent: asker, message: go}
  - {id: c, needs: [a, b], agent: slow, message: go}
  - {id: q, ask: {prompt: "Well?"}}
`)
	w.openAsks(2)
	w.eventually("both go on", func() bool { return len(slow.Tasks()) == 1 })
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if s := w.states(run.ID); s != "a=canceled b=canceled c=canceled q=canceled" {
		w.Error(s)
	}
	w.openAsks(0)
	if slow.Cancels() != 1 {
		w.Errorf("%d cancels", slow.Cancels())
	}
}

// planStopRefused: neither a step nor the run waits for an agent that does not stop.
func planStopRefused(w *world) {
	done := make(chan struct{})
	defer close(done)
	for _, id := range []string{"slow", "other"} {
		w.add(id, waits(done)).RefusesStop(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "I never stop"})
	}
	run := w.launch(`
  - {id: a, agent: slow, message: go, on-error: skip}
  - {id: b, agent: other, message: go}
`)
	refused := func(step string) {
		w.Helper()
		n := w.step(run.ID, step)
		if c := n.Calls[0]; c.State != a2a.TaskStateCanceled || c.Fault == nil || c.Fault.Where != orchestrator.WhereAgent {
			w.Errorf("%+v, %+v", c, c.Fault)
		}
	}
	w.eventually("both go on", func() bool {
		return w.step(run.ID, "a").State == "running" && w.run(w.step(run.ID, "a").Calls[0].RunID).State == a2a.TaskStateWorking &&
			w.step(run.ID, "b").State == "running" && w.run(w.step(run.ID, "b").Calls[0].RunID).State == a2a.TaskStateWorking
	})
	w.must(w.planner().StopStep(w.ctx, run.ID, "a"))
	w.eventually("the step is over", func() bool { return w.states(run.ID) == "a=failed b=running" })
	refused("a")
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	refused("b")
}

func planStopUndoes(w *world) {
	var said []string
	agent := w.add("a", nil)
	agent.Plays(func(x *Turn) {
		said = append(said, a2a.Text(x.Message.Parts))
		echoes("did ")(x)
	})
	w.add("slow", waits(nil))
	run := w.launch(`
  - {id: a, agent: a, message: one, undo: {message: "undo ${{ steps.a.text }}"}}
  - {id: b, needs: a, agent: a, message: two, undo: {message: "undo two"}}
  - {id: c, needs: b, agent: slow, message: go}
`)
	w.eventually("the third goes on", func() bool { return w.step(run.ID, "c").State == "running" })
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if want := []string{"one", "two", "undo two", "undo did one"}; !slices.Equal(said, want) {
		w.Errorf("%q", said)
	}
}

func planSteered(w *world) {
	slow := w.add("slow", waits(nil))
	other := w.add("other", waits(nil))
	run := w.launch(`
  - {id: a, agent: slow, message: go, on-error: skip}
  - {id: b, agent: other, message: go}
`)
	w.eventually("both go on", func() bool { return len(slow.Tasks()) == 1 && len(other.Tasks()) == 1 })
	if n := w.step(run.ID, "a"); !n.CanStop || n.CanRetry {
		w.Errorf("%+v", n)
	}
	if _, err := w.planner().RetryStep(w.ctx, run.ID, "a"); err == nil {
		w.Error("a step that goes on was tried again")
	}
	w.must(w.planner().StopStep(w.ctx, run.ID, "a"))
	w.eventually("the step has stopped", func() bool { return w.states(run.ID) == "a=failed b=running" })
	if err := w.planner().StopStep(w.ctx, run.ID, "a"); err == nil {
		w.Error("a step that has ended was stopped")
	}
	slow.Plays(echoes("now "))
	w.again(run.ID, "a")
	w.eventually("the step is done", func() bool { return w.states(run.ID) == "a=done b=running" })
	if n := w.step(run.ID, "a"); n.Text != "now go" || len(n.Calls) != 2 || n.Calls[0].RunID == n.Calls[1].RunID {
		w.Errorf("%+v", n)
	}
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
}

func planUses(w *world) {
	w.add("a", echoes("a:"))
	w.must(w.store.Write(w.ctx, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "inner", Name: "Inner", Source: []byte(`
name: Inner
inputs: {x: {type: string}}
steps:
  - {id: a, agent: a, message: "${{ inputs.x }}"}
  - {id: q, needs: a, ask: {prompt: "Well?"}}
outputs: {y: "${{ steps.a.text }}", z: "${{ steps.q.text }}"}
`)}}}))
	run := w.launch(`
  - {id: u, use: ./inner.yaml, with: {x: "1"}}
  - {id: v, needs: u, use: inner, with: {x: "${{ steps.u.data.y }}${{ steps.u.data.z }}"}}
  - {id: end, needs: v, agent: a, message: "${{ steps.v.data.y }}"}
`)
	for range 2 {
		w.reaches(run.ID, a2a.TaskStateInputRequired)
		w.must(w.driver.Answer(w.ctx, w.openAsks(1)[0].ID, &orchestrator.Answer{Text: "+"}))
		w.openAsks(0)
		w.eventually("it goes on", func() bool { return w.run(run.ID).State != a2a.TaskStateInputRequired || len(w.openNow()) > 0 })
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if n := w.step(run.ID, "end"); n.Text != "a:a:a:1+" {
		w.Errorf("%q", n.Text)
	}
	n := w.step(run.ID, "u")
	if len(n.Calls) != 1 || !n.Calls[0].Planned {
		w.Fatalf("%+v", n)
	}
	inner, err := w.planner().Plan(w.ctx, n.Calls[0].RunID)
	w.must(err)
	if inner.Name != "Inner" || len(inner.Nodes) != 2 {
		w.Errorf("%+v", inner)
	}
	run = w.launch("\n  - {id: u, use: nobody}\n")
	w.reaches(run.ID, a2a.TaskStateFailed)
}

func (w *world) openNow() []*orchestrator.Ask {
	open, err := w.store.OpenAsks(w.ctx, "")
	w.must(err)
	return open
}

// planStepAgain: the step that failed is tried again with what the others gave, and nobody else is asked again.
func planStepAgain(w *world) {
	a := w.add("a", echoes("a:"))
	failing := w.add("f", func(x *Turn) { x.Status(a2a.TaskStateFailed) })
	run := w.launch(`
  - {id: q, ask: {prompt: "Well?"}}
  - {id: s, agent: a, message: "1", approve: true}
  - {id: n, needs: [q, s], agent: a, for-each: ["2", "3"], message: "${{ item }}${{ steps.q.text }}${{ steps.s.text }}"}
  - {id: f, needs: n, agent: f, message: "${{ steps.s.text }}/${{ steps.n.text }}"}
  - {id: g, needs: f, agent: a, message: "${{ steps.f.text }}"}
`)
	for _, ask := range w.openAsks(2) {
		said := &orchestrator.Answer{Text: "+"}
		if ask.Kind == orchestrator.AskApproval {
			said = &orchestrator.Answer{Choice: "yes"}
		}
		w.must(w.driver.Answer(w.ctx, ask.ID, said))
	}
	w.reaches(run.ID, a2a.TaskStateFailed)
	if s := w.states(run.ID); s != "q=done s=done n=done f=failed g=skipped" {
		w.Fatal(s)
	}
	before := len(a.Sent())
	failing.Plays(echoes("f:"))
	call := w.step(run.ID, "f").Calls[0].RunID
	again, err := w.driver.Retry(w.ctx, call)
	w.must(err)
	if again.ID == run.ID || again.ConversationID != run.ConversationID {
		w.Errorf("again %+v", again)
	}
	w.reaches(again.ID, a2a.TaskStateCompleted)
	w.openAsks(0)
	if n := len(a.Sent()) - before; n != 1 {
		w.Errorf("%d messages went to the agent of the other steps, want the one that had none yet", n)
	}
	if n := w.step(again.ID, "s"); len(n.Calls) != 1 || n.Calls[0].RunID != w.step(run.ID, "s").Calls[0].RunID || n.Text != "a:1" {
		w.Errorf("what was done: %+v", n)
	}
	if n := w.step(again.ID, "g"); !strings.HasPrefix(n.Text, "a:f:a:1/") || !strings.Contains(n.Text, "a:2+a:1") {
		w.Errorf("it was told %q", n.Text)
	}
	// Of the same again, whatever was done since is kept as well, but for what needs the step.
	more, err := w.driver.Retry(w.ctx, w.step(again.ID, "f").Calls[0].RunID)
	w.must(err)
	w.reaches(more.ID, a2a.TaskStateCompleted)
	if n := len(a.Sent()) - before; n != 2 {
		w.Errorf("%d messages after another time, want 2", n)
	}
	// Tried as a whole, nothing is kept.
	whole, err := w.driver.Retry(w.ctx, run.ID)
	w.must(err)
	w.reaches(whole.ID, a2a.TaskStateInputRequired)
	if n := w.step(whole.ID, "n"); n.State != "waiting" {
		w.Errorf("%+v", n)
	}
	w.must(w.driver.Stop(w.ctx, whole.ID))
	w.reaches(whole.ID, a2a.TaskStateCanceled)
}

func planAgain(w *world) {
	agent := w.add("a", func(x *Turn) { x.Status(a2a.TaskStateFailed) })
	run := w.launch("\ninputs: {x: {type: integer}}\nname: Once more\nsteps:\n  - {id: a, agent: a, message: \"${{ inputs.x + 1 }}\"}\n", "x", "41")
	w.reaches(run.ID, a2a.TaskStateFailed)
	agent.Plays(echoes("now "))
	again, err := w.driver.Retry(w.ctx, run.ID)
	w.must(err)
	w.reaches(again.ID, a2a.TaskStateCompleted)
	if n := w.step(again.ID, "a"); n.Text != "now 42" || again.ConversationID != run.ConversationID {
		w.Errorf("%+v", n)
	}
}

func planAgainACall(w *world) {
	bad := w.add("bad", func(x *Turn) { x.Status(a2a.TaskStateFailed) })
	slow := w.add("slow", waits(nil))
	run := w.launch("\n  - {id: a, agent: bad, message: go, on-error: skip}\n  - {id: b, agent: slow, message: go}\n")
	w.eventually("one has failed", func() bool { return w.states(run.ID) == "a=failed b=running" && len(slow.Tasks()) == 1 })
	bad.Plays(echoes("now "))
	call := w.step(run.ID, "a").Calls[0].RunID
	again, err := w.driver.Retry(w.ctx, call)
	w.must(err)
	if again.ID != run.ID {
		w.Errorf("another run was begun: %+v", again)
	}
	w.eventually("it is done", func() bool { return w.states(run.ID) == "a=done b=running" })
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	anew, err := w.driver.Retry(w.ctx, call)
	w.must(err)
	if anew.ID == run.ID || anew.Scope != run.Scope {
		w.Errorf("%+v", anew)
	}
	w.must(w.driver.Stop(w.ctx, anew.ID))
	w.reaches(anew.ID, a2a.TaskStateCanceled)
}

// again tries a step of a run that goes on again.
func (w *world) again(run, node string) {
	w.Helper()
	at, err := w.planner().RetryStep(w.ctx, run, node)
	w.must(err)
	if at.ID != run {
		w.Errorf("the step goes on in %s", at.ID)
	}
}

// planAgainWithOthers: a step that is tried again takes along what was skipped because of it, also after a restart.
func planAgainWithOthers(w *world) {
	bad := w.add("bad", func(x *Turn) { x.Status(a2a.TaskStateFailed) })
	w.add("next", echoes("then "))
	slow := w.add("slow", waits(nil))
	run := w.launch(`
  - {id: a, agent: bad, message: go, on-error: skip}
  - {id: b, needs: a, if: "steps.a.state == 'done'", agent: next, message: "${{ steps.a.text }}"}
  - {id: c, needs: b, agent: next, message: "${{ steps.b.text }}"}
  - {id: d, agent: slow, message: go}
`)
	w.eventually("two were skipped", func() bool {
		return w.states(run.ID) == "a=failed b=skipped c=skipped d=running" && len(slow.Tasks()) == 1
	})
	bad.Plays(echoes("now "))
	w.crash()
	w.start()
	w.again(run.ID, "a")
	w.eventually("they were done", func() bool { return w.states(run.ID) == "a=done b=done c=done d=running" })
	if n := w.step(run.ID, "c"); n.Text != "then then now go" {
		w.Errorf("%+v", n)
	}
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
}

// forgetter is a driver that lets go of what is erased.
type forgetter interface {
	Forget(ctx ctx, conversation string, erase func() error) error
}

func planForget(w *world) {
	f, ok := w.driver.(forgetter)
	if !ok {
		w.Skip("the driver erases nothing")
	}
	gate := make(chan struct{})
	w.add("slow", func(x *Turn) {
		x.Status(a2a.TaskStateWorking)
		<-gate
		x.Status(a2a.TaskStateCompleted)
	})
	next := w.add("next", echoes(""))
	run := w.launch("\n  - {id: a, agent: slow, message: go}\n  - {id: b, needs: a, agent: next, message: go}\n")
	w.eventually("it goes on", func() bool { return w.step(run.ID, "a").Calls[0].State == a2a.TaskStateWorking })
	w.must(f.Forget(w.ctx, run.ConversationID, func() error {
		before := len(w.events(run.ID))
		close(gate)
		w.agents.Wait()
		w.must(w.driver.Close(w.ctx))
		if after := len(w.events(run.ID)); after != before || len(next.Sent()) != 0 {
			w.Errorf("%d events were stored after it was forgotten, %d messages sent", after-before, len(next.Sent()))
		}
		return nil
	}))
	w.store = w.newStore(w)
	w.start()
}

// A deadline is met by whoever carries the plan on when it is there, also when that was somebody else before.
func planTimer(w *world) {
	for timeout := time.Second; !w.timed(timeout); timeout *= 2 { // a busy machine did not come to the call in time
	}
}

// timed kills the driver while a step with a deadline is carried out, unless the deadline is there before.
func (w *world) timed(timeout time.Duration) bool {
	id := "slow-" + timeout.String()
	slow := w.add(id, waits(nil))
	run := w.launch(fmt.Sprintf("\n  - {id: a, agent: %s, message: go, timeout: %s}\n", id, timeout))
	w.eventually("it goes on", func() bool { return len(slow.Tasks()) == 1 || w.run(run.ID).State.Terminal() })
	if w.run(run.ID).State.Terminal() {
		return false
	}
	w.crash()
	w.start()
	w.reaches(run.ID, a2a.TaskStateFailed)
	if f := w.step(run.ID, "a").Fault; f == nil || f.Kind != "deadline" {
		w.Errorf("%+v", f)
	}
	if slow.Cancels() != 1 {
		w.Errorf("%d cancels", slow.Cancels())
	}
	return true
}

func planFound(w *world) {
	for _, id := range []string{"c", "a", "b", "d"} {
		w.add(id, echoes(id+":"))
		w.register(id, func(a *orchestrator.Agent) {
			a.Card = &a2a.AgentCard{Name: id, Skills: []a2a.AgentSkill{{ID: "write", Tags: []string{"Text", "fast"}}}}
			if id == "a" {
				a.Trust = orchestrator.TrustPending
			}
			if id == "d" {
				a.Card.Skills[0].ID = "draw"
			}
		})
	}
	run := w.launch(`
  - {id: x, agent: {skill: write}, message: go}
  - {id: y, agent: {skill: draw, tags: [text]}, message: go}
  - {id: z, agent: {tags: [slow]}, message: go, on-error: skip}
`)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if x, y := w.step(run.ID, "x"), w.step(run.ID, "y"); x.AgentID != "b" || y.AgentID != "d" {
		w.Errorf("found %q and %q", x.AgentID, y.AgentID)
	}
	if f := w.step(run.ID, "z").Fault; f == nil || f.Kind != "agent-none" {
		w.Errorf("%+v", f)
	}
}

func planFollow(w *world) {
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	run := w.launch("\n  - {id: a, agent: asker, message: go}\n")
	answered := false
	var last *orchestrator.Plan
	for p, err := range w.planner().FollowPlan(w.ctx, run.ID) {
		w.must(err)
		last = p
		if ask := p.Nodes[0].AskID; ask != "" && !answered {
			answered = true
			w.must(w.driver.Answer(w.ctx, ask, &orchestrator.Answer{Text: "this"}))
		}
	}
	if !answered || last == nil || last.State != a2a.TaskStateCompleted || last.Nodes[0].State != "done" {
		w.Errorf("%+v", last)
	}
}
