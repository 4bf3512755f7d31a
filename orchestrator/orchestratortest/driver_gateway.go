package orchestratortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"parley/a2a"
	"parley/orchestrator"
)

func driverGateway(w *world) {
	agent := w.add("writer", writes("a", "b"))
	task, after := w.send("writer", "ann", "m1", "go")
	events := w.until("writer", "ann", task, after, ends)
	if len(events) != 5 {
		w.Errorf("%d events", len(events))
	}
	t := w.fold(task)
	if text(t, "text") != "ab" || t.ContextID == "" || t.ContextID == "writer-context-1" {
		w.Errorf("the task is %+v", t)
	}
	for _, e := range w.events(task) {
		if e.Kind.A2A() && (strings.Contains(string(e.JSON), "writer-task-1") || strings.Contains(string(e.JSON), "writer-context-1")) {
			w.Errorf("an event shows the agent's own ids: %s", e.JSON)
		}
	}
	if m := t.History[0]; m.ID != "m1" || m.TaskID != task || m.ContextID != t.ContextID {
		w.Errorf("the history begins with %+v", m)
	}
	if m := agent.Sent()[0].Message; m.ID == "m1" || m.ContextID != "" || m.TaskID != "" {
		w.Errorf("the agent was sent ids of ours: %+v", m)
	}
	got, err := w.driver.Tasks("writer").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
	w.must(err)
	if got.Status.State != a2a.TaskStateCompleted || text(got, "text") != "ab" {
		w.Errorf("GetTask: %+v", got)
	}
	none := 0
	if got, err = w.driver.Tasks("writer").Task(w.ctx, "ann", &a2a.GetRequest{ID: task, HistoryLength: &none}); err != nil || len(got.History) != 0 {
		w.Errorf("GetTask without history: %+v, %v", got, err)
	}
	if row := w.run(task); row.Scope != "agents/writer" || row.ConversationID != "" || row.Principal != "ann" {
		w.Errorf("the run's row is %+v", row)
	}
	if n := len(w.until("writer", "ann", task, w.run(task).LastSeq, ends)); n != 0 {
		w.Errorf("%d events after the last", n)
	}
}

func driverGatewayMessage(w *world) {
	w.add("echo", func(x *Turn) { x.Reply(a2a.TextPart("echo")) })
	task, after := w.send("echo", "ann", "m1", "hi")
	events := w.until("echo", "ann", task, after, ends)
	m, ok := events[0].(*a2a.Message)
	if !ok || len(events) != 1 || m.TaskID != "" || m.ContextID != w.run(task).ContextID || a2a.Text(m.Parts) != "echo" {
		w.Errorf("events: %+v", events)
	}
	if _, err := w.driver.Tasks("echo").Task(w.ctx, "ann", &a2a.GetRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotFound) {
		w.Errorf("a message became a task: %v", err)
	}
	page, err := w.driver.Tasks("echo").List(w.ctx, "ann", &a2a.ListRequest{})
	if err != nil || len(page.Tasks) != 0 {
		w.Errorf("a message is listed: %+v, %v", page, err)
	}
}

// driverGatewayTask has the agent answer with one whole task, as an agent without streaming does.
func driverGatewayTask(w *world) {
	w.add("batch", func(x *Turn) {
		x.answer <- answer{event: &a2a.Task{
			ID: "t9", ContextID: "c9", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
			Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("done")}}},
		}}
	})
	task, after := w.send("batch", "ann", "m1", "go")
	events := w.until("batch", "ann", task, after, ends)
	t, ok := events[0].(*a2a.Task)
	if !ok || len(events) != 1 || text(t, "a") != "done" || len(t.History) != 1 || t.History[0].ID != "m1" {
		w.Errorf("events: %+v", events)
	}
	if n := len(w.events(task)); n != 3 {
		w.Errorf("one answer took %d events: %v", n, w.kinds(task))
	}
	for range 2 {
		none := 0
		got, err := w.driver.Tasks("batch").Task(w.ctx, "ann", &a2a.GetRequest{ID: task, HistoryLength: &none})
		if err != nil || text(got, "a") != "done" || len(got.History) != 0 {
			w.Errorf("GetTask: %+v, %v", got, err)
		}
		if _, err := w.driver.Tasks("batch").Task(w.ctx, "bob", &a2a.GetRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotFound) {
			w.Errorf("another caller got the task: %v", err)
		}
	}
	if got, err := w.driver.Tasks("batch").Task(w.ctx, "ann", &a2a.GetRequest{ID: task}); err != nil || len(got.History) != 1 {
		w.Errorf("GetTask: %+v, %v", got, err)
	}
}

func driverGatewayContexts(w *world) {
	agent := w.add("writer", writes("ok"))
	in := func(principal, id, context string) string {
		r := message(id, "go")
		r.Message.ContextID = context
		task, after, _, err := w.driver.Tasks("writer").Start(w.ctx, principal, r)
		w.must(err)
		w.until("writer", principal, task, after, ends)
		if got := w.run(task).ContextID; context != "" && got != context {
			w.Errorf("the task is in context %q, want %q", got, context)
		}
		return agent.Sent()[len(agent.Sent())-1].Message.ContextID
	}
	in("ann", "m1", "mine")
	if got := in("ann", "m2", "mine"); got != "writer-context-1" {
		w.Errorf("the second message of a context went out in %q", got)
	}
	if got := in("bob", "m1", "mine"); got != "" {
		w.Errorf("another caller's message went out in %q", got)
	}
	if got := in("ann", "m3", "other"); got != "" {
		w.Errorf("another context's message went out in %q", got)
	}
}

func driverGatewayAsk(w *world) {
	agent := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	task, after := w.send("asker", "ann", "m1", "book")
	events := w.until("asker", "ann", task, after, in(a2a.TaskStateInputRequired))
	s := events[len(events)-1].(*a2a.StatusUpdate)
	if a2a.Text(s.Status.Message.Parts) != "Which city?" || s.Status.Message.TaskID != task {
		w.Errorf("the question came as %+v", s.Status.Message)
	}
	if open, err := w.store.OpenAsks(w.ctx, ""); err != nil || len(open) != 0 {
		w.Errorf("the local person is asked %+v, %v", open, err)
	}
	tasks := w.driver.Tasks("asker")
	wrong := reply(task, "m2", "Rome")
	wrong.Message.ContextID = "elsewhere"
	if _, _, _, err := tasks.Start(w.ctx, "ann", wrong); a2a.KindOf(err) != a2a.KindInvalidParams {
		w.Errorf("a reply in another context: %v", err)
	}
	for i := range 2 {
		got, at, repeated, err := tasks.Start(w.ctx, "ann", reply(task, "m2", "Rome"))
		w.must(err)
		if got != task || repeated != (i == 1) || at == 0 {
			w.Errorf("the reply began %s after %d, repeated %v", got, at, repeated)
		}
		for _, e := range w.until("asker", "ann", task, at, ends) {
			if a2a.EventState(e) == a2a.TaskStateInputRequired {
				w.Error("the answer begins with the question")
			}
		}
	}
	t := w.fold(task)
	if text(t, "text") != "You said Rome." || len(agent.Sent()) != 2 || agent.Sent()[1].Message.TaskID != "asker-task-1" {
		w.Errorf("got %q after %d messages", text(t, "text"), len(agent.Sent()))
	}
	got, err := tasks.Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
	w.must(err)
	var said []string
	for _, m := range got.History {
		said = append(said, a2a.Text(m.Parts))
	}
	if !slices.Equal(said, []string{"book", "Which city?", "Rome"}) {
		w.Errorf("the history is %q", said)
	}
}

func driverGatewaySignIn(w *world) {
	done := make(chan struct{})
	w.add("vault", signsIn(done))
	task, after := w.send("vault", "ann", "m1", "open")
	w.until("vault", "ann", task, after, in(a2a.TaskStateAuthRequired))
	close(done)
	w.until("vault", "ann", task, after, ends)
	w.reaches(task, a2a.TaskStateCompleted)
	w.fold(task)
}

func driverGatewaySameMessage(w *world) {
	agent := w.add("writer", writes("ok"))
	var mu sync.Mutex
	began, tasks := 0, map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			task, _, repeated, err := w.driver.Tasks("writer").Start(w.ctx, "ann", message("m1", "go"))
			if err != nil {
				w.Errorf("%v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			tasks[task] = true
			if !repeated {
				began++
			}
		})
	}
	all.Wait()
	if began != 1 || len(tasks) != 1 {
		w.Errorf("one message began %d times, %d tasks", began, len(tasks))
	}
	if _, _, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", message("m1", "other")); a2a.KindOf(err) != a2a.KindInvalidParams {
		w.Errorf("another message under the same id: %v", err)
	}
	w.send("writer", "bob", "m1", "go") // ids are each caller's own
	w.add("other", writes("ok"))
	w.send("other", "ann", "m1", "go") // at each agent
	w.eventually("both were sent", func() bool { return len(agent.Sent()) == 2 })
}

// driverGatewayNamed has callers make the ids of their tasks, as v0.1 has it.
func driverGatewayNamed(w *world) {
	w.add("writer", writes("ok"))
	asker := w.add("asker", asks(a2a.TaskStateInputRequired, "Which city?"))
	named := func(task, id, text string) *a2a.SendRequest {
		r := reply(task, id, text)
		r.NewTask = true
		return r
	}
	tasks := w.driver.Tasks("asker")
	start := func(principal, task, id, text string) (string, int64) {
		got, after, _, err := tasks.Start(w.ctx, principal, named(task, id, text))
		w.must(err)
		if got != task {
			w.Errorf("a task named %s began as %s", task, got)
		}
		return got, after
	}
	task, after := start("ann", "ann-1", "m1", "book")
	w.until("asker", "ann", task, after, in(a2a.TaskStateInputRequired))
	if m := asker.Sent()[0].Message; m.TaskID != "" {
		w.Errorf("the agent was sent our caller's name for the task: %+v", m)
	}
	w.close()
	w.start()
	tasks = w.driver.Tasks("asker")
	for i := range 2 {
		got, at, repeated, err := tasks.Start(w.ctx, "ann", named("ann-1", "m2", "Rome"))
		w.must(err)
		if got != task || repeated != (i == 1) {
			w.Errorf("the reply began %s after %d, repeated %v", got, at, repeated)
		}
		w.until("asker", "ann", task, at, ends)
	}
	t := w.fold(task)
	if text(t, "text") != "You said Rome." || t.History[0].TaskID != task {
		w.Errorf("the task is %+v", t)
	}
	for _, id := range []string{"m1", "m2"} { // the messages that were received stay known under the name
		text := map[string]string{"m1": "book", "m2": "Rome"}[id]
		if _, _, repeated, err := tasks.Start(w.ctx, "ann", named("ann-1", id, text)); err != nil || !repeated {
			w.Errorf("message %s again: repeated %v, %v", id, repeated, err)
		}
	}
	if _, _, _, err := tasks.Start(w.ctx, "ann", named("ann-1", "m3", "more")); a2a.KindOf(err) != a2a.KindTaskTerminal {
		w.Errorf("a message for one that has ended: %v", err)
	}
	for _, at := range []struct{ agent, principal string }{{"asker", "bob"}, {"writer", "ann"}} {
		if _, _, _, err := w.driver.Tasks(at.agent).Start(w.ctx, at.principal, named("ann-1", "m4", "mine")); !errors.Is(err, a2a.ErrTaskNotFound) {
			w.Errorf("%v took the name: %v", at, err)
		}
	}

	// Several at once make one task.
	sent := len(asker.Sent())
	var began atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			switch _, _, _, err := tasks.Start(w.ctx, "ann", named("ann-2", fmt.Sprint("n", i), "book")); a2a.KindOf(err) {
			case "":
				began.Add(1)
			case a2a.KindUnsupportedOperation, a2a.KindRateLimited, a2a.KindTaskTerminal:
			default:
				w.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	if began.Load() == 0 {
		w.Error("none of them began it")
	}
	if row := w.run("ann-2"); row.Principal != "ann" || row.Scope != "agents/asker" {
		w.Errorf("the run's row is %+v", row)
	}
	w.eventually("it was sent", func() bool { return len(asker.Sent()) > sent })
	for _, s := range asker.Sent()[sent+1:] {
		if s.Message.TaskID == "" {
			w.Error("one name began two tasks at the agent")
		}
	}
}

// driverGatewayFollowUp has callers say more before the agent has answered what they said first: it waits for that, and
// then goes to the same task.
func driverGatewayFollowUp(w *world) {
	for name, fresh := range map[string]bool{"a task by its caller's name": true, "a task by ours": false} {
		w.another(name, func(w *world) {
			answer, end := make(chan struct{}), make(chan struct{})
			agent := w.add("writer", func(x *Turn) {
				if x.Message.TaskID != "" {
					x.Write("text", "also "+a2a.Text(x.Message.Parts))
					close(end)
					return
				}
				<-answer
				x.Status(a2a.TaskStateWorking)
				<-end
				x.Status(a2a.TaskStateCompleted)
			})
			w.start()
			defer w.close()
			tasks := w.driver.Tasks("writer")
			say := func(task, id, text string) (string, int64, error) {
				r := reply(task, id, text)
				r.NewTask = fresh
				task, after, _, err := tasks.Start(w.ctx, "ann", r)
				return task, after, err
			}
			first := ""
			if fresh {
				first = "ann-1"
			}
			task, _, err := say(first, "m1", "write")
			w.must(err)
			w.eventually("the agent has it", func() bool { return len(agent.Sent()) == 1 })
			type began struct {
				task  string
				after int64
				err   error
			}
			more, left := make(chan began, 1), make(chan error, 1)
			before := w.process.followed.Load()
			waits := func(n int32) func() bool {
				return func() bool { return w.process.followed.Load() >= before+n || len(more) > 0 || len(left) > 0 }
			}
			go func() {
				task, after, err := say(task, "m2", "Rome")
				more <- began{task, after, err}
			}()
			w.eventually("it waits", waits(1))
			// Whoever gives up leaves nothing behind.
			gone, leave := context.WithCancel(w.ctx)
			defer leave()
			go func() {
				_, _, _, err := tasks.Start(gone, "ann", reply(task, "m3", "Bergen"))
				left <- err
			}()
			w.eventually("another waits", waits(2))
			leave()
			if err := <-left; !errors.Is(err, context.Canceled) {
				w.Errorf("one who left: %v", err)
			}
			select {
			case got := <-more:
				w.Fatalf("the agent has not answered, and a message for its task is %+v; the run is %+v, its task %+v", got, w.run(task), w.fold(task))
			default:
			}
			close(answer)
			got := <-more
			if got.err != nil {
				w.Fatalf("the message that waited: %v; the run is %+v, its task %+v", got.err, w.run(task), w.fold(task))
			}
			if got.task != task {
				w.Errorf("it began %s, want %s", got.task, task)
			}
			w.until("writer", "ann", task, got.after, ends)
			sent := agent.Sent()
			if len(sent) != 2 || sent[1].Message.TaskID == "" || a2a.Text(sent[1].Message.Parts) != "Rome" {
				w.Errorf("the agent was sent %+v", sent)
			}
			if t := w.fold(task); text(t, "text") != "also Rome" {
				w.Errorf("the task is %+v", t)
			}
			if _, _, err := say(task, "m4", "more"); a2a.KindOf(err) != a2a.KindTaskTerminal {
				w.Errorf("after its end: %v", err)
			}
		})
	}
}

func driverGatewayPrivate(w *world) {
	w.add("writer", writes("ok"))
	w.add("other", writes("ok"))
	task, after := w.send("writer", "ann", "m1", "go")
	w.until("writer", "ann", task, after, ends)
	for _, at := range []struct{ agent, principal string }{{"writer", "bob"}, {"other", "ann"}, {"", "ann"}} {
		tasks := w.driver.Tasks(at.agent)
		if _, err := tasks.Task(w.ctx, at.principal, &a2a.GetRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotFound) {
			w.Errorf("%v got the task: %v", at, err)
		}
		if _, err := tasks.Cancel(w.ctx, at.principal, &a2a.CancelRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotFound) {
			w.Errorf("%v canceled the task: %v", at, err)
		}
		if _, _, _, err := tasks.Start(w.ctx, at.principal, reply(task, "m2", "x")); !errors.Is(err, a2a.ErrTaskNotFound) {
			w.Errorf("%v replied to the task: %v", at, err)
		}
		for _, err := range tasks.Events(w.ctx, at.principal, task, 0) {
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				w.Errorf("%v read the task: %v", at, err)
			}
		}
		if page, err := tasks.List(w.ctx, at.principal, &a2a.ListRequest{}); err != nil || len(page.Tasks) != 0 {
			w.Errorf("%v lists %v, %v", at, page, err)
		}
	}
	if err := w.driver.Stop(w.ctx, task); err == nil {
		w.Error("the local person stopped a caller's task")
	}
}

func driverGatewayList(w *world) {
	w.add("writer", writes("ok"))
	var want []string
	for i := range 5 {
		task, after := w.send("writer", "ann", fmt.Sprintf("m%d", i), "go")
		w.until("writer", "ann", task, after, ends)
		want = append(want, task)
	}
	tasks := w.driver.Tasks("writer")
	var got []string
	token := ""
	for {
		page, err := tasks.List(w.ctx, "ann", &a2a.ListRequest{PageSize: 2, PageToken: token})
		w.must(err)
		if page.TotalSize != 5 {
			w.Errorf("total %d", page.TotalSize)
		}
		for _, t := range page.Tasks {
			got = append(got, t.ID)
			if len(t.Artifacts) != 0 || len(t.History) != 0 {
				w.Error("a list shows more than it was asked for")
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("listed %v, want %v", got, want)
	}
	if page, err := tasks.List(w.ctx, "ann", &a2a.ListRequest{IncludeArtifacts: true, PageSize: 1}); err != nil || text(&page.Tasks[0], "text") != "ok" {
		w.Errorf("with artifacts: %+v, %v", page, err)
	}
	for _, r := range []*a2a.ListRequest{{PageSize: 101}, {PageSize: -1}, {PageToken: "x"}, {PageToken: "WzEsMl0"}} {
		if _, err := tasks.List(w.ctx, "ann", r); a2a.KindOf(err) != a2a.KindInvalidParams {
			w.Errorf("%+v: %v", r, err)
		}
	}
}

func driverGatewayCancel(w *world) {
	agent := w.add("slow", waits(nil))
	task, after := w.send("slow", "ann", "m1", "work")
	w.until("slow", "ann", task, after, in(a2a.TaskStateWorking))
	tasks := w.driver.Tasks("slow")
	for range 2 {
		t, err := tasks.Cancel(w.ctx, "ann", &a2a.CancelRequest{ID: task})
		w.must(err)
		if t.Status.State != a2a.TaskStateCanceled {
			w.Errorf("after the cancel it is %s", t.Status.State)
		}
	}
	if agent.Cancels() != 1 {
		w.Errorf("the agent was asked to stop %d times", agent.Cancels())
	}
	w.until("slow", "ann", task, after, ends)
	w.fold(task)

	w.add("writer", writes("ok"))
	task, after = w.send("writer", "ann", "m1", "go")
	w.until("writer", "ann", task, after, ends)
	if _, err := w.driver.Tasks("writer").Cancel(w.ctx, "ann", &a2a.CancelRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		w.Errorf("an ended task: %v", err)
	}
}

func driverGatewayCancelRefused(w *world) {
	done := make(chan struct{})
	agent := w.add("slow", waits(done))
	agent.RefusesStop(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "I never stop"})
	task, after := w.send("slow", "ann", "m1", "work")
	w.until("slow", "ann", task, after, in(a2a.TaskStateWorking))
	if _, err := w.driver.Tasks("slow").Cancel(w.ctx, "ann", &a2a.CancelRequest{ID: task}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		w.Errorf("a refused cancel: %v", err)
	}
	close(done)
	w.until("slow", "ann", task, after, ends)
	w.reaches(task, a2a.TaskStateCompleted)
}

// driverGatewayWorking sends one more message to a task that is at work: it goes to its agent.
func driverGatewayWorking(w *world) {
	more := make(chan string, 1)
	agent := w.add("listener", func(x *Turn) {
		if x.Message.TaskID != "" {
			more <- a2a.Text(x.Message.Parts)
			return
		}
		x.Status(a2a.TaskStateWorking)
		x.Write("text", "one ")
		x.Write("text", "and "+<-more)
		x.Status(a2a.TaskStateCompleted)
	})
	task, after := w.send("listener", "ann", "m1", "go")
	w.until("listener", "ann", task, after, func(e a2a.Event) bool { _, ok := e.(*a2a.ArtifactUpdate); return ok })
	_, at, _, err := w.driver.Tasks("listener").Start(w.ctx, "ann", reply(task, "m2", "two"))
	w.must(err)
	w.until("listener", "ann", task, at, ends)
	if got := text(w.fold(task), "text"); got != "one and two" || len(agent.Sent()) != 2 {
		w.Errorf("got %q after %d messages", got, len(agent.Sent()))
	}
}

func driverGatewayEnded(w *world) {
	w.add("writer", writes("ok"))
	task, after := w.send("writer", "ann", "m1", "go")
	w.until("writer", "ann", task, after, ends)
	if _, _, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", reply(task, "m2", "more")); !errors.Is(err, a2a.ErrTaskTerminal) {
		w.Errorf("a message for an ended task: %v", err)
	}
	if _, _, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", reply("no-such-task", "m3", "more")); !errors.Is(err, a2a.ErrTaskNotFound) {
		w.Errorf("a message for an unknown task: %v", err)
	}
}

func driverGatewayCircle(w *world) {
	agent := w.add("writer", writes("ok"))
	hops := func(n int) *a2a.SendRequest {
		r := message(fmt.Sprintf("m%d", n), "go")
		r.Message.Metadata = json.RawMessage(fmt.Sprintf(`{"urn:parley:hops":%d,"kept":[1]}`, n))
		return r
	}
	task, after, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", hops(7))
	w.must(err)
	w.until("writer", "ann", task, after, ends)
	var meta map[string]any
	w.must(json.Unmarshal(agent.Sent()[0].Message.Metadata, &meta))
	if meta["urn:parley:hops"] != 8.0 || meta["kept"] == nil {
		w.Errorf("the message went on with %v", meta)
	}
	var refused *a2a.Error
	if _, _, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", hops(8)); a2a.KindOf(err) != a2a.KindUnsupportedOperation || !errors.As(err, &refused) || !refused.Final() {
		w.Errorf("a ninth hop: %v", err)
	}
}

// driverGatewayIdentical has two programs go round in a circle: one asks, the other always says the same.
func driverGatewayIdentical(w *world) {
	agent := w.add("asker", func(x *Turn) { x.Say(a2a.TaskStateInputRequired, "Which?") })
	task, at := w.send("asker", "ann", "m0", "book")
	for i := 1; ; i++ {
		w.until("asker", "ann", task, at, in(a2a.TaskStateInputRequired))
		var err error
		_, at, _, err = w.driver.Tasks("asker").Start(w.ctx, "ann", reply(task, fmt.Sprintf("m%d", i), "What?"))
		if err != nil {
			var e *a2a.Error
			if !errors.As(err, &e) || e.Kind != a2a.KindRateLimited || e.RetryAfter == 0 || i != 4 {
				w.Errorf("reply %d: %v", i, err)
			}
			break
		}
	}
	if n := len(agent.Sent()); n != 4 {
		w.Errorf("the agent was sent %d messages", n)
	}
}

// driverGatewayLost ends a caller's run where the local person would be asked: the caller can send again itself.
func driverGatewayLost(w *world) {
	agent := w.add("writer", breaks(writes("x")))
	agent.Blind()
	task, after := w.send("writer", "ann", "m1", "go")
	w.until("writer", "ann", task, after, ends)
	w.reaches(task, a2a.TaskStateFailed)
	w.fold(task)
}

func driverGatewayError(w *world) {
	w.add("strict", func(x *Turn) { x.Fail(&a2a.Error{Kind: a2a.KindInvalidParams, Code: -32602, Message: "no such city"}) })
	task, after := w.send("strict", "ann", "m1", "go")
	events := w.until("strict", "ann", task, after, ends)
	last := events[len(events)-1].(*a2a.StatusUpdate)
	if last.Status.State != a2a.TaskStateFailed || !strings.Contains(a2a.Text(last.Status.Message.Parts), "no such city") {
		w.Errorf("the end is %+v", last)
	}
	if _, _, _, err := w.driver.Tasks("nobody").Start(w.ctx, "ann", message("m1", "go")); err == nil {
		w.Error("an unknown agent took a message")
	}
}

func driverOwnAgent(w *world) {
	w.add("travel", writes("booked"))
	w.add("poet", writes("a poem"))
	w.describe("travel", "Books flights.")
	task, after := w.send("", "ann", "m1", "flights")
	w.until("", "ann", task, after, ends)
	if t := w.fold(task); text(t, "text") != "booked" {
		w.Errorf("the task is %+v", t)
	}
	if s := w.run(task).Scope; s != orchestrator.OwnAgent {
		w.Errorf("the scope is %q", s)
	}

	// With no clear winner the caller is asked, and answers by the task's id.
	task, after = w.send("", "ann", "m2", "xyzzy")
	events := w.until("", "ann", task, after, in(a2a.TaskStateInputRequired))
	m := events[len(events)-1].(*a2a.StatusUpdate).Status.Message
	var data struct {
		Asks []struct {
			ID      string
			Choices []orchestrator.Choice
		}
	}
	w.must(json.Unmarshal(m.Parts[1].Data, &data))
	if len(data.Asks) != 1 || data.Asks[0].ID == "" || len(data.Asks[0].Choices) != 2 || !strings.Contains(m.Parts[0].Text, "2. travel") {
		w.Errorf("the question is %+v", m)
	}
	own := w.driver.Tasks("")
	if _, _, _, err := own.Start(w.ctx, "ann", reply(task, "m3", "the third")); a2a.KindOf(err) != a2a.KindInvalidParams {
		w.Errorf("a choice that is none: %v", err)
	}
	_, at, _, err := own.Start(w.ctx, "ann", reply(task, "m4", "poet"))
	w.must(err)
	w.until("", "ann", task, at, ends)
	if got := text(w.fold(task), "text"); got != "a poem" {
		w.Errorf("got %q", got)
	}
}

func driverOwnAgentNamed(w *world) {
	w.add("travel", writes("booked"))
	w.add("poet", writes("a poem"))
	r := message("m1", "xyzzy")
	r.Message.Metadata = json.RawMessage(`{"urn:parley:agent":"poet"}`)
	task, after, _, err := w.driver.Tasks("").Start(w.ctx, "ann", r)
	w.must(err)
	w.until("", "ann", task, after, ends)
	if got := text(w.fold(task), "text"); got != "a poem" {
		w.Errorf("got %q", got)
	}
	r = message("m2", "xyzzy")
	r.Message.Metadata = json.RawMessage(`{"urn:parley:agent":"nobody"}`)
	if _, _, _, err := w.driver.Tasks("").Start(w.ctx, "ann", r); a2a.KindOf(err) != a2a.KindInvalidParams {
		w.Errorf("an agent that is not there: %v", err)
	}
}
