package orchestratortest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
)

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

// planDeclinedAgain: a no is no failure of the chat, and what somebody said no to is asked again without what came before.
func planDeclinedAgain(w *world) {
	first, second := w.add("first", echoes("did ")), w.add("second", echoes("then "))
	run := w.launch(`
  - {id: a, agent: first, message: it}
  - {id: b, needs: a, agent: second, message: "${{ steps.a.text }}", approve: "Really?"}
  - {id: c, needs: b, agent: second, message: "${{ steps.b.text }}"}
`)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Decline: true}))
	w.reaches(run.ID, a2a.TaskStateFailed)
	if c, err := w.store.Conversation(w.ctx, run.ConversationID); err != nil || c.State != orchestrator.ConversationIdle {
		w.Errorf("the list says %q, %v", c.State, err)
	}
	if !w.step(run.ID, "b").CanRetry || w.step(run.ID, "a").CanRetry {
		w.Error("what can be tried again is not the step that was declined")
	}
	if _, err := w.planner().RetryStep(w.ctx, run.ID, "a"); err == nil {
		w.Error("a step that was done was tried again")
	}
	again, err := w.planner().RetryStep(w.ctx, run.ID, "b")
	w.must(err)
	if again.ID == run.ID || again.ConversationID != run.ConversationID {
		w.Errorf("it goes on as %+v", again)
	}
	w.reaches(again.ID, a2a.TaskStateInputRequired)
	w.must(w.driver.Answer(w.ctx, w.ask(again.ID).ID, &orchestrator.Answer{Choice: "yes"}))
	w.reaches(again.ID, a2a.TaskStateCompleted)
	if s := w.step(again.ID, "c").Text; len(first.Sent()) != 1 || len(second.Sent()) != 2 || s != "then then did it" {
		w.Errorf("sent %d and %d, %q", len(first.Sent()), len(second.Sent()), s)
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
