package a2aserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// as lets the header X-Who say who is calling.
func as() *a2aserver.HandlerOptions {
	return &a2aserver.HandlerOptions{Authenticate: func(r *http.Request) (string, error) { return r.Header.Get("X-Who"), nil }}
}

func TestBlockingSend(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})

	r := s.call("SendMessage", say("hello"))
	want(t, "echo", r.get("message.parts.0.text"), "echo: hello")
	want(t, "role", r.get("message.role"), "ROLE_AGENT")
	want(t, "task of a Message", r.get("message.taskId"), "")
	if r.get("message.contextId") == "" || r.get("message.messageId") == "" {
		t.Errorf("ids are missing: %s", r.Body)
	}

	r = s.call("SendMessage", say("do it", `"contextId":"c-1"`))
	want(t, "state", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "artifact", r.get("task.artifacts.0.parts.0.text"), "it")
	want(t, "context", r.get("task.contextId"), "c-1")
	want(t, "history", r.get("task.history.0.parts.0.text"), "do it")
	want(t, "history's task", r.get("task.history.0.taskId"), r.get("task.id"))

	r = s.call("message/send", say("do it"))
	want(t, "MID kind", r.get("kind"), "task")
	want(t, "MID state", r.get("status.state"), "completed")
}

func TestWaysToEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, c := range []struct{ say, state, text string }{
		{"silent", "COMPLETED", ""},
		{"late", "COMPLETED", "late words"},
		{"reject", "REJECTED", "not my job"},
		{"panic", "FAILED", "The agent failed while it worked on this."},
		{"fail", "FAILED", "The agent failed while it worked on this."},
		{"refuse", "FAILED", "no more paper"},
		{"ask", "INPUT_REQUIRED", "which?"},
	} {
		r := s.call("SendMessage", say(c.say))
		want(t, c.say, r.get("task.status.state"), "TASK_STATE_"+c.state)
		want(t, c.say+" text", r.get("task.status.message.parts.0.text"), c.text)
		if strings.Contains(string(r.Body), "secret") || strings.Contains(string(r.Body), "goroutine") {
			t.Errorf("%s tells too much: %s", c.say, r.Body)
		}
	}
	want(t, "late keeps its artifact", s.call("SendMessage", say("late")).get("task.artifacts.0.parts.0.text"), "a")
}

// misbehaves yields what an executor must not.
func TestUnrulyExecutors(t *testing.T) {
	t.Parallel()
	run := func(f execFunc) *reply {
		s := serve(t, config{exec: f})
		return s.call("SendMessage", say("x"))
	}
	r := run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(nil)
		return nil
	})
	want(t, "nil event", r.get("task.status.state"), "TASK_STATE_FAILED")
	r = run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(&a2a.Task{ID: "mine"})
		return nil
	})
	want(t, "a Task", r.get("task.status.state"), "TASK_STATE_FAILED")
	r = run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateCompleted))
		yield(chunk("too late"))
		return nil
	})
	want(t, "after the end", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "after the end, artifacts", r.get("task.artifacts"), "")
	r = run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(says(a2a.TaskStateInputRequired, "?"))
		yield(chunk("too late"))
		return nil
	})
	want(t, "after the question", r.get("task.status.state"), "TASK_STATE_INPUT_REQUIRED")
	r = run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(message("one"))
		yield(message("two"))
		return nil
	})
	want(t, "two Messages", r.get("message.parts.0.text"), "one")
	r = run(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		e := chunk("1")
		for i := range 3 { // reuses its event
			e.Artifact.Parts[0].Text = fmt.Sprint(i)
			e.Artifact.ID = ""
			e.TaskID = "other"
			yield(e)
			e.Artifact.Parts = []a2a.Part{{}}
		}
		yield(&a2a.ArtifactUpdate{Append: true})
		yield(&a2a.ArtifactUpdate{Append: true, LastChunk: true})
		return nil
	})
	want(t, "reused event", r.get("task.artifacts.0.parts"), `[{"text":"0"},{"text":"1"},{"text":"2"},{"text":""}]`)
	if r.get("task.artifacts.0.artifactId") == "" || r.get("task.artifacts.1.artifactId") != "" {
		t.Errorf("artifact ids: %s", r.Body)
	}
}

func TestSameMessageTwice(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	s := serve(t, config{handler: as(), exec: execFunc(func(ctx context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		runs.Add(1)
		return obey(ctx, tn, yield)
	})})
	first := s.call("SendMessage", sayID("m-1", "do it"))
	again := s.call("SendMessage", sayID("m-1", "do it"))
	want(t, "task", again.get("task.id"), first.get("task.id"))
	want(t, "answer", string(again.Body), string(first.Body))
	want(t, "answer over MID", s.call("message/send", sayID("m-1", "do it")).get("id"), first.get("task.id"))

	other := s.call("SendMessage", sayID("m-1", "do something else"))
	want(t, "other content", other.Code, -32602)
	want(t, "other principal", s.call("SendMessage", sayID("m-1", "do it"), "X-Who", "b").get("task.status.state"), "TASK_STATE_COMPLETED")

	echo := s.call("SendMessage", sayID("m-2", "hello"))
	want(t, "Message again", string(s.call("SendMessage", sayID("m-2", "hello")).Body), string(echo.Body))
	want(t, "runs", runs.Load(), 3)

	// At the same time, too, it is one message.
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() { ids[i] = s.call("SendMessage", sayID("m-3", "silent")).get("task.id") })
	}
	wg.Wait()
	for _, id := range ids {
		want(t, "at the same time", id, ids[0])
	}
	want(t, "runs", runs.Load(), 4)
}

func TestReplies(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: as()})
	first := s.call("SendMessage", say("ask"))
	id := first.get("task.id")
	task := fmt.Sprintf(`"taskId":%q`, id)

	r := s.call("SendMessage", say("x", task, `"contextId":"wrong"`))
	want(t, "wrong context", r.Code, -32602)
	unknown := s.call("SendMessage", say("x", `"taskId":"unknown"`))
	foreign := s.call("SendMessage", say("x", task), "X-Who", "b")
	want(t, "unknown task", unknown.Code, -32001)
	want(t, "unknown task's reason", unknown.Reason, "TASK_NOT_FOUND")
	want(t, "foreign task", strings.ReplaceAll(string(foreign.Body), id, "unknown"), string(unknown.Body))

	r = s.call("SendMessage", say("blue", task))
	want(t, "state", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "context is inferred", r.get("task.contextId"), first.get("task.contextId"))
	want(t, "artifact", r.get("task.artifacts.0.parts.0.text"), "answer blue")
	var history []string
	for i := range 4 {
		if text := r.get(fmt.Sprintf("task.history.%d.parts.0.text", i)); text != "" {
			history = append(history, text)
		}
	}
	want(t, "history", strings.Join(history, " | "), "ask | which? | blue")

	r = s.call("SendMessage", say("more", task))
	want(t, "after the end", r.Code, -32004)
	r = s.call("message/send", say("more", task))
	want(t, "after the end, MID", r.Code, -32602)
	if !strings.Contains(r.Text, "terminal state") {
		t.Errorf("text %q", r.Text)
	}
}

// What a client sends is the user's, also where it says that the agent speaks: else its own words would be its answer.
func TestClientDoesNotSpeakForTheAgent(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	as := func(text, more string) string { return strings.Replace(say(text, more), "ROLE_USER", "ROLE_AGENT", 1) }
	first := s.call("SendMessage", as("ask", `"metadata":{}`))
	want(t, "asked by an agent", first.get("task.history.0.role"), "ROLE_USER")
	r := s.call("SendMessage", as("blue", fmt.Sprintf(`"taskId":%q`, first.get("task.id"))))
	want(t, "state", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "artifact", r.get("task.artifacts.0.parts.0.text"), "answer blue")
	want(t, "reply in the history", r.get("task.history.2.role")+" "+r.get("task.history.2.parts.0.text"), "ROLE_USER blue")
}

func TestTurnIsToldWhatWasBefore(t *testing.T) {
	t.Parallel()
	var turns []*a2aserver.Turn
	s := serve(t, config{exec: execFunc(func(_ context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		turns = append(turns, tn)
		yield(says(a2a.TaskStateInputRequired, "go on"))
		return nil
	})})
	r := s.call("SendMessage", say("one", `|"metadata":{"k":1}`))
	task := fmt.Sprintf(`"taskId":%q`, r.get("task.id"))
	s.call("SendMessage", say("two", task))
	s.call("SendMessage", say("three", task))
	if len(turns) != 3 || turns[0].Task != nil || string(turns[0].Metadata) != `{"k":1}` {
		t.Fatalf("turns: %+v", turns)
	}
	want(t, "state before", turns[2].Task.Status.State, a2a.TaskStateInputRequired)
	var before []string
	for _, m := range turns[2].Task.History {
		before = append(before, a2a.Text(m.Parts))
	}
	want(t, "history before", strings.Join(before, " | "), "one | go on | two")
	want(t, "message", a2a.Text(turns[2].Message.Parts), "three")
}

func TestMessageToWorkingTaskWaits(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, config{exec: execFunc(func(_ context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if tn.Task == nil {
			yield(status(a2a.TaskStateWorking))
			<-release
			return nil
		}
		for _, m := range tn.Task.History {
			if m.ID == tn.Message.ID {
				t.Error("the message is in the history already")
			}
		}
		yield(chunk("then " + a2a.Text(tn.Message.Parts)))
		return nil
	})})
	id := s.call("SendMessage", say("first", `|"configuration":{"returnImmediately":true}`)).get("task.id")
	queued := s.call("SendMessage", say("second", fmt.Sprintf(`"taskId":%q`, id), `|"configuration":{"returnImmediately":true}`))
	want(t, "queued", queued.get("task.id"), id)
	want(t, "state", queued.get("task.status.state"), "TASK_STATE_WORKING")
	close(release)
	eventually(t, "the task ends", func() bool {
		return s.call("GetTask", fmt.Sprintf(`{"id":%q}`, id)).get("status.state") == "TASK_STATE_COMPLETED"
	})
	r := s.call("GetTask", fmt.Sprintf(`{"id":%q}`, id))
	want(t, "artifact", r.get("artifacts.0.parts.0.text"), "then second")
	want(t, "history", r.get("history.1.parts.0.text"), "second")
}

func TestReturnImmediately(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for method, conf := range map[string]string{"SendMessage": `"returnImmediately":true`, "message/send": `"blocking":false`} {
		start := time.Now()
		r := s.call(method, say("hold", `|"configuration":{`+conf+`}`))
		state := r.get("task.status.state") + r.get("status.state")
		if state != "TASK_STATE_SUBMITTED" && state != "TASK_STATE_WORKING" && state != "submitted" && state != "working" {
			t.Errorf("%s: state %s", method, state)
		}
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("%s took %v", method, d)
		}
	}
}

func TestBlockingHasItsLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: &a2aserver.HandlerOptions{BlockingTimeout: 50 * time.Millisecond}})
	want(t, "state", s.call("SendMessage", say("hold")).get("task.status.state"), "TASK_STATE_WORKING")
}

// TestTaskComesToBe: an executor that says nothing for a while has a task all the same.
func TestTaskComesToBe(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	s := serve(t, config{exec: execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		select {
		case <-ctx.Done():
		case <-seen:
			yield(message("at last"))
		}
		return nil
	})})
	e := s.open("SendStreamingMessage", say("x"))
	want(t, "first", e.take(1)[0].kind(), "task submitted")
	close(seen)
	rest := e.all()
	want(t, "then", kinds(rest), "statusUpdate completed")
	want(t, "text", dig(rest[0].Result, "statusUpdate.status.message.parts.0.text"), "at last")
}

func TestHistoryLength(t *testing.T) {
	t.Parallel()
	s := serve(t, config{exec: execFunc(func(_ context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(says(a2a.TaskStateInputRequired, "again"))
		return nil
	})})
	id := s.call("SendMessage", say("1")).get("task.id")
	s.call("SendMessage", say("2", fmt.Sprintf(`"taskId":%q`, id)))
	last := s.call("SendMessage", say("3", fmt.Sprintf(`"taskId":%q`, id), `|"configuration":{"historyLength":2}`))
	want(t, "send", last.get("task.history.0.parts.0.text")+last.get("task.history.1.parts.0.text"), "again3")

	get := func(method, n string) string {
		p := fmt.Sprintf(`{"id":%q}`, id)
		if n != "" {
			p = fmt.Sprintf(`{"id":%q,"historyLength":%s}`, id, n)
		}
		r := s.call(method, p)
		if r.Code != 0 {
			return fmt.Sprint(r.Code)
		}
		h := r.get("history")
		return fmt.Sprint(strings.Count(h, `"parts"`))
	}
	for _, c := range []struct{ method, n, want string }{
		{"GetTask", "", "5"},
		{"GetTask", "0", "0"},
		{"GetTask", "1", "1"},
		{"GetTask", "5", "5"},
		{"GetTask", "6", "5"},
		{"GetTask", "-1", "-32602"},
		{"tasks/get", "", "5"},
		{"tasks/get", "0", "0"},
		{"tasks/get", "2", "2"},
		{"tasks/get", "-1", "5"},
	} {
		want(t, c.method+" "+c.n, get(c.method, c.n), c.want)
	}
	if r := s.call("GetTask", fmt.Sprintf(`{"id":%q,"historyLength":0}`, id)); strings.Contains(string(r.Body), `"history"`) {
		t.Errorf("an empty history is written: %s", r.Body)
	}
}

func TestHistoryReturnedIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, config{exec: execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for i := range 150 {
			yield(says(a2a.TaskStateWorking, fmt.Sprint(i)))
		}
		return nil
	})})
	r := s.call("SendMessage", say("x", `|"configuration":{"historyLength":120}`))
	want(t, "messages", strings.Count(r.get("task.history"), `"parts"`), a2a.Limits.History)
	want(t, "the newest", r.get(fmt.Sprintf("task.history.%d.parts.0.text", a2a.Limits.History-1)), "149")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: as()})
	cancel := func(id string, headers ...string) *reply {
		return s.call("CancelTask", fmt.Sprintf(`{"id":%q}`, id), headers...)
	}

	id := s.call("SendMessage", say("hold", `|"configuration":{"returnImmediately":true}`)).get("task.id")
	want(t, "foreign", cancel(id, "X-Who", "b").Code, -32001)
	e := s.open("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, id))
	want(t, "state", cancel(id).get("status.state"), "TASK_STATE_CANCELED")
	want(t, "again", cancel(id).get("status.state"), "TASK_STATE_CANCELED")
	frames := e.all()
	want(t, "the stream's end", frames[len(frames)-1].kind(), "statusUpdate canceled")
	want(t, "after it", s.call("SendMessage", say("x", fmt.Sprintf(`"taskId":%q`, id))).Code, -32004)

	id = s.call("SendMessage", say("ask")).get("task.id")
	want(t, "one that waits", s.call("tasks/cancel", fmt.Sprintf(`{"id":%q}`, id)).get("status.state"), "canceled")

	id = s.call("SendMessage", say("do it")).get("task.id")
	want(t, "completed", cancel(id).Code, -32002)
	want(t, "completed, MID", s.call("tasks/cancel", fmt.Sprintf(`{"id":%q}`, id)).Code, -32002)
	want(t, "unknown", cancel("nothing").Code, -32001)
	s.call("SendMessage", sayID("answered", "hello"))
}

// TestCancelIsTheLast: whatever the executor says after the cancelation took effect is not appended, but it may still end
// the task in a way of its own.
func TestCancelIsTheLast(t *testing.T) {
	t.Parallel()
	s := serve(t, config{exec: execFunc(func(ctx context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		<-ctx.Done()
		if context.Cause(ctx) != a2aserver.ErrCanceled {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		if a2a.Text(tn.Message.Parts) == "finish" {
			yield(status(a2a.TaskStateCompleted))
		}
		yield(message("bye"))
		return nil
	})})
	for text, state := range map[string]string{"x": "CANCELED", "finish": "COMPLETED"} {
		id := s.call("SendMessage", say(text, `|"configuration":{"returnImmediately":true}`)).get("task.id")
		want(t, text, s.call("CancelTask", fmt.Sprintf(`{"id":%q}`, id)).get("status.state"), "TASK_STATE_"+state)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: as()})
	var ids []string
	for range 5 {
		ids = append(ids, s.call("SendMessage", say("do it", `"contextId":"c"`)).get("task.id"))
		time.Sleep(2 * time.Millisecond)
	}
	ask := s.call("SendMessage", say("ask")).get("task.id")
	s.call("SendMessage", say("hello"))
	s.call("SendMessage", say("do it"), "X-Who", "b")

	r := s.call("ListTasks", `{}`)
	want(t, "size", r.get("totalSize")+" "+r.get("pageSize")+" "+r.get("nextPageToken"), "6 50 ")
	want(t, "newest first", r.get("tasks.0.id"), ask)
	want(t, "artifacts", strings.Contains(string(r.Body), "artifacts"), false)
	r = s.call("ListTasks", `{"includeArtifacts":true,"contextId":"c","status":"TASK_STATE_COMPLETED","historyLength":0}`)
	want(t, "filtered", r.get("totalSize"), "5")
	want(t, "with artifacts", r.get("tasks.4.artifacts.0.parts.0.text"), "it")
	want(t, "without history", strings.Contains(string(r.Body), "history"), false)

	var walked []string
	token := ""
	for range 4 {
		r = s.call("ListTasks", fmt.Sprintf(`{"pageSize":2,"contextId":"c","pageToken":%q}`, token))
		for i := range 2 {
			if id := r.get(fmt.Sprintf("tasks.%d.id", i)); id != "" {
				walked = append([]string{id}, walked...)
			}
		}
		if token = r.get("nextPageToken"); token == "" {
			break
		}
	}
	want(t, "pages", strings.Join(walked, " "), strings.Join(ids, " "))
	want(t, "nobody's", s.call("ListTasks", `{}`, "X-Who", "c").get("tasks"), "[]")
	for _, bad := range []string{`{"pageSize":101}`, `{"pageSize":-1}`, `{"pageToken":"x"}`, `{"pageToken":"%"}`} {
		want(t, bad, s.call("ListTasks", bad).Code, -32602)
	}
	want(t, "MID", s.call("tasks/list", `{}`).Code, -32601)
}
