package orchestratortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

// RunPlans checks what a driver that is an orchestrator.Planner too promises of plans.
func RunPlans(t *testing.T, newDriver NewDriver, newStore NewStore) {
	run(t, newDriver, newStore, []driverTest{
		{"Sequence", planSequence},
		{"Parallel", planParallel},
		{"ForEach", planForEach},
		{"BadLaunch", planBadLaunch},
		{"Fails", planFails},
		{"RetriesAndFallback", planRetries},
		{"AsksInReverse", planAsksInReverse},
		{"AskForm", planAskForm},
		{"Approve", planApprove},
		{"Preview", planPreview},
		{"SignIn", planSignIn},
		{"Stop", planStop},
		{"StopUndoes", planStopUndoes},
		{"Steered", planSteered},
		{"Uses", planUses},
		{"Again", planAgain},
		{"AgainACall", planAgainACall},
		{"Forget", planForget},
		{"Timer", planTimer},
		{"Found", planFound},
		{"Follow", planFollow},
		{"Caller", planCaller},
		{"CallerAsks", planCallerAsks},
		{"CrashAnywhere", planCrashAnywhere},
		{"CrashOnAnswer", planCrashOnAnswer},
		{"CrashSeeded", planCrashSeeded},
	})
}

func (w *world) planner() orchestrator.Planner {
	w.Helper()
	p, ok := w.driver.(orchestrator.Planner)
	if !ok {
		w.Fatalf("the driver carries out no plans")
	}
	return p
}

// launch begins a run of a workflow file. Its steps may be written without the rest.
func (w *world) launch(steps string, inputs ...string) *orchestrator.Run {
	w.Helper()
	run, err := w.planner().Launch(w.ctx, launch(steps, inputs...))
	w.must(err)
	return run
}

func launch(steps string, inputs ...string) *orchestrator.Launch {
	if !strings.Contains(steps, "steps:") {
		steps = "name: Test\nsteps:" + steps
	}
	l := &orchestrator.Launch{Source: []byte(steps), Inputs: map[string]json.RawMessage{}}
	for i := 0; i < len(inputs); i += 2 {
		l.Inputs[inputs[i]] = json.RawMessage(inputs[i+1])
	}
	return l
}

// step returns a step of a run's plan.
func (w *world) step(run, id string) orchestrator.PlanNode {
	w.Helper()
	p, err := w.planner().Plan(w.ctx, run)
	w.must(err)
	for _, n := range p.Nodes {
		if n.ID == id {
			return n
		}
	}
	w.Fatalf("the plan has no step %s: %+v", id, p.Nodes)
	return orchestrator.PlanNode{}
}

// says answers with what it was told.
func echoes(prefix string) Script {
	return func(x *Turn) {
		x.Write("answer", prefix+a2a.Text(x.Message.Parts))
		x.Status(a2a.TaskStateCompleted)
	}
}

// steps returns the states of a run's plan in short.
func (w *world) states(run string) string {
	w.Helper()
	p, err := w.planner().Plan(w.ctx, run)
	w.must(err)
	var out []string
	for _, n := range p.Nodes {
		out = append(out, n.ID+"="+n.State)
	}
	return strings.Join(out, " ")
}

func planSequence(w *world) {
	first := w.add("first", echoes("1:"))
	second := w.add("second", echoes("2:"))
	run := w.launch(`
inputs: {topic: {type: string}}
name: Two
steps:
  - id: a
    agent: first
    message: about ${{ inputs.topic }}
  - id: b
    needs: a
    agent: second
    message: ${{ steps.a.text }}!
outputs: {article: "${{ steps.b.text }}"}
`, "topic", `"whales"`)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if len(first.Sent()) != 1 || len(second.Sent()) != 1 {
		w.Fatalf("sent %d and %d messages", len(first.Sent()), len(second.Sent()))
	}
	if got := a2a.Text(second.Sent()[0].Message.Parts); got != "1:about whales!" {
		w.Errorf("the second agent was told %q", got)
	}
	p, err := w.planner().Plan(w.ctx, run.ID)
	w.must(err)
	if string(p.Outputs["article"]) != `"2:1:about whales!"` || p.Name != "Two" || p.State != a2a.TaskStateCompleted || p.Ended.IsZero() {
		w.Errorf("the plan is %+v", p)
	}
	if s := w.states(run.ID); s != "a=done b=done" {
		w.Errorf("steps: %s", s)
	}
	if c := p.Nodes[1].Calls; len(c) != 1 || c[0].AgentID != "second" || c[0].ChildTask != "second-task-1" || len(c[0].Artifacts) != 1 || p.Nodes[1].Text != "2:1:about whales!" {
		w.Errorf("step b: %+v", p.Nodes[1])
	}
	t := w.fold(run.ID)
	if t.Status.Message == nil || a2a.Text(t.Status.Message.Parts) != "2:1:about whales!" || len(t.Artifacts) != 1 || t.Artifacts[0].ID != "outputs" {
		w.Errorf("the task is %+v", t)
	}
	w.transcript(run.ConversationID, "user person: Two\ntopic: whales", "agent first: 1:about whales", "agent second: 2:1:about whales!")
	if c, err := w.store.Conversation(w.ctx, run.ConversationID); err != nil || c.State != orchestrator.ConversationIdle {
		w.Errorf("the conversation is %+v, %v", c, err)
	}
}

func planParallel(w *world) {
	gate := make(chan struct{})
	w.add("left", func(x *Turn) {
		x.Status(a2a.TaskStateWorking)
		<-gate
		x.Give("file", a2a.Part{Kind: a2a.PartRaw, Filename: "l.bin", Raw: []byte("left")})
		x.Status(a2a.TaskStateCompleted)
	})
	w.add("right", func(x *Turn) { x.Reply(a2a.TextPart("right")) })
	join := w.add("join", echoes("joined: "))
	run := w.launch(`
  - {id: l, agent: left, message: go}
  - {id: r, agent: right, message: go}
  - id: j
    needs: [l, r]
    agent: join
    message:
      - text: ${{ steps.r.text }}
      - artifacts: ${{ steps.l.artifacts }}
`)
	w.eventually("the right one is done", func() bool { return w.states(run.ID) == "l=running r=done j=waiting" })
	close(gate)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	m := join.Sent()[0].Message
	if len(m.Parts) != 2 || m.Parts[0].Text != "right" || string(m.Parts[1].Raw) != "left" || m.Parts[1].Filename != "l.bin" {
		w.Errorf("the third agent was told %+v", m.Parts)
	}
}

func planForEach(w *world) {
	var n atomicCount
	agent := w.add("worker", func(x *Turn) {
		n.up()
		defer n.down()
		x.Status(a2a.TaskStateWorking)
		x.Write("a", strings.ToUpper(a2a.Text(x.Message.Parts)))
		x.Status(a2a.TaskStateCompleted)
	})
	run := w.launch(`
  - id: each
    for-each: ["a", "b", "c", "d", "e"]
    max-parallel: 2
    agent: worker
    message: ${{ item }}
  - id: sum
    needs: each
    outputs: {all: "${{ join(map(steps.each.artifacts, .text), '') }}"}
`)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if len(agent.Sent()) != 5 {
		w.Errorf("%d messages", len(agent.Sent()))
	}
	if most := n.most.Load(); most > 2 {
		w.Errorf("%d at a time", most)
	}
	if got := w.step(run.ID, "each"); len(got.Calls) != 5 {
		w.Errorf("%+v", got)
	}
}

func planBadLaunch(w *world) {
	w.add("a", echoes(""))
	for what, l := range map[string]*orchestrator.Launch{
		"yaml":    {Source: []byte("name: [")},
		"input":   launch("\n  - {id: a, agent: a, message: go}\n", "nobody", `"x"`),
		"unknown": {Workflow: "nobody"},
	} {
		var f *orchestrator.Fault
		if run, err := w.planner().Launch(w.ctx, l); !errors.As(err, &f) {
			w.Errorf("%s: %+v, %v", what, run, err)
		}
	}
	for _, err := range w.store.OpenRuns(w.ctx, orchestrator.OwnAgent) {
		w.Errorf("a run was begun, %v", err)
	}
	direct := w.say("", "a", "go")
	w.reaches(direct.ID, a2a.TaskStateCompleted)
	if _, err := w.planner().Plan(w.ctx, direct.ID); !errors.Is(err, orchestrator.ErrNotFound) {
		w.Errorf("a run without a plan: %v", err)
	}
}

func planFails(w *world) {
	w.add("bad", func(x *Turn) { x.Say(a2a.TaskStateFailed, "Out of paper.") })
	slow := w.add("slow", waits(nil))
	run := w.launch(`
  - {id: s, agent: slow, message: go}
  - {id: b, agent: bad, message: go}
  - {id: c, needs: [s, b], agent: slow, message: go}
`)
	w.reaches(run.ID, a2a.TaskStateFailed)
	if s := w.states(run.ID); s != "s=canceled b=failed c=canceled" || slow.Cancels() != len(slow.Tasks()) {
		w.Errorf("%s, %d tasks canceled of %d", s, slow.Cancels(), len(slow.Tasks()))
	}
	p, err := w.planner().Plan(w.ctx, run.ID)
	w.must(err)
	if p.Fault == nil || p.Fault.What != "Out of paper." {
		w.Errorf("%+v", p.Fault)
	}

	w.add("unapproved", echoes(""))
	w.register("unapproved", func(a *orchestrator.Agent) { a.Trust = orchestrator.TrustReview })
	run = w.launch("\n  - {id: a, agent: unapproved, message: go}\n")
	w.reaches(run.ID, a2a.TaskStateFailed)
	if f := w.step(run.ID, "a").Fault; f == nil || f.Kind != "agent-not-approved" {
		w.Errorf("%+v", f)
	}
	run = w.launch("\n  - {id: b, agent: slow, message: \"${{ int('x') }}\"}\n")
	w.reaches(run.ID, a2a.TaskStateFailed)
	if f := w.step(run.ID, "b").Fault; f == nil || f.Kind != "expression" {
		w.Errorf("%+v", f)
	}
}

func planRetries(w *world) {
	n := 0
	bad := w.add("bad", nil)
	bad.Plays(func(x *Turn) {
		if n++; n < 3 {
			x.Status(a2a.TaskStateFailed)
			return
		}
		echoes("third: ")(x)
	})
	no := w.add("no", func(x *Turn) { x.Status(a2a.TaskStateRejected) })
	w.add("other", echoes("other: "))
	run := w.launch(`
  - {id: a, agent: bad, message: go, retry: {attempts: 3, backoff: 10ms}}
  - {id: b, agent: no, message: go, retry: {attempts: 3}, on-error: {fallback: other}}
  - {id: c, agent: no, message: go, on-error: skip}
  - {id: d, needs: [a, b, c], outputs: {s: "${{ steps.a.text + steps.b.text + steps.c.state }}"}}
`)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	ids := map[string]bool{}
	for _, s := range bad.Sent() {
		ids[s.Message.ID] = true
	}
	if len(ids) != 3 || len(no.Sent()) != 2 {
		w.Errorf("%d attempts, %d of what was declined", len(ids), len(no.Sent()))
	}
	if s := w.states(run.ID); s != "a=done b=done c=failed d=done" {
		w.Error(s)
	}
}

func planAsksInReverse(w *world) {
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	run := w.launch(`
  - {id: a, agent: asker, message: first}
  - {id: b, agent: asker, message: second}
`)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	open := w.openAsks(2)
	p, err := w.planner().Plan(w.ctx, run.ID)
	w.must(err)
	byStep := map[string]string{p.Nodes[0].AskID: "a", p.Nodes[1].AskID: "b"}
	for _, a := range slices.Backward(open) {
		w.must(w.driver.Answer(w.ctx, a.ID, &orchestrator.Answer{Text: "for " + byStep[a.ID]}))
		var f *orchestrator.Fault
		if err := w.driver.Answer(w.ctx, a.ID, &orchestrator.Answer{Text: "again"}); !errors.As(err, &f) || f.Kind != "ask-closed" {
			w.Errorf("a second answer: %v", err)
		}
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	for _, id := range []string{"a", "b"} {
		if n := w.step(run.ID, id); !strings.Contains(n.Text, "for "+id) {
			w.Errorf("step %s got %q", id, n.Text)
		}
	}
}

// openAsks waits until the local person is asked n things.
func (w *world) openAsks(n int) []*orchestrator.Ask {
	w.Helper()
	var open []*orchestrator.Ask
	w.eventually(fmt.Sprint(n, " asks are open"), func() bool {
		var err error
		open, err = w.store.OpenAsks(w.ctx, "")
		w.must(err)
		return len(open) == n
	})
	return open
}

func planAskForm(w *world) {
	agent := w.add("a", echoes("got "))
	run := w.launch(`
  - id: q
    ask: {prompt: "How many?", schema: {type: object, properties: {n: {type: integer}}, required: [n]}}
  - id: c
    ask: {prompt: "Which one?", choices: [red, green]}
  - id: w
    needs: [q, c]
    agent: a
    message: ${{ steps.q.data.n + 1 }} ${{ steps.c.text }}
`)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	for _, ask := range w.openAsks(2) {
		if ask.Kind == orchestrator.AskChoice {
			w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "green"}))
			continue
		}
		var f *orchestrator.Fault
		if err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Data: []byte(`{"n":"x"}`)}); !errors.As(err, &f) || f.Kind != "ask-form" {
			w.Errorf("an answer that does not fit: %v", err)
		}
		w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Data: []byte(`{"n":41}`)}))
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := a2a.Text(agent.Sent()[0].Message.Parts); got != "42 green" {
		w.Errorf("the agent was told %q", got)
	}
}

func planApprove(w *world) {
	agent := w.add("a", echoes("did "))
	file := `
  - {id: a, agent: a, message: it, approve: "Really?"}
`
	run := w.launch(file)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	ask := w.ask(run.ID)
	if ask.Kind != orchestrator.AskApproval || ask.Prompt != "Really?" || len(agent.Sent()) != 0 {
		w.Fatalf("%+v, %d sent", ask, len(agent.Sent()))
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "yes"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	run = w.launch(file)
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Decline: true}))
	w.reaches(run.ID, a2a.TaskStateFailed)
	if len(agent.Sent()) != 1 {
		w.Errorf("sent %d", len(agent.Sent()))
	}
}

func planPreview(w *world) {
	agent := w.add("a", echoes("did "))
	l := launch("\n  - {id: a, agent: a, message: it}\n")
	l.Preview = true
	run, err := w.planner().Launch(w.ctx, l)
	w.must(err)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	if s := w.states(run.ID); s != "a=waiting" || len(agent.Sent()) != 0 {
		w.Error(s)
	}
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Choice: "yes"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	run, err = w.planner().Launch(w.ctx, l)
	w.must(err)
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Choice: "no"}))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if len(agent.Sent()) != 1 {
		w.Errorf("sent %d", len(agent.Sent()))
	}
}

func planSignIn(w *world) {
	agent := w.add("vault", asks(a2a.TaskStateAuthRequired, "Please sign in."))
	run := w.launch("\n  - {id: a, agent: vault, message: open}\n")
	w.reaches(run.ID, a2a.TaskStateAuthRequired)
	ask := w.openAsks(1)[0]
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: "hunter2"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := a2a.Text(agent.Sent()[1].Message.Parts); strings.Contains(got, "hunter2") {
		w.Errorf("the agent was told %q", got)
	}
	for events, err := range w.store.ReadConversation(w.ctx, run.ConversationID, 0) {
		w.must(err)
		for _, e := range events {
			if strings.Contains(string(e.JSON), "hunter2") {
				w.Errorf("event %d holds what was typed", e.Seq)
			}
		}
	}
	for _, it := range w.items(run.ConversationID) {
		if strings.Contains(it, "hunter2") {
			w.Errorf("the transcript holds what was typed: %s", it)
		}
	}
}

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
	if err := w.planner().RetryStep(w.ctx, run.ID, "a"); err == nil {
		w.Error("a step that goes on was tried again")
	}
	w.must(w.planner().StopStep(w.ctx, run.ID, "a"))
	w.eventually("the step has stopped", func() bool { return w.states(run.ID) == "a=failed b=running" })
	if err := w.planner().StopStep(w.ctx, run.ID, "a"); err == nil {
		w.Error("a step that has ended was stopped")
	}
	slow.Plays(echoes("now "))
	w.must(w.planner().RetryStep(w.ctx, run.ID, "a"))
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
		w.eventually("it goes on", func() bool { return w.run(run.ID).State != a2a.TaskStateInputRequired || len(w.openAsks0()) > 0 })
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

func (w *world) openAsks0() []*orchestrator.Ask {
	open, err := w.store.OpenAsks(w.ctx, "")
	w.must(err)
	return open
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

// forgetter is a driver that lets go of what is about to be erased.
type forgetter interface {
	Forget(ctx ctx, conversation string) error
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
	w.must(f.Forget(w.ctx, run.ConversationID))
	before := len(w.events(run.ID))
	close(gate)
	w.agents.Wait()
	w.must(w.driver.Close(w.ctx))
	if after := len(w.events(run.ID)); after != before || len(next.Sent()) != 0 {
		w.Errorf("%d events were stored after it was forgotten, %d messages sent", after-before, len(next.Sent()))
	}
	w.store = w.newStore(w)
	w.start()
}

func planTimer(w *world) {
	slow := w.add("slow", waits(nil))
	run := w.launch("\n  - {id: a, agent: slow, message: go, timeout: 1s}\n")
	w.eventually("it goes on", func() bool { return len(slow.Tasks()) == 1 })
	w.crash()
	w.start()
	w.reaches(run.ID, a2a.TaskStateFailed)
	if f := w.step(run.ID, "a").Fault; f == nil || f.Kind != "deadline" {
		w.Errorf("%+v", f)
	}
	if slow.Cancels() != 1 {
		w.Errorf("%d cancels", slow.Cancels())
	}
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

// starter is what serves A2A callers of a planner.
type starter interface {
	Launch(ctx ctx, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (task string, after int64, repeated bool, err error)
}

func (w *world) call(principal, id, steps string) string {
	w.Helper()
	s, ok := w.driver.Tasks("").(starter)
	if !ok {
		w.Skip("the driver lets no A2A caller launch workflows")
	}
	task, _, repeated, err := s.Launch(w.ctx, principal, message(id, "please"), launch(steps))
	w.must(err)
	if repeated {
		w.Errorf("message %s counts as repeated", id)
	}
	again, _, repeated, err := s.Launch(w.ctx, principal, message(id, "please"), launch(steps))
	if err != nil || !repeated || again != task {
		w.Errorf("the same message again: %s, %v, %v", again, repeated, err)
	}
	return task
}

func planCaller(w *world) {
	w.add("a", func(x *Turn) {
		x.Give("f", a2a.Part{Kind: a2a.PartRaw, Filename: "x", Raw: []byte("bytes")})
		x.Say(a2a.TaskStateCompleted, "done it")
	})
	task := w.call("ann", "m1", "\n  - {id: a, name: Do it, agent: a, message: go}\n")
	events := w.until("", "ann", task, 0, ends)
	w.fold(task)
	var told []string
	for _, e := range events {
		if u, ok := e.(*a2a.StatusUpdate); ok && u.Status.Message != nil {
			var v struct {
				Step struct{ ID, State, AgentID string } `json:"urn:parley:step"`
			}
			if json.Unmarshal(u.Status.Message.Metadata, &v) == nil && v.Step.ID != "" {
				told = append(told, v.Step.ID+" "+v.Step.State+" "+v.Step.AgentID)
			}
		}
	}
	if !slices.Equal(told, []string{"a running a", "a done a"}) {
		w.Errorf("the caller was told %q", told)
	}
	t, err := w.driver.Tasks("").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
	w.must(err)
	if t.Status.State != a2a.TaskStateCompleted || a2a.Text(t.Status.Message.Parts) != "done it" || len(t.Artifacts) != 1 || string(t.Artifacts[0].Parts[0].Raw) != "bytes" {
		w.Errorf("%+v", t)
	}
	page, err := w.driver.Tasks("").List(w.ctx, "ann", &a2a.ListRequest{})
	w.must(err)
	if len(page.Tasks) != 1 {
		w.Errorf("%d tasks are listed", len(page.Tasks))
	}
	slow := w.add("slow", waits(nil))
	task = w.call("ann", "m2", "\n  - {id: a, agent: slow, message: go}\n")
	w.eventually("it goes on", func() bool { return len(slow.Tasks()) == 1 })
	t, err = w.driver.Tasks("").Cancel(w.ctx, "ann", &a2a.CancelRequest{ID: task})
	w.must(err)
	if t.Status.State != a2a.TaskStateCanceled || slow.Cancels() != 1 {
		w.Errorf("%+v", t)
	}
}

func planCallerAsks(w *world) {
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	w.add("vault", asks(a2a.TaskStateAuthRequired, "Please sign in."))
	task := w.call("ann", "m1", "\n  - {id: a, agent: asker, message: first}\n  - {id: b, agent: asker, message: second}\n")
	asked := func(n int) []struct{ ID, Agent, Origin string } {
		var v struct {
			Asks []struct{ ID, Agent, Origin string }
		}
		w.eventually(fmt.Sprint(n, " asks are told"), func() bool {
			t, err := w.driver.Tasks("").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
			w.must(err)
			if t.Status.Message == nil || !t.Status.State.Interrupted() {
				return false
			}
			for _, p := range t.Status.Message.Parts {
				if p.Kind == a2a.PartData {
					v.Asks = nil
					w.must(json.Unmarshal(p.Data, &v))
				}
			}
			return len(v.Asks) == n
		})
		return v.Asks
	}
	open := asked(2)
	if open[0].Agent != "asker" || open[0].Origin != "http://asker.invalid" {
		w.Errorf("%+v", open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m2", "which one is meant?")))
	if open := asked(2); len(open) != 2 {
		w.Errorf("%+v", open)
	}
	named := reply(task, "m3", "for the second")
	named.Message.Parts = append(named.Message.Parts, a2a.DataPart(map[string]any{"ask": open[1].ID}))
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", named))
	left := asked(1)
	if left[0].ID != open[0].ID {
		w.Errorf("%+v is left of %+v", left, open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m4", "the only one")))
	w.until("", "ann", task, 0, ends)
	w.fold(task)
	texts := w.step(task, "a").Text + w.step(task, "b").Text
	if !strings.Contains(texts, "for the second") || !strings.Contains(texts, "the only one") {
		w.Errorf("%q", texts)
	}

	task = w.call("ann", "m5", "\n  - {id: s, agent: vault, message: open}\n")
	w.eventually("a sign-in is asked for", func() bool { return w.run(task).State == a2a.TaskStateAuthRequired })
	if open := asked(1); open[0].Origin != "http://vault.invalid" {
		w.Errorf("%+v", open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m6", "hunter2")))
	w.until("", "ann", task, 0, ends)
	for _, e := range w.events(task) {
		if strings.Contains(string(e.JSON), "hunter2") {
			w.Errorf("event %d holds what was typed", e.Seq)
		}
	}
}

func (w *world) must1(_ string, _ int64, _ bool, err error) {
	w.Helper()
	w.must(err)
}

// The file of the tests that crash: what each agent is told must not depend on it.
const crashFile = `
name: Crash
steps:
  - {id: a, agent: one, message: first}
  - {id: b, agent: two, message: second}
  - {id: c, needs: [a, b], for-each: ["x", "y"], agent: one, message: "${{ item }} ${{ steps.a.text }} ${{ steps.b.text }}"}
  - {id: d, needs: c, outputs: {n: "${{ len(steps.c.artifacts) }}"}}
  - {id: e, needs: d, agent: two, message: "${{ steps.d.data.n }} ${{ steps.c.text }}"}
outputs: {text: "${{ steps.e.text }}"}
`

// A driver that is killed behind any of its commits, and started again, carries the plan out as if nothing had happened:
// with the same end, and with each message taken once by agents that act once on a repeated one.
func planCrashAnywhere(w *world) {
	for n := 0; ; n++ {
		store := w.newStore(w)
		one := &world{T: w.T, ctx: w.ctx, agents: NewAgents(), newDriver: w.newDriver, newStore: w.newStore, store: store}
		one.start()
		effects := &onces{}
		for _, id := range []string{"one", "two"} {
			one.add(id, effects.once(echoes(id+":")))
			one.register(id, func(a *orchestrator.Agent) { a.Idempotent = true })
		}
		killed := one.process.dying(n + 1)
		run, err := one.planner().Launch(one.ctx, launch(crashFile))
		if err != nil {
			one.close()
			one.start()
			if run, err = one.planner().Launch(one.ctx, launch(crashFile)); err != nil {
				w.Fatalf("n=%d: %v", n, err)
			}
			killed = nil
		}
		ended := false
		one.eventually("it ended or died", func() bool {
			select {
			case <-killed:
				return true
			default:
			}
			ended = one.run(run.ID).State.Terminal()
			return ended
		})
		if !ended {
			one.close()
			one.start()
		}
		one.reaches(run.ID, a2a.TaskStateCompleted)
		p, err := one.planner().Plan(one.ctx, run.ID)
		one.must(err)
		want := `"two:2 one:x one:first two:second\n\none:y one:first two:second"`
		if got := string(p.Outputs["text"]); got != want {
			w.Errorf("n=%d: got %s", n, got)
		}
		one.agents.Wait()
		if got := effects.count(); got != 5 {
			w.Errorf("n=%d: %d effects, want 5", n, got)
		}
		one.fold(run.ID)
		one.close()
		if ended || w.Failed() {
			if n < 8 {
				w.Errorf("it took %d commits", n)
			}
			return
		}
	}
}

func planCrashOnAnswer(w *world) {
	for n := 0; ; n++ {
		one := &world{T: w.T, ctx: w.ctx, agents: NewAgents(), newDriver: w.newDriver, newStore: w.newStore, store: w.newStore(w)}
		one.start()
		asker := one.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
		one.register("asker", func(a *orchestrator.Agent) { a.Idempotent = true })
		run := one.launch("\n  - {id: a, agent: asker, message: first}\n  - {id: q, ask: {prompt: \"Well?\"}}\n  - {id: z, needs: [a, q], outputs: {t: \"${{ steps.a.text + steps.q.text }}\"}}\n")
		open := one.openAsks(2)
		one.reaches(run.ID, a2a.TaskStateInputRequired)
		killed := one.process.dying(n)
		for _, a := range slices.Backward(open) {
			_ = one.driver.Answer(one.ctx, a.ID, &orchestrator.Answer{Text: "now"})
		}
		ended := false
		one.eventually("it ended or died", func() bool {
			select {
			case <-killed:
				return true
			default:
			}
			ended = one.run(run.ID).State.Terminal()
			return ended
		})
		if !ended {
			one.close()
			one.start()
			for _, a := range open {
				if again, err := one.store.Ask(one.ctx, a.ID); err != nil || again.State == orchestrator.AskOpen {
					one.must(err)
					one.must(one.driver.Answer(one.ctx, a.ID, &orchestrator.Answer{Text: "now"}))
				}
			}
		}
		one.reaches(run.ID, a2a.TaskStateCompleted)
		if sent := asker.Sent(); len(sent) < 2 {
			w.Errorf("n=%d: %d messages", n, len(sent))
		}
		one.openAsks(0)
		one.fold(run.ID)
		one.close()
		if ended || w.Failed() {
			return
		}
		if n > 100 {
			w.Fatal("it does not end")
		}
	}
}
