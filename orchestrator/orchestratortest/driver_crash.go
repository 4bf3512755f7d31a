package orchestratortest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// endData returns how a conversation's last run ended.
func (w *world) endData(conversation string) orchestrator.EndData {
	w.Helper()
	items, err := w.store.Items(w.ctx, conversation, 0, 1)
	w.must(err)
	var d orchestrator.EndData
	if len(items) == 0 || items[0].Kind != orchestrator.ItemEnd {
		w.Fatalf("the transcript does not tell how the run ended: %v", w.items(conversation))
	}
	w.must(json.Unmarshal(items[0].Data, &d))
	return d
}

func driverFailed(w *world) {
	w.add("flaky", func(x *Turn) {
		x.Write("text", "half of it")
		x.Say(a2a.TaskStateFailed, "Out of paper.")
	})
	run := w.say("", "flaky", "print")
	w.reaches(run.ID, a2a.TaskStateFailed)
	w.transcript(run.ConversationID, "user person: print", "agent flaky: half of it", "end flaky: Out of paper.")
	if d := w.endData(run.ConversationID); d.Fault == nil || d.Fault.What != "Out of paper." || d.Fault.Where != orchestrator.WhereAgent {
		w.Errorf("the end is %+v", d)
	}
	if c, err := w.store.Conversation(w.ctx, run.ConversationID); err != nil || c.State != orchestrator.ConversationFailed {
		w.Errorf("the conversation is %+v, %v", c, err)
	}

	w.add("proud", func(x *Turn) { x.Status(a2a.TaskStateRejected) })
	run = w.say("", "proud", "sweep")
	w.reaches(run.ID, a2a.TaskStateRejected)
	if d := w.endData(run.ConversationID); d.Fault == nil || d.Fault.Kind != "agent-declined" {
		w.Errorf("the end is %+v", d)
	}
}

func driverRefused(w *world) {
	agent := w.add("writer", writes("ok"))
	agent.Down(ErrRefused)
	run := w.say("", "writer", "go")
	w.eventually("the first attempt failed", func() bool { return w.has(run.ID, orchestrator.EventFault) == 1 })
	agent.Down(nil)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	var ids []string
	for _, e := range w.events(run.ID) {
		if e.Kind == orchestrator.EventSending {
			var s struct{ MessageID string }
			w.must(json.Unmarshal(e.JSON, &s))
			ids = append(ids, s.MessageID)
		}
	}
	if slices.Sort(ids); len(ids) < 2 || len(slices.Compact(ids)) != len(ids) {
		w.Errorf("attempt groups went out as %v", ids)
	}
}

func driverRefusedForGood(w *world) {
	agent := w.add("writer", writes("ok"))
	agent.Down(ErrRefused)
	run := w.say("", "writer", "go")
	w.reaches(run.ID, a2a.TaskStateFailed)
	if d := w.endData(run.ConversationID); d.Fault == nil || d.Fault.Kind != "refused" || d.Fault.Where != orchestrator.WhereNetwork {
		w.Errorf("the end is %+v", d)
	}
	if n := w.has(run.ID, orchestrator.EventSending); n != 3 {
		w.Errorf("%d attempts", n)
	}
}

func driverAgentError(w *world) {
	agent := w.add("strict", func(x *Turn) {
		x.Fail(&a2a.Error{Kind: a2a.KindInternal, Code: -32603, Message: "something broke"})
	})
	run := w.say("", "strict", "go")
	w.reaches(run.ID, a2a.TaskStateFailed)
	if d := w.endData(run.ConversationID); d.Fault == nil || !strings.Contains(d.Fault.What, "something broke") || !d.Fault.Retry {
		w.Errorf("the end is %+v", d)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the message was sent %d times", n)
	}
}

func driverRetry(w *world) {
	agent := w.add("flaky", func(x *Turn) { x.Status(a2a.TaskStateFailed) })
	run := w.say("", "flaky", "please")
	w.reaches(run.ID, a2a.TaskStateFailed)
	agent.Plays(writes("now it works"))
	again, err := w.driver.Retry(w.ctx, run.ID)
	w.must(err)
	if again.ID == run.ID || again.ConversationID != run.ConversationID {
		w.Errorf("the retry is %+v", again)
	}
	w.reaches(again.ID, a2a.TaskStateCompleted)
	sent := agent.Sent()
	if len(sent) != 2 || a2a.Text(sent[1].Message.Parts) != "please" || sent[1].Message.TaskID != "" {
		w.Errorf("the retry went out as %+v", sent[1].Message)
	}
	slow := w.add("slow", waits(nil))
	busy := w.say("", slow.ID, "work")
	if _, err := w.driver.Retry(w.ctx, busy.ID); err == nil {
		w.Error("a run that goes on was retried")
	}
	w.must(w.driver.Stop(w.ctx, busy.ID))
	w.reaches(busy.ID, a2a.TaskStateCanceled)
}

func driverCutStream(w *world) {
	more := make(chan struct{})
	agent := w.add("writer", func(x *Turn) {
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "one ")
		<-more
		x.Write("text", "two ")
		x.Write("text", "three")
		x.Write("other", "more")
		x.Status(a2a.TaskStateCompleted)
	})
	run := w.say("", "writer", "go")
	w.eventually("some of it is there", func() bool { return w.has(run.ID, orchestrator.EventArtifact) == 1 })
	agent.Down(ErrReset)
	close(more)
	w.agents.Wait()
	agent.Down(nil)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	t := w.fold(run.ID)
	if text(t, "text") != "one two three" || text(t, "other") != "more" {
		w.Errorf("got %q and %q", text(t, "text"), text(t, "other"))
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the message was sent %d times", n)
	}
}

// breaks loses the connection before the agent has answered anything, though it took the message.
func breaks(then Script) Script {
	first := true
	return func(x *Turn) {
		if first {
			first = false
			x.Fail(ErrReset)
			return
		}
		then(x)
	}
}

func driverCutBeforeAnswer(w *world) {
	agent := w.add("writer", nil)
	agent.Plays(func(x *Turn) {
		x.Fail(ErrReset) // the caller hears this, and the task is there all the same
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "it arrived")
		x.Status(a2a.TaskStateCompleted)
	})
	// What the agent shows when it is looked for may be any moment of that, also nothing.
	agent.mu.Lock()
	script := agent.script
	agent.script = func(x *Turn) { x.begin(); script(x) }
	agent.mu.Unlock()
	run := w.say("", "writer", "go")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "it arrived" {
		w.Errorf("got %q", got)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the message was sent %d times", n)
	}
}

func driverResendIdempotent(w *world) {
	agent := w.add("writer", breaks(writes("once")))
	agent.Blind()
	w.register("writer", func(a *orchestrator.Agent) { a.Idempotent = true })
	run := w.say("", "writer", "go")
	w.reaches(run.ID, a2a.TaskStateCompleted)
	sent := agent.Sent()
	if len(sent) != 2 || sent[0].Message.ID != sent[1].Message.ID {
		w.Errorf("sent %d messages; the second must be the first again", len(sent))
	}
	w.fold(run.ID)
}

func driverResendAsked(w *world) {
	agent := w.add("writer", breaks(writes("again")))
	agent.Blind()
	run := w.say("", "writer", "go")
	ask := w.ask(run.ID)
	if ask.Kind != orchestrator.AskResend || len(ask.Choices) != 2 || len(agent.Sent()) != 1 {
		w.Fatalf("the ask is %+v, after %d messages", ask, len(agent.Sent()))
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "again"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if sent := agent.Sent(); len(sent) != 2 || sent[0].Message.ID != sent[1].Message.ID {
		w.Errorf("sent %d messages; the second must be the first again", len(sent))
	}
	w.fold(run.ID)
}

func driverResendLeft(w *world) {
	agent := w.add("writer", breaks(writes("never")))
	agent.Blind()
	run := w.say("", "writer", "go")
	w.must(w.driver.Answer(w.ctx, w.ask(run.ID).ID, &orchestrator.Answer{Choice: "leave"}))
	w.reaches(run.ID, a2a.TaskStateFailed)
	if d := w.endData(run.ConversationID); d.Fault == nil || d.Fault.Kind != "cut" {
		w.Errorf("the end is %+v", d)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

func driverGap(w *world) {
	more := make(chan struct{})
	agent := w.add("writer", func(x *Turn) {
		x.Write("text", "one ")
		<-more
		x.Write("text", "three")
		x.Status(a2a.TaskStateCompleted)
	})
	run := w.say("", "writer", "go")
	w.eventually("some of it is there", func() bool { return w.has(run.ID, orchestrator.EventArtifact) == 1 })
	agent.Loses("two was lost")
	w.eventually("the gap is told", func() bool { return w.has(run.ID, orchestrator.EventGap) == 1 })
	close(more)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	w.transcript(run.ConversationID, "user person: go", "gap person: two was lost", "agent writer: one three")
}

func driverClose(w *world) {
	done := make(chan struct{})
	agent := w.add("slow", waits(done))
	run := w.say("", "slow", "work")
	w.eventually("it has begun", func() bool { return w.has(run.ID, orchestrator.EventArtifact) == 1 })
	w.close()
	if s := w.run(run.ID).State; s != a2a.TaskStateWorking {
		w.Errorf("closing made the run %s", s)
	}
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "slow", Text: "more"}); a2a.KindOf(err) != a2a.KindUnavailable {
		w.Errorf("after closing: %v", err)
	}
	close(done)
	w.agents.Wait()
	w.start()
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "so far, and done" {
		w.Errorf("got %q", got)
	}
	if n := len(agent.Sent()); n != 1 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

// driverCrashAnywhere kills the process after each commit of a run in turn. What was acknowledged is never lost, the
// message is acted on once, and the run ends as if nothing had happened.
func driverCrashAnywhere(w *world) {
	words := []string{"one ", "two ", "three ", "four"}
	crashed := 0
	for n := 0; n < 12; n++ {
		agent := w.add("writer", writes(words...))
		w.register("writer", func(a *orchestrator.Agent) { a.Idempotent = n%2 == 0 })
		dead := w.process.dying(n)
		say := &orchestrator.Say{To: "writer", MessageID: "m" + string(rune('a'+n)), Text: "go"}
		run, err := w.driver.Say(w.ctx, say)
		if err == nil {
			select {
			case <-dead:
				crashed++
			case <-w.ended(run.ID):
			}
		}
		w.crash()
		w.agents.Wait()
		w.start()
		if err != nil { // nothing was acknowledged: the page posts it again
			run, err = w.driver.Say(w.ctx, say)
			w.must(err)
		}
		w.eventually("the run ended or asks", func() bool {
			s := w.run(run.ID).State
			return s.Terminal() || s.Interrupted()
		})
		want := []string{"user person: go"}
		if w.run(run.ID).State.Interrupted() { // "It may have arrived." Only where that cannot be known.
			if len(agent.Sent()) != 0 || n%2 == 0 {
				w.Fatalf("killed after commit %d: asked, though the agent had %d messages; events: %v", n, len(agent.Sent()), w.kinds(run.ID))
			}
			ask := w.ask(run.ID)
			want = append(want, "ask writer: "+ask.Prompt)
			w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Choice: "again"}))
		}
		w.reaches(run.ID, a2a.TaskStateCompleted)
		if got := text(w.fold(run.ID), "text"); got != strings.Join(words, "") {
			w.Errorf("killed after commit %d: got %q; events: %v", n, got, w.kinds(run.ID))
		}
		if n := len(agent.Sent()); n != 1 {
			w.Errorf("killed after commit %d: the agent was sent %d messages", n, n)
		}
		w.transcript(run.ConversationID, append(want, "agent writer: one two three four")...)
	}
	if crashed < 5 {
		w.Errorf("the process died only %d times while the run went on", crashed)
	}
}

// ended returns a channel that is closed when a run has ended.
func (w *world) ended(id string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for w.ctx.Err() == nil {
			if r, err := w.store.Run(w.ctx, id); err == nil && r.State.Terminal() {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return done
}

func driverCrashWhileAsking(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	run := w.say("", "asker", "book")
	ask := w.ask(run.ID)
	done := make(chan struct{})
	w.add("vault", signsIn(done))
	open := w.say("", "vault", "open")
	w.ask(open.ID)
	w.crash()
	w.start()
	if got := w.ask(run.ID); got.ID != ask.ID {
		w.Errorf("after the restart the ask is %s, it was %s", got.ID, ask.ID)
	}
	w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: "Rome"}))
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "You said Rome." {
		w.Errorf("got %q", got)
	}
	if n := len(agent.Sent()); n != 2 {
		w.Errorf("the agent was sent %d messages", n)
	}
	close(done) // and the sign-in is still watched
	w.reaches(open.ID, a2a.TaskStateCompleted)
	w.fold(open.ID)
}

// driverCrashOnAnswer kills the process after each commit that an answer leads to.
func driverCrashOnAnswer(w *world) {
	for n := 0; n < 7; n++ {
		agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
		w.register("asker", func(a *orchestrator.Agent) { a.Idempotent = true })
		run := w.say("", "asker", "book")
		ask := w.ask(run.ID)
		dead := w.process.dying(n)
		err := w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: "Rome"})
		if err == nil {
			select {
			case <-dead:
			case <-w.ended(run.ID):
			}
		}
		w.crash()
		w.agents.Wait()
		w.start()
		if err != nil {
			w.must(w.driver.Answer(w.ctx, ask.ID, &orchestrator.Answer{Text: "Rome"}))
		}
		w.reaches(run.ID, a2a.TaskStateCompleted)
		if got := text(w.fold(run.ID), "text"); got != "You said Rome." {
			w.Errorf("killed after commit %d: got %q; events: %v", n, got, w.kinds(run.ID))
		}
		if n := len(agent.Sent()); n != 2 {
			w.Errorf("killed after commit %d: the agent was sent %d messages", n, n)
		}
		w.transcript(run.ConversationID, "user person: book", "ask asker: Which city?", "agent asker: You said Rome.")
	}
}

func driverCrashOnAuto(w *world) {
	for n := 1; n < 8; n++ {
		agent := w.add("travel", writes("booked"))
		w.describe("travel", "Books flights.")
		w.register("travel", func(a *orchestrator.Agent) { a.Idempotent = true })
		dead := w.process.dying(n)
		run := w.say("", orchestrator.Auto, "flights")
		select {
		case <-dead:
		case <-w.ended(run.ID):
		}
		w.crash()
		w.agents.Wait()
		w.start()
		w.reaches(run.ID, a2a.TaskStateCompleted)
		w.fold(run.ID)
		if n := len(agent.Sent()); n != 1 {
			w.Errorf("killed after commit %d: the agent was sent %d messages", n, n)
		}
	}
}

// failing is a store that can fail on demand.
type failing interface{ Fail(err error) }

func driverStoreFails(w *world) {
	store, ok := w.store.(failing)
	if !ok {
		w.Skip("this store does not fail on demand")
	}
	more := make(chan struct{})
	w.add("writer", func(x *Turn) {
		x.Write("text", "one ")
		<-more
		x.Write("text", "two")
		x.Status(a2a.TaskStateCompleted)
	})
	run := w.say("", "writer", "go")
	w.eventually("some of it is there", func() bool { return w.has(run.ID, orchestrator.EventArtifact) == 1 })
	full := &a2a.Error{Kind: a2a.KindUnavailable, Message: "the disk is full"}
	store.Fail(full)
	close(more)
	w.agents.Wait()
	if _, err := w.driver.Say(w.ctx, &orchestrator.Say{To: "writer", Text: "more"}); !errors.Is(err, full) {
		w.Errorf("while nothing can be stored: %v", err)
	}
	before := len(w.events(run.ID))
	store.Fail(nil)
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if got := text(w.fold(run.ID), "text"); got != "one two" || before > len(w.events(run.ID)) {
		w.Errorf("got %q", got)
	}
}
