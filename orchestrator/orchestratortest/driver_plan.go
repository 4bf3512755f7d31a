package orchestratortest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// RunPlans checks what a driver that is an orchestrator.Planner too promises of plans.
func RunPlans(t *testing.T, newDriver NewDriver, newStore NewStore) {
	run(t, newDriver, newStore, []driverTest{
		{"Sequence", planSequence},
		{"Parallel", planParallel},
		{"ForEach", planForEach},
		{"Loops", planLoops},
		{"Outputs", planOutputs},
		{"BadLaunch", planBadLaunch},
		{"Fails", planFails},
		{"RetriesAndFallback", planRetries},
		{"AsksInReverse", planAsksInReverse},
		{"AskForm", planAskForm},
		{"Approve", planApprove},
		{"DeclinedAgain", planDeclinedAgain},
		{"Preview", planPreview},
		{"SignIn", planSignIn},
		{"Stop", planStop},
		{"StopRefused", planStopRefused},
		{"StopUndoes", planStopUndoes},
		{"Steered", planSteered},
		{"Uses", planUses},
		{"Again", planAgain},
		{"StepAgain", planStepAgain},
		{"AgainWithOthers", planAgainWithOthers},
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

// People are told of the rounds that began, and of no other: also where a loop ends because its condition does not hold.
func planLoops(w *world) {
	agent := w.add("worker", echoes(""))
	for _, c := range []struct {
		loop   string
		rounds int
	}{
		{`{max: 3, while: "len(steps.a.text) < 1"}`, 1},
		{`{max: 3, while: "len(steps.a.text) < 2"}`, 2},
		{`{max: 3, while: "len(steps.a.text) < 3"}`, 3},
		{`{max: 3, while: "len(steps.a.text) < 4"}`, 3},
		{`{max: 2}`, 2},
	} {
		before := len(agent.Sent())
		run := w.launch("\n  - {id: a, agent: worker, message: \"${{ steps.a.text }}x\", loop: " + c.loop + "}\n")
		w.reaches(run.ID, a2a.TaskStateCompleted)
		if n := len(agent.Sent()) - before; n != c.rounds {
			w.Fatalf("loop %s: %d messages, want %d", c.loop, n, c.rounds)
		}
		if n := w.step(run.ID, "a"); n.Round != c.rounds || n.State != "done" || len(n.Calls) != c.rounds {
			w.Errorf("loop %s: it says round %d of %d: %+v", c.loop, n.Round, c.rounds, n)
		}
	}
	run := w.launch("\n  - {id: a, if: \"false\", agent: worker, message: go, loop: {max: 3}}\n")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if n := w.step(run.ID, "a"); n.State != "skipped" || n.Round > 1 {
		w.Errorf("%+v", n)
	}
}

// A step that says what it gives is shown with that, also after a restart; one that does not, with what its call made.
func planOutputs(w *world) {
	w.add("a", func(x *Turn) {
		x.Give("out", a2a.TextPart("four"), a2a.DataPart(map[string]any{"x": 1}))
		x.Status(a2a.TaskStateCompleted)
	})
	w.add("slow", waits(nil))
	run := w.launch(`
name: Outputs
inputs: {long: {type: string}}
steps:
  - {id: own, agent: a, message: go}
  - {id: given, agent: a, message: go, outputs: {n: "${{ len(steps.given.text) }}", x: "${{ steps.given.data.x + 1 }}"}}
  - {id: each, for-each: [1, 2, 3], agent: a, message: "${{ item }}", outputs: {sum: "${{ sum(map(steps.each.data, .x)) }}"}}
  - {id: twice, needs: [given], outputs: {n: "${{ steps.given.data.n * 2 }}"}}
  - {id: wrong, agent: a, message: go, outputs: {n: "${{ int(steps.wrong.text) }}"}}
  - {id: skipped, if: "false", agent: a, message: go, outputs: {n: 1}}
  - {id: long, agent: a, message: go, outputs: {s: "${{ inputs.long }}"}}
  - {id: last, needs: [own, given, each, twice, wrong, long], agent: slow, message: go, outputs: {n: 1}}
`, "long", `"`+strings.Repeat("x", 5000)+`"`)
	check := func() {
		w.Helper()
		for step, want := range map[string]string{"own": `{"x":1}`, "given": `{"n":4,"x":2}`, "each": `{"sum":3}`, "twice": `{"n":8}`, "wrong": "", "skipped": "", "long": "", "last": ""} {
			if n := w.step(run.ID, step); string(n.Data) != want {
				w.Errorf("step %s, which is %s, shows %s, want %s", step, n.State, n.Data, want)
			}
		}
		if n := w.step(run.ID, "given"); n.Text != "four" || n.Fault != nil {
			w.Errorf("%+v", n)
		}
		if n := w.step(run.ID, "wrong"); n.State != "done" || n.Fault == nil || n.Fault.Kind != "expression" {
			w.Errorf("%s, %+v", n.State, n.Fault)
		}
	}
	w.eventually("the last goes on", func() bool { return w.step(run.ID, "last").State == "running" })
	check()
	w.crash()
	w.start()
	check()
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	check()
}

func planBadLaunch(w *world) {
	w.add("a", echoes(""))
	w.must(w.store.Write(w.ctx, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "bad", Name: "Bad", Source: []byte("name: Bad\nsteps: {}\n")}}}))
	for what, l := range map[string]*orchestrator.Launch{
		"The workflow cannot be run (line 2, column 1): ":           {Source: []byte("name: Bad\nsteps: {}\n")},
		"The workflow cannot be run (bad.yaml, line 2, column 1): ": {Workflow: "bad"},

		"yaml":    {Source: []byte("name: [")},
		"input":   launch("\n  - {id: a, agent: a, message: go}\n", "nobody", `"x"`),
		"unknown": {Workflow: "nobody"},
	} {
		var f *orchestrator.Fault
		if run, err := w.planner().Launch(w.ctx, l); !errors.As(err, &f) {
			w.Errorf("%s: %+v, %v", what, run, err)
		} else if strings.HasSuffix(what, " ") && !strings.HasPrefix(f.What, what) {
			w.Errorf("%s, want %s…", f.What, what)
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
	if f := w.step(run.ID, "b").Fault; f == nil || f.Kind != "expression" || !strings.HasPrefix(f.What, "Step b (“Test”, line 3, column ") {
		w.Errorf("%+v", f)
	}
	w.must(w.store.Write(w.ctx, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "kept", Name: "Kept", Source: []byte("name: Kept\nsteps:\n  - {id: b, agent: slow, message: \"${{ int('x') }}\"}\n")}}}))
	run, err = w.planner().Launch(w.ctx, &orchestrator.Launch{Workflow: "kept"})
	w.must(err)
	w.reaches(run.ID, a2a.TaskStateFailed)
	if f := w.step(run.ID, "b").Fault; f == nil || !strings.HasPrefix(f.What, "Step b (kept.yaml, line 3, column ") {
		w.Errorf("%+v", f)
	}

	w.add("a", echoes(""))
	run = w.launch("\nname: Nothing to give\nsteps:\n  - {id: a, agent: a, message: go}\noutputs: {x: \"${{ steps.a.data.no.where }}\"}\n")
	w.reaches(run.ID, a2a.TaskStateFailed)
	p, err = w.planner().Plan(w.ctx, run.ID)
	w.must(err)
	if p.Fault == nil || p.Fault.Kind != "expression" {
		w.Errorf("what the plan gives cannot be made: %+v", p.Fault)
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

	// An agent that says that it failed inside is as one whose task failed; what may have arrived is not sent again.
	for kind, attempts := range map[string]int{"agent-error": 3, "gateway": 1} {
		bad.Down(&orchestrator.Fault{Kind: kind, Where: orchestrator.WhereAgent, What: "It broke.", Retry: true, MayHaveRun: true})
		run = w.launch("\n  - {id: a, agent: bad, message: " + kind + ", retry: {attempts: 3, backoff: 10ms}}\n")
		if attempts == 1 {
			w.must(w.driver.Answer(w.ctx, w.openAsks(1)[0].ID, &orchestrator.Answer{Choice: engine.ResendLeave}))
		}
		w.reaches(run.ID, a2a.TaskStateFailed)
		if n := w.step(run.ID, "a"); len(n.Calls) != attempts {
			w.Errorf("%s: %d attempts, want %d", kind, len(n.Calls), attempts)
		}
	}
}
