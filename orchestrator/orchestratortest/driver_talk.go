package orchestratortest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// Scripts that several tests play.

// writes says it works, writes the words and is done.
func writes(words ...string) Script {
	return func(x *Turn) {
		x.Status(a2a.TaskStateWorking)
		for _, w := range words {
			x.Write("text", w)
		}
		x.Status(a2a.TaskStateCompleted)
	}
}

// asks asks once, then says what it was told.
func asks(state a2a.TaskState, question string) Script {
	return func(x *Turn) {
		if x.Message.TaskID == "" {
			x.Status(a2a.TaskStateWorking)
			x.Say(state, question)
			return
		}
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "You said "+a2a.Text(x.Message.Parts)+".")
		x.Status(a2a.TaskStateCompleted)
	}
}

// waits works until the channel is closed, or until it is canceled.
func waits(until <-chan struct{}) Script {
	return func(x *Turn) {
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "so far")
		select {
		case <-until:
			x.Write("text", ", and done")
			x.Status(a2a.TaskStateCompleted)
		case <-x.Canceled():
		}
	}
}

func driverConversation(w *world) {
	agent := w.add("writer", writes("Hello ", "there", "."))
	run := w.say("", "writer", "Please greet me, in as many words as you like but not more than three of them")
	if run.ConversationID == "" || run.ContextID != run.ConversationID {
		w.Errorf("run in conversation %q, context %q", run.ConversationID, run.ContextID)
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	t := w.fold(run.ID)
	if got := text(t, "text"); got != "Hello there." {
		w.Errorf("the artifact says %q", got)
	}
	if len(t.History) == 0 || !strings.HasPrefix(a2a.Text(t.History[0].Parts), "Please greet me") {
		w.Errorf("the task's history does not begin with the message: %v", t.History)
	}
	want := []string{"sending", "sent", "task:TASK_STATE_SUBMITTED", "status:TASK_STATE_WORKING", "artifact", "artifact", "artifact", "status:TASK_STATE_COMPLETED"}
	if diff := cmp.Diff(want, w.kinds(run.ID)); diff != "" {
		w.Errorf("events (-want +got):\n%s", diff)
	}
	w.transcript(run.ConversationID,
		"user person: Please greet me, in as many words as you like but not more than three of them",
		"agent writer: Hello there.")
	c, err := w.store.Conversation(w.ctx, run.ConversationID)
	w.must(err)
	if c.Title != "Please greet me, in as many words as you like but not more…" || c.LastText != "Hello there." || c.State != orchestrator.ConversationIdle || c.To != "writer" {
		w.Errorf("the conversation's row is %+v", c)
	}
	sent := agent.Sent()
	if len(sent) != 1 {
		w.Fatalf("the agent was sent %d messages", len(sent))
	}
	if m := sent[0].Message; m.ContextID != "" || m.TaskID != "" || m.ID == "" {
		w.Errorf("the agent was sent ids of ours: %+v", m)
	}
	steps, err := w.store.Steps(w.ctx, run.ID)
	w.must(err)
	if len(steps) != 1 || steps[0].State != orchestrator.StepDone || steps[0].ChildTask != "writer-task-1" || steps[0].MessageID != sent[0].Message.ID {
		w.Errorf("the step's row is %+v", steps[0])
	}
}

func driverMessageReply(w *world) {
	w.add("echo", func(x *Turn) { x.Reply(a2a.TextPart("You said: " + a2a.Text(x.Message.Parts))) })
	run := w.say("", "echo", "hi")
	w.eventually("the run ended", func() bool { return w.run(run.ID).State == a2a.TaskStateUnspecified })
	if diff := cmp.Diff([]string{"sending", "sent", "message"}, w.kinds(run.ID)); diff != "" {
		w.Errorf("events (-want +got):\n%s", diff)
	}
	w.transcript(run.ConversationID, "user person: hi", "agent echo: You said: hi")
	again := w.say(run.ConversationID, "", "and again")
	w.eventually("the run ended", func() bool { return w.run(again.ID).State == a2a.TaskStateUnspecified })
}

func driverItems(w *world) {
	long := strings.Repeat("long ", 10_000)
	w.add("maker", func(x *Turn) {
		x.Write("words", "Here it is.")
		x.Give("data", a2a.DataPart(map[string]int{"n": 1}))
		x.Give("file", a2a.Part{Kind: a2a.PartRaw, Raw: []byte("a,b"), Filename: "t.csv", MediaType: "text/csv"})
		x.Give("link", a2a.Part{Kind: a2a.PartURL, URL: "https://example.com/x.png", MediaType: "image/png"})
		x.Write("long", long)
		x.Give("named", a2a.Part{Text: "print(1)", Filename: "a.py"})
		x.Say(a2a.TaskStateCompleted, "Here it is.")
	})
	run := w.say("", "maker", "make")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	items, err := w.store.Items(w.ctx, run.ConversationID, 0, 100)
	w.must(err)
	var got []string
	for _, it := range items {
		s := string(it.Kind)
		if it.Kind == orchestrator.ItemArtifact {
			var d orchestrator.ArtifactData
			w.must(json.Unmarshal(it.Data, &d))
			s += " " + d.ArtifactID + " " + d.Parts[0].Kind
			if _, err := w.store.Artifact(w.ctx, run.ID, d.ArtifactID); err != nil {
				w.Errorf("artifact %s: %v", d.ArtifactID, err)
			}
		} else {
			s += " " + it.Text
		}
		got = append(got, s)
	}
	want := []string{"user make", "agent Here it is.", "artifact data data", "artifact file raw", "artifact link url", "artifact long text", "artifact named text"}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("items (-want +got):\n%s", diff)
	}

	w.add("teller", func(x *Turn) { x.Say(a2a.TaskStateCompleted, "Only the status says it.") })
	run = w.say("", "teller", "tell")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	w.transcript(run.ConversationID, "user person: tell", "agent teller: Only the status says it.")

	w.add("silent", func(x *Turn) { x.Status(a2a.TaskStateCompleted) })
	run = w.say("", "silent", "do")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	w.transcript(run.ConversationID, "user person: do", "end silent: ")
}

func driverTurns(w *world) {
	agent := w.add("writer", writes("ok"))
	first := w.say("", "writer", "one")
	w.reaches(first.ID, a2a.TaskStateCompleted)
	second := w.say(first.ConversationID, "", "two")
	w.reaches(second.ID, a2a.TaskStateCompleted)
	other := w.say("", "writer", "elsewhere")
	w.reaches(other.ID, a2a.TaskStateCompleted)

	sent := agent.Sent()
	if len(sent) != 3 {
		w.Fatalf("the agent was sent %d messages", len(sent))
	}
	m := sent[1].Message
	if m.ContextID != "writer-context-1" || m.TaskID != "" || !slices.Equal(m.ReferenceTaskIDs, []string{"writer-task-1"}) {
		w.Errorf("the second message went out as context %q, task %q, references %v", m.ContextID, m.TaskID, m.ReferenceTaskIDs)
	}
	if m.ID == sent[0].Message.ID {
		w.Error("two messages went out under one id")
	}
	if c := sent[2].Message.ContextID; c != "" {
		w.Errorf("another conversation shares the context %q", c)
	}
	w.transcript(first.ConversationID, "user person: one", "agent writer: ok", "user person: two", "agent writer: ok")
}

func driverTwoWindows(w *world) {
	w.add("writer", writes("a", "b", "c"))
	run := w.say("", "writer", "go")
	var mu sync.Mutex
	seen := map[int][]int64{}
	var windows sync.WaitGroup
	for i := range 2 {
		windows.Go(func() {
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			for es, err := range w.store.FollowConversation(ctx, run.ConversationID, 0) {
				if err != nil {
					w.Errorf("%v", err)
					return
				}
				for _, e := range es {
					if e.Kind == orchestrator.EventTaken {
						continue
					}
					mu.Lock()
					seen[i] = append(seen[i], e.Seq)
					mu.Unlock()
					if ev, err := e.Event(); e.Kind.A2A() && err == nil && a2a.EventState(ev).Terminal() {
						return
					}
				}
			}
		})
	}
	windows.Wait()
	if len(seen[0]) != 8 || !slices.Equal(seen[0], seen[1]) || !slices.IsSorted(seen[0]) {
		w.Errorf("two windows saw %v and %v", seen[0], seen[1])
	}
}

func (w *world) describe(id, description string, examples ...string) {
	w.Helper()
	w.register(id, func(a *orchestrator.Agent) {
		a.Card = &a2a.AgentCard{Name: id, Description: description, Skills: []a2a.AgentSkill{{ID: "s", Name: id, Examples: examples}}}
	})
}

func driverAuto(w *world) {
	w.add("travel", writes("booked"))
	w.add("poet", writes("a poem"))
	w.describe("travel", "Books flights and trains.", "book a flight to Rome")
	w.describe("poet", "Writes poems.")
	run := w.say("", orchestrator.Auto, "book a flight to Rome")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "booked" {
		w.Errorf("got %q", got)
	}
	if k := w.kinds(run.ID); k[0] != "task:TASK_STATE_SUBMITTED" || k[1] != "planned" {
		w.Errorf("events: %v", k)
	}
	w.transcript(run.ConversationID, "user person: book a flight to Rome", "agent travel: booked")
}

func driverAutoChoice(w *world) {
	w.add("travel", writes("booked"))
	w.add("poet", writes("a poem"))
	run := w.say("", "", "xyzzy")
	ask := w.ask(run.ID)
	if ask.Kind != orchestrator.AskChoice || len(ask.Choices) != 2 {
		w.Fatalf("the ask is %+v", ask)
	}
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	if err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "nobody"}); err == nil {
		w.Error("a choice that is none was taken")
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "poet"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	w.fold(run.ID)
	w.transcript(run.ConversationID, "user person: xyzzy",
		"ask person: None of the connected agents clearly fits. Which one should take this?", "agent poet: a poem")

	// In words, by its number or name, from the composer.
	run = w.say("", "", "xyzzy")
	w.ask(run.ID)
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{ConversationID: run.ConversationID, Text: "the other one"}); err == nil {
		w.Error("words that name no choice were taken")
	}
	w.say(run.ConversationID, "", "Travel")
	w.reaches(run.ID, a2a.TaskStateCompleted)

	// Declined, there is nothing to do.
	run = w.say("", "", "xyzzy")
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Decline: true}))
	w.reaches(run.ID, a2a.TaskStateCanceled)
}

func driverAutoNoAgents(w *world) {
	run := w.say("", "", "hello?")
	w.reaches(run.ID, a2a.TaskStateFailed)
	w.transcript(run.ConversationID, "user person: hello?", "end auto: No agent is connected yet.")
}

func driverUnapproved(w *world) {
	agent := w.add("shady", writes("x"))
	for _, trust := range []orchestrator.Trust{orchestrator.TrustPending, orchestrator.TrustReview, orchestrator.TrustRemoved} {
		w.register("shady", func(a *orchestrator.Agent) { a.Trust = trust })
		if _, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "shady", Text: "hi"}); err == nil {
			w.Errorf("a message was taken for an agent that is %s", trust)
		}
	}
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "nobody", Text: "hi"}); err == nil {
		w.Error("a message was taken for an agent that is not there")
	}
	if n := len(agent.Sent()); n != 0 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

func driverSameMessage(w *world) {
	agent := w.add("writer", writes("ok"))
	say := &orchestrator.Say{To: "writer", MessageID: "m1", Text: "once"}
	first, err := w.driver.Say(w.ctx, say)
	w.must(err)
	w.reaches(first.ID, a2a.TaskStateCompleted)
	for range 2 {
		again, err := w.driver.Say(w.ctx, say)
		w.must(err)
		if again.ID != first.ID {
			w.Errorf("the same message began %s after %s", again.ID, first.ID)
		}
	}
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "writer", MessageID: "m1", Text: "other"}); a2a.KindOf(err) != a2a.KindInvalidParams {
		w.Errorf("another message under the same id: %v", err)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

func driverSameMessageAtOnce(w *world) {
	agent := w.add("writer", writes("ok"))
	var mu sync.Mutex
	runs := map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			run, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "writer", MessageID: "m1", Text: "once"})
			if err != nil {
				w.Errorf("%v", err)
				return
			}
			mu.Lock()
			runs[run.ID] = true
			mu.Unlock()
		})
	}
	all.Wait()
	if len(runs) != 1 {
		w.Errorf("one message began %d runs", len(runs))
	}
	for id := range runs {
		w.reaches(id, a2a.TaskStateCompleted)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

// transcript checks a conversation's items: kind, speaker and text of each.
func (w *world) transcript(conversation string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.items(conversation)); diff != "" {
		w.Errorf("the transcript differs (-want +got):\n%s", diff)
	}
}
