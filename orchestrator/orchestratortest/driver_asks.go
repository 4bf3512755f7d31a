package orchestratortest

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

func driverAsk(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which **city**?"))
	run := w.say("", "asker", "book")
	ask := w.ask(run.ID)
	if ask.Kind != orchestrator.AskInput || ask.Prompt != "Which **city**?" || ask.AgentID != "asker" || ask.ConversationID != run.ConversationID {
		w.Errorf("the ask is %+v", ask)
	}
	if c, err := w.store.Conversation(w.ctx, run.ConversationID); err != nil || c.State != orchestrator.ConversationAsking {
		w.Errorf("the conversation is %+v, %v", c, err)
	}
	child, err := w.store.Context(w.ctx, run.ConversationID, "asker")
	w.must(err)
	if child.TaskID != "asker-task-1" {
		w.Errorf("the agent's task to reply to is %q", child.TaskID)
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: "Rome"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)

	t := w.fold(run.ID)
	if got := text(t, "text"); got != "You said Rome." {
		w.Errorf("got %q", got)
	}
	if m := agent.Sent()[1].Message; m.TaskID != "asker-task-1" || m.ContextID != "asker-context-1" || m.ID == agent.Sent()[0].Message.ID {
		w.Errorf("the answer went out as %+v", m)
	}
	if got, err := w.store.Ask(w.ctx, ask.ID); err != nil || got.State != orchestrator.AskAnswered || string(got.Answer) != `"Rome"` {
		w.Errorf("the ask is %+v, %v", got, err)
	}
	w.transcript(run.ConversationID, "user person: book", "ask asker: Which **city**?", "agent asker: You said Rome.")
	if child, err = w.store.Context(w.ctx, run.ConversationID, "asker"); err != nil || child.TaskID != "" || child.LastTask != "asker-task-1" {
		w.Errorf("after the end the agent's context is %+v, %v", child, err)
	}
}

func driverAskBySaying(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	run := w.say("", "asker", "book")
	w.ask(run.ID)
	say := &orchestrator.Say{ConversationID: run.ConversationID, MessageID: "m2", Text: "Oslo"}
	for range 2 {
		got, err := w.driver.Say(w.ctx, say)
		w.must(err)
		if got.ID != run.ID {
			w.Errorf("the answer began a run of its own")
		}
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if n := len(agent.Sent()); n != 2 {
		w.Errorf("the agent was sent %d messages", n)
	}
	if got := text(w.fold(run.ID), "text"); got != "You said Oslo." {
		w.Errorf("got %q", got)
	}

	// With two questions open it must be said which one is meant.
	one := w.say(run.ConversationID, "", "book")
	w.ask(one.ID)
	two, err := w.driver.Retry(w.ctx, run.ID)
	w.must(err)
	w.ask(two.ID)
	var f *orchestrator.Fault
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{ConversationID: run.ConversationID, Text: "Rome"}); !errors.As(err, &f) || f.Kind != "ask-which" {
		w.Errorf("with two questions open: %v", err)
	}
}

func driverAskTwice(w *world) {
	w.add("asker", func(x *Turn) {
		switch a2a.Text(x.Message.Parts) {
		case "begin":
			x.Say(a2a.TaskStateInputRequired, "From?")
		case "Rome":
			x.Say(a2a.TaskStateInputRequired, "To?")
		default:
			x.Write("text", "booked")
			x.Status(a2a.TaskStateCompleted)
		}
	})
	run := w.say("", "asker", "begin")
	from := w.ask(run.ID)
	w.must(w.driver.Answer(w.ctx, from.ID, &orchestrator.Answer{Text: "Rome"}))
	var to *orchestrator.Ask
	w.eventually("the second ask is open", func() bool {
		asks, err := w.store.OpenAsks(w.ctx, run.ID)
		w.must(err)
		if len(asks) == 1 && asks[0].ID != from.ID {
			to = asks[0]
		}
		return to != nil
	})
	w.must(w.driver.Answer(w.ctx, to.ID, &orchestrator.Answer{Text: "Oslo"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	w.fold(run.ID)
	w.transcript(run.ConversationID, "user person: begin", "ask asker: From?", "ask asker: To?", "agent asker: booked")
}

func driverAskDeclined(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	run := w.say("", "asker", "book")
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Decline: true}))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if agent.Cancels() != 1 {
		w.Errorf("the agent was asked to stop %d times", agent.Cancels())
	}
	w.fold(run.ID)

	agent.RefusesStop(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "no"})
	run = w.say("", "asker", "book")
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Decline: true}))
	w.reaches(run.ID, a2a.TaskStateCanceled)
}

func driverAskForm(w *world) {
	schema := `{"type":"object","properties":{"from":{"type":"string"}},"required":["from"]}`
	agent := w.add("asker", func(x *Turn) {
		if x.Message.TaskID == "" {
			x.Status(a2a.TaskStateInputRequired, a2a.TextPart("Where from?"), a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(`{"schema":` + schema + `}`)})
			return
		}
		x.Status(a2a.TaskStateCompleted)
	})
	run := w.say("", "asker", "book")
	ask := w.ask(run.ID)
	if string(ask.Schema) != schema {
		w.Errorf("the schema is %s", ask.Schema)
	}
	if err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Data: json.RawMessage(`{"from":`)}); err == nil {
		w.Error("data that is not JSON was taken")
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Data: json.RawMessage(`{"from":"Rome"}`)}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	want := []a2a.Part{{Kind: a2a.PartData, Data: json.RawMessage(`{"from":"Rome"}`)}}
	if diff := cmp.Diff(want, agent.Sent()[1].Message.Parts); diff != "" {
		w.Errorf("the answer (-want +got):\n%s", diff)
	}
}

// signsIn asks for a sign-in and goes on by itself once the channel is closed.
func signsIn(done <-chan struct{}) Script {
	return func(x *Turn) {
		x.Status(a2a.TaskStateAuthRequired, a2a.TextPart("Please sign in at https://login.example.com/start?x=1."),
			a2a.DataPart(map[string]any{"schemes": []string{"OAuth2"}, "url": "https://login.example.com/other"}))
		<-done
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "signed in")
		x.Status(a2a.TaskStateCompleted)
	}
}

func driverSignIn(w *world) {
	done := make(chan struct{})
	w.add("vault", signsIn(done))
	run := w.say("", "vault", "open")
	ask := w.ask(run.ID)
	want := []orchestrator.Link{
		{Label: "login.example.com", URL: "https://login.example.com/start?x=1"}, {Label: "url", URL: "https://login.example.com/other"},
	}
	if diff := cmp.Diff(want, ask.Links); diff != "" || ask.Kind != orchestrator.AskSignIn {
		w.Errorf("kind %s, links (-want +got):\n%s", ask.Kind, diff)
	}
	w.reaches(run.ID, a2a.TaskStateAuthRequired)
	close(done)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got, err := w.store.Ask(w.ctx, ask.ID); err != nil || got.State != orchestrator.AskGone {
		w.Errorf("the ask is %+v, %v", got, err)
	} else if string(got.Answer) != `"`+orchestrator.SignedIn+`"` {
		w.Errorf("the receipt says %s", got.Answer)
	}
	if err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{}); err == nil {
		w.Error("an ask that is gone was answered")
	}
	w.fold(run.ID)
}

func driverSignInPolled(w *world) {
	done := make(chan struct{})
	agent := w.add("vault", signsIn(done))
	run := w.say("", "vault", "open")
	ask := w.ask(run.ID)
	agent.Cut(ErrReset) // from here on only looking helps
	close(done)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "signed in" {
		w.Errorf("got %q", got)
	}
	if got, err := w.store.Ask(w.ctx, ask.ID); err != nil || got.State != orchestrator.AskGone {
		w.Errorf("the ask is %+v, %v", got, err)
	}
}

func driverSignInSaid(w *world) {
	agent := w.add("vault", asks(a2a.TaskStateAuthRequired, "Please sign in."))
	run := w.say("", "vault", "open")
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if m := agent.Sent()[1].Message; m.TaskID != "vault-task-1" || a2a.Text(m.Parts) != "I have signed in." {
		w.Errorf("the agent was told %+v", m)
	}
	w.fold(run.ID)
}

// A sign-in that the agent does not see yet is asked for again with the way in, however often, also after a restart.
func driverSignInTooEarly(w *world) {
	var turns atomic.Int32
	w.add("vault", func(x *Turn) {
		switch turns.Add(1) {
		case 1:
			x.Status(a2a.TaskStateAuthRequired, a2a.TextPart("Sign in at https://login.example.com/start."))
		case 2, 3:
			x.Status(a2a.TaskStateAuthRequired)
		case 4:
			x.Status(a2a.TaskStateRejected)
		}
	})
	run := w.say("", "vault", "open")
	first := w.ask(run.ID)
	for range 2 {
		w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{}))
		again := w.ask(run.ID)
		if diff := cmp.Diff(first.Links, again.Links); diff != "" {
			w.Errorf("the links of the new question (-want +got):\n%s", diff)
		}
		if want := orchestrator.NotSignedIn + "\n\n" + first.Prompt; again.Prompt != want {
			w.Errorf("it says %q, not %q", again.Prompt, want)
		}
		w.crash()
		w.start()
	}
	last := w.ask(run.ID)
	w.must(w.driver.Answer(w.ctx, last.ID, &orchestrator.Answer{}))
	w.reaches(run.ID, a2a.TaskStateRejected)
	w.fold(run.ID)
}

func driverDoubleAnswer(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	run := w.say("", "asker", "book")
	ask := w.ask(run.ID)
	var mu sync.Mutex
	taken := 0
	var windows sync.WaitGroup
	for _, city := range []string{"Rome", "Oslo", "Bonn"} {
		windows.Go(func() {
			err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: city})
			mu.Lock()
			defer mu.Unlock()
			var f *orchestrator.Fault
			switch {
			case err == nil:
				taken++
			case !errors.As(err, &f) || f.Kind != "ask-closed":
				w.Errorf("a second answer: %v", err)
			}
		})
	}
	windows.Wait()
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if taken != 1 || len(agent.Sent()) != 2 {
		w.Errorf("%d answers were taken, the agent was sent %d messages", taken, len(agent.Sent()))
	}
}

func driverStop(w *world) {
	agent := w.add("slow", waits(nil))
	run := w.say("", "slow", "work")
	w.reaches(run.ID, a2a.TaskStateWorking)
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if agent.Cancels() != 1 || w.has(run.ID, orchestrator.EventStopping) != 1 {
		w.Errorf("%d cancels; events: %v", agent.Cancels(), w.kinds(run.ID))
	}
	t := w.fold(run.ID)
	if got := text(t, "text"); got != "so far" {
		w.Errorf("kept %q", got)
	}
	w.transcript(run.ConversationID, "user person: work", "agent slow: so far", "end slow: ")
	w.must(w.driver.Stop(w.ctx, run.ID)) // stopping what has ended is nothing
}

func driverStopRefused(w *world) {
	done := make(chan struct{})
	agent := w.add("slow", waits(done))
	agent.RefusesStop(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "I never stop"})
	run := w.say("", "slow", "work")
	w.reaches(run.ID, a2a.TaskStateWorking)
	for n := 1; n <= 2; n++ { // a person may try again
		w.must(w.driver.Stop(w.ctx, run.ID))
		w.eventually("the refusal is told", func() bool { return w.has(run.ID, orchestrator.EventFault) == n })
	}
	if s := w.run(run.ID).State; s != a2a.TaskStateWorking {
		w.Errorf("the run is %s", s)
	}
	close(done)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "so far, and done" {
		w.Errorf("got %q", got)
	}
}

func driverStopUnreachable(w *world) {
	done := make(chan struct{})
	agent := w.add("slow", waits(done))
	run := w.say("", "slow", "work")
	w.reaches(run.ID, a2a.TaskStateWorking)
	agent.RefusesStop(ErrRefused)
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.eventually("the failure is told", func() bool { return w.has(run.ID, orchestrator.EventFault) == 1 })
	close(done)
	w.reaches(run.ID, a2a.TaskStateCompleted)
}

func driverStopAsking(w *world) {
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	run := w.say("", "asker", "book")
	ask := w.ask(run.ID)
	w.must(w.driver.Stop(w.ctx, run.ID))
	w.reaches(run.ID, a2a.TaskStateCanceled)
	if got, err := w.store.Ask(w.ctx, ask.ID); err != nil || got.State != orchestrator.AskGone {
		w.Errorf("the ask is %+v, %v", got, err)
	}
	w.fold(run.ID)

	choice := w.say("", orchestrator.Auto, "xyzzy")
	w.ask(choice.ID)
	w.add("other", writes("x"))
	w.must(w.driver.Stop(w.ctx, choice.ID))
	w.reaches(choice.ID, a2a.TaskStateCanceled)
}

func driverStopRaces(w *world) {
	for range 20 {
		done := make(chan struct{})
		w.add("slow", waits(done))
		run := w.say("", "slow", "work")
		var both sync.WaitGroup
		both.Go(func() { w.must(w.driver.Stop(w.ctx, run.ID)) })
		both.Go(func() { close(done) })
		both.Wait()
		w.eventually("the run ended", func() bool { return w.run(run.ID).State.Terminal() })
		w.fold(run.ID)
	}
}
